// SPDX-License-Identifier: Apache-2.0
/*
 * The slow path of the hooks. enter() finds a thread state to record with, or says that this call
 * passes through: while booting, in silent processes, in a vfork child, on a paused thread (whose
 * releases of counted blocks still count).
 *
 * Threads are noticed to end by a pthread key. Destructors run in rounds; ours puts its value back
 * until the last one, so that what the program's destructors do is still counted by the state that
 * knows their blocks, and then gives the state free. What libc itself releases after that adopts a
 * state for the one call. Keys below 32 live in the thread's descriptor, so setting ours allocates
 * nothing; where we could not get such a key, the collector finds dead owners.
 */
#include "runtime/slow.h"

#include <errno.h>
#include <string.h>

#include "runtime/collector.h"
#include "runtime/recording.h"
#include "runtime/windows.h"

enum { INLINE_KEYS = 32, LAST_ROUND = 4 /* PTHREAD_DESTRUCTOR_ITERATIONS of glibc */ };

static _Atomic int key_state; /* 0 not tried, 1 in use, 2 none */
static unsigned thread_key;

static __thread bool thread_ended __attribute__((tls_model("initial-exec")));

/* ROUND counts the rounds of destructors, from 1. */
static void on_thread_end(void *round)
{
    Thread *thread = thread_owner;
    if (!thread || thread == THREAD_BYPASS)
        return;
    if ((uintptr_t)round < LAST_ROUND) {
        real.pthread_setspecific(thread_key, (char *)round + 1);
        return;
    }
    thread_ended = true;
    thread_current = &thread_none;
    if (thread_delta(thread))
        record_push(thread, 0);
    if (thread->window_count)
        windows_abandon(thread);
    thread_owner = NULL;
    thread_release(thread);
}

static void watch_thread_end(void)
{
    int expected = 0;
    if (atomic_compare_exchange_strong(&key_state, &expected, 2) && real.pthread_key_create &&
        real.pthread_key_create(&thread_key, on_thread_end) == 0 && thread_key < INLINE_KEYS)
        atomic_store(&key_state, 1);
    if (atomic_load(&key_state) == 1)
        real.pthread_setspecific(thread_key, (void *)1);
}

/* NULL: pass through. *ret_nested: give it back with leave(). */
static Thread *enter(bool *ret_nested)
{
    *ret_nested = false;
    int mode = atomic_load_explicit(&runtime.mode, memory_order_acquire);
    if (mode == MODE_NEW)
        runtime_boot();
    else if (mode == MODE_FORKED)
        runtime_boot_child();
    if (atomic_load_explicit(&runtime.mode, memory_order_acquire) != MODE_ON)
        return NULL;
    Thread *owner = thread_owner;
    if (owner == THREAD_BYPASS || (owner && owner->paused))
        return NULL;
    if (owner) {
        *ret_nested = true;
        return thread_adopt(atomic_load_explicit(&owner->owner, memory_order_relaxed));
    }
    Thread *thread = thread_adopt(sys_gettid());
    if (!thread || thread_ended) {
        *ret_nested = true;
        return thread;
    }
    thread_owner = THREAD_BYPASS;
    watch_thread_end();
    thread_owner = thread;
    return thread;
}

static void leave(Thread *thread, bool nested)
{
    if (!nested) {
        thread_current = thread;
        return;
    }
    if (thread_delta(thread))
        record_push(thread, 0);
    thread_release(thread);
}

/* A call that should have counted and does not: no state could be had. */
static void count_skipped(void)
{
    if (atomic_load_explicit(&runtime.mode, memory_order_relaxed) == MODE_ON && !thread_owner)
        atomic_fetch_add(&runtime.loss_reentrant, 1);
}

void slow_boot(void)
{
    if (atomic_load_explicit(&runtime.mode, memory_order_acquire) == MODE_NEW)
        runtime_boot();
}

void slow_adopt(void)
{
    bool nested;
    if (thread_owner)
        return;
    Thread *thread = enter(&nested);
    if (thread)
        leave(thread, nested);
}

