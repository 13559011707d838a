// SPDX-License-Identifier: Apache-2.0
/*
 * See lock.h. Spins a little, because what is done under our locks takes microseconds, then sleeps
 * on the futex. A waiter sets LOCK_WAITERS before it sleeps and keeps it set when it gets the lock
 * (others may sleep too), so that a release never loses a wake-up.
 */
#include "base/lock.h"

#include "base/clock.h"
#include "base/sys.h"

bool lock_try(Lock *lock, uint32_t tid)
{
    uint32_t expected = 0;
    return atomic_compare_exchange_strong_explicit(&lock->word, &expected, tid,
                                                   memory_order_acquire, memory_order_relaxed);
}

static bool lock_wait(Lock *lock, uint32_t tid, uint64_t deadline_ns)
{
    for (;;) {
        uint32_t seen = atomic_load_explicit(&lock->word, memory_order_relaxed);
        if (seen == 0) {
            if (atomic_compare_exchange_strong_explicit(&lock->word, &seen, tid | LOCK_WAITERS,
                                                        memory_order_acquire, memory_order_relaxed))
                return true;
            continue;
        }
        if (!(seen & LOCK_WAITERS) &&
            !atomic_compare_exchange_strong_explicit(&lock->word, &seen, seen | LOCK_WAITERS,
                                                     memory_order_relaxed, memory_order_relaxed))
            continue;
        uint64_t left = 0;
        if (deadline_ns) {
            uint64_t now = clock_monotonic_ns();
            if (now >= deadline_ns)
                return false;
            left = deadline_ns - now;
        }
        sys_futex_wait((uint32_t *)&lock->word, seen | LOCK_WAITERS, left);
    }
}

bool lock_take(Lock *lock, uint32_t tid, uint64_t timeout_ns)
{
    for (int spin = 0; spin < 200; spin++) {
        if (lock_try(lock, tid))
            return true;
        if ((atomic_load_explicit(&lock->word, memory_order_relaxed) & ~LOCK_WAITERS) == tid)
            return false;
        __builtin_ia32_pause();
    }
    return lock_wait(lock, tid, timeout_ns ? clock_monotonic_ns() + timeout_ns : 0);
}

void lock_release(Lock *lock)
{
    if (atomic_exchange_explicit(&lock->word, 0, memory_order_release) & LOCK_WAITERS)
        sys_futex_wake((uint32_t *)&lock->word, 1);
}
