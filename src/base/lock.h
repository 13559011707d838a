// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * A mutex on a futex word that knows its owner: a signal handler that interrupted the owner can
 * tell and back off instead of waiting for itself. Not recursive, not fair. The word is the
 * owner's thread id, plus LOCK_WAITERS when somebody sleeps. No thread-local storage, no errno.
 */
typedef struct Lock {
    _Atomic uint32_t word;
} Lock;

#define LOCK_WAITERS UINT32_C(0x80000000)

bool lock_try(Lock *lock, uint32_t tid);
/* False when TID itself holds the lock already (interrupted owner), or after timeout_ns (0: waits
 * for ever). */
bool lock_take(Lock *lock, uint32_t tid, uint64_t timeout_ns);
void lock_release(Lock *lock);

/* For the child of fork: nobody else is left. */
static inline void lock_reset(Lock *lock)
{
    atomic_store_explicit(&lock->word, 0, memory_order_relaxed);
}