static bool from_allocator(uint64_t pc)
{
    return pc - runtime.allocator_start < runtime.allocator_bytes;
}

/* The current state, NULL: none. A hook that went on in a child of fork made the parent's current
 * again: the child has yet to start. */
static Thread *active(void)
{
    Thread *thread = thread_active();
    if (LIKELY(!thread) ||
        LIKELY(atomic_load_explicit(&runtime.mode, memory_order_relaxed) != MODE_FORKED))
        return thread;
    thread_current = &thread_none;
    return NULL;
}

void *slow_record_alloc(void *block, size_t size, uint64_t pc, uint64_t sp, uint64_t fp)
{
    const UnwindContext context = {.pc = pc, .sp = sp, .fp = fp};
    if (UNLIKELY(!block) || UNLIKELY(from_allocator(pc)))
        return block;
    bool nested = false;
    Thread *thread = active();
    if (thread)
        thread_current = &thread_none;
    else
        thread = enter(&nested);
    if (!thread) {
        count_skipped();
        return block;
    }
    record_alloc(thread, block, size, record_usable(block), &context);
    leave(thread, nested);
    return block;
}

/* A release on a paused thread counts, in its windows too, so it takes the thread's own state;
 * a signal handler that interrupted just that, or a call of the API, gets another one. */
static void free_while_paused(Thread *owner, const void *block, const Taken *taken)
{
    bool nested = atomic_load_explicit(&owner->busy, memory_order_relaxed) != 0;
    Thread *thread =
        nested ? thread_adopt(atomic_load_explicit(&owner->owner, memory_order_relaxed)) : owner;
    if (!thread)
        return;
    thread_busy(owner, 1);
    record_free(thread, block, taken);
    thread_busy(owner, -1);
    if (nested)
        leave(thread, true);
}

/* Counts the release of a known block. */
void slow_record_free(const void *block, const Taken *taken)
{
    if (!taken->slot_bits)
        return;
    bool nested = false;
    Thread *thread = active();
    if (thread)
        thread_current = &thread_none;
    else
        thread = enter(&nested);
    if (thread) {
        record_free(thread, block, taken);
        leave(thread, nested);
    } else if (thread_owner && thread_owner != THREAD_BYPASS && thread_owner->paused) {
        free_while_paused(thread_owner, block, taken);
    }
}

static bool in_bypass(void)
{
    return thread_owner == THREAD_BYPASS ||
           atomic_load_explicit(&runtime.mode, memory_order_relaxed) == MODE_OFF;
}

/* A child of fork must be ready before an entry is taken. */
static void ready(void)
{
    slow_boot();
    if (atomic_load_explicit(&runtime.mode, memory_order_acquire) == MODE_FORKED)
        runtime_boot_child();
}

void slow_free(void *block, uint64_t pc)
{
    if (!block || early_owns(block))
        return;
    if (!active())
        ready();
    if (!in_bypass() && !from_allocator(pc)) {
        Taken taken = record_take(block);
        slow_record_free(block, &taken);
    }
    real.free(block);
}

static void *realloc_early(void *block, size_t size, uint64_t pc, uint64_t sp, uint64_t fp)
{
    void *fresh = size ? real.malloc(size) : NULL;
    if (!fresh)
        return NULL;
    memcpy(fresh, block, early_size(block) < size ? early_size(block) : size);
    return slow_record_alloc(fresh, size, pc, sp, fp);
}

void *slow_realloc(void *block, size_t size, uint64_t pc, uint64_t sp, uint64_t fp)
{
    if (early_owns(block))
        return realloc_early(block, size, pc, sp, fp);
    if (block)
        ready();
    Taken taken = {0};
    if (block && !in_bypass() && !from_allocator(pc))
        taken = record_take(block);
    void *fresh = real.realloc(block, size);
    if (!fresh && size) {
        record_put_back(block, &taken);
        return NULL;
    }
    slow_record_free(block, &taken);
    return fresh ? slow_record_alloc(fresh, size, pc, sp, fp) : NULL;
}
