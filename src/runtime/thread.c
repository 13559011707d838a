// SPDX-License-Identifier: Apache-2.0
/*
 * Thread states: adoption, the table stack id -> slot, epochs. See thread.h.
 *
 * Ids are given in order of first use, so the low bits of the id index the table nearly without
 * collisions; linear probing does the rest. The table is the owner's alone (the collector reaches
 * slots through Stack.first_slot), so it is simply replaced when it grows; before the old one goes,
 * because a fork by another thread may come at any moment.
 *
 * All look-ups of free states are compare-and-swap on `owner`: usable in signal handlers.
 */
#include "runtime/thread.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/sys.h"
#include "runtime/arena.h"
#include "runtime/runtime.h"
#include "runtime/windows.h"
#include "unwind/memo.h"

enum { MAX_THREADS = 1 << 15, FIRST_IDS = 64, SLOT_BLOCK = 32 };
/* Recent stacks: half as many cells as ids have; 128 KiB hold nine of ten that g++ comes back to.
 */
enum { FIRST_RECENT = 128, MOST_RECENT = 8192 };
enum { UNWIND_NONE_BYTES = sizeof(UnwindThread) };

/* Never written: all zero is a memo without walks. */
static _Alignas(64) char unwind_none[UNWIND_NONE_BYTES];
Thread thread_none = {.unwind = (UnwindThread *)unwind_none};
__thread Thread *volatile thread_current = &thread_none;
__thread Thread *thread_owner;

static _Atomic(Thread *) threads[MAX_THREADS];
static _Atomic uint32_t threads_used;
static _Atomic uint32_t global_epoch = 1;

uint32_t sys_gettid(void)
{
    return (uint32_t)sys_call(SYS_gettid);
}

size_t thread_count(void)
{
    uint32_t used = atomic_load_explicit(&threads_used, memory_order_acquire);
    return used < MAX_THREADS ? used : MAX_THREADS;
}

Thread *thread_get(size_t index)
{
    return atomic_load_explicit(&threads[index], memory_order_acquire);
}

static bool thread_claim(Thread *thread, uint32_t tid)
{
    uint32_t nobody = 0;
    return atomic_compare_exchange_strong(&thread->owner, &nobody, tid);
}

static bool thread_prepare(Thread *thread)
{
    thread->ids = arena_map(ARENA_THREADS, FIRST_IDS * sizeof(uint32_t));
    thread->recent = arena_take(ARENA_THREADS, FIRST_RECENT * sizeof(RecentSlot));
    if (!thread->ids || !thread->recent)
        return false;
    thread->ids_mask = FIRST_IDS - 1;
    thread->recent_mask = FIRST_RECENT - 1;
    if (runtime.config.unwind == CONFIG_UNWIND_NONE)
        return true;
    thread->unwind = arena_map(ARENA_THREADS, unwind_thread_bytes(runtime.config.depth));
    if (!thread->unwind)
        return false;
    unwind_thread_init(thread->unwind, runtime.config.depth,
                       runtime.config.unwind == CONFIG_UNWIND_FP);
    return true;
}

static Thread *thread_make(uint32_t tid)
{
    Thread *thread = arena_take(ARENA_THREADS, sizeof(*thread) + 64);
    if (!thread)
        return NULL;
    thread = (Thread *)(((uintptr_t)thread + 63) & ~(uintptr_t)63);
    if (!thread_prepare(thread))
        return NULL;
    atomic_store(&thread->owner, tid);
    uint32_t index = atomic_fetch_add(&threads_used, 1);
    if (index >= MAX_THREADS)
        return NULL;
    thread->index = index;
    atomic_store(&thread->stamp, (runtime.glibc_malloc ? 0 : THREAD_NEVER_FAST) |
                                     (uint64_t)(index + 1) << 32 | atomic_load(&global_epoch));
    Slot *losses = thread_slot_make(thread, STACK_LOSSES); /* so that there is always one */
    Slot *empty = losses ? thread_slot_make(thread, STACK_EMPTY) : NULL;
    if (!empty)
        return NULL;
    if (runtime.config.unwind == CONFIG_UNWIND_NONE)
        thread->fixed_slot = empty;
    atomic_store_explicit(&threads[index], thread, memory_order_release);
    return thread;
}

Thread *thread_adopt(uint32_t tid)
{
    size_t count = thread_count();
    Thread *any = NULL;
    for (size_t i = 0; i < count; i++) {
        Thread *thread = thread_get(i);
        if (!thread || atomic_load_explicit(&thread->owner, memory_order_relaxed) != 0)
            continue;
        if (atomic_load_explicit(&thread->last_owner, memory_order_relaxed) == tid &&
            thread_claim(thread, tid))
            return thread; /* its last_block is this thread's */
        if (!any)
            any = thread;
    }
    if (any && thread_claim(any, tid)) {
        any->last_block = 0;
        return any;
    }
    return thread_make(tid);
}

void thread_release(Thread *thread)
{
    thread->paused = 0;
    atomic_store_explicit(&thread->busy, 0, memory_order_relaxed);
    thread->last_window_valid = false;
    uint32_t tid = atomic_load_explicit(&thread->owner, memory_order_relaxed);
    atomic_store_explicit(&thread->last_owner, tid, memory_order_relaxed);
    atomic_store_explicit(&thread->owner, 0, memory_order_release);
}

/* As a thread leaves its state when it ends in the usual way. */
static void thread_bury(Thread *thread)
{
    if (thread->window_count)
        windows_abandon(thread);
    thread->last_block = 0;
    thread_release(thread);
}

size_t thread_reap(uint32_t pid)
{
    static size_t reap_above = 64;
    uint32_t self = sys_gettid();
    size_t count = thread_count(), alive = 0;
    bool reap = count > reap_above;
    for (size_t i = 0; i < count; i++) {
        Thread *thread = thread_get(i);
        uint32_t owner = thread ? atomic_load(&thread->owner) : 0;
        if (!owner)
            continue;
        if (!reap || sys_call(SYS_tgkill, pid, owner, 0) != -ESRCH)
            alive++;
        else if (atomic_compare_exchange_strong(&thread->owner, &owner, self))
            thread_bury(thread);
    }
    if (reap)
        reap_above = alive * 2 > 64 ? alive * 2 : 64;
    return alive;
}

/* What is remembered for speed only: its owner in the parent may have been amid a change, and pages
 * are not copied all at one moment. */
static void thread_forget(Thread *thread)
{
    memset(thread->recent, 0, (thread->recent_mask + 1) * sizeof(RecentSlot));
    if (!thread->unwind)
        return;
    memset(thread->unwind, 0, sizeof(*thread->unwind)); /* the log counts for nothing without */
    unwind_thread_init(thread->unwind, runtime.config.depth,
                       runtime.config.unwind == CONFIG_UNWIND_FP);
}

void thread_after_fork(Thread *own, bool in_use)
{
    for (size_t i = 0; i < thread_count(); i++) {
        Thread *thread = thread_get(i);
        if (!thread)
            continue;
        if (thread != own)
            thread_forget(thread);
        thread->push_above = thread->room_up = thread->room_down = 0; /* the child's sum has it */
        thread->window_count = 0;
        thread_release(thread);
    }
    if (!own)
        return;
    if (runtime.glibc_malloc)
        atomic_fetch_and(&own->stamp, ~THREAD_NEVER_FAST);
    if (in_use)
        atomic_store(&own->owner, sys_gettid());
}

uint32_t thread_next_epoch(void)
{
    return atomic_fetch_add(&global_epoch, 1) + 1;
}

void thread_raise_epoch(Thread *thread, uint32_t epoch)
{
    uint64_t now = atomic_load_explicit(&thread->stamp, memory_order_relaxed), raised;
    do {
        if ((uint32_t)now >= epoch)
            return;
        raised = (now & ~UINT64_C(0xffffffff)) | epoch;
    } while (!atomic_compare_exchange_weak(&thread->stamp, &now, raised));
}

static void ids_set(uint32_t *ids, uint32_t mask, uint32_t index)
{
    uint32_t at = slot_at(index)->stack_id & mask;
    while (ids[at])
        at = (at + 1) & mask;
    ids[at] = index;
}

/* Starts empty: what is still in use comes back by itself. Without memory it stays as it is. */
static void recent_grow(Thread *thread, uint32_t cells)
{
    if (cells <= thread->recent_mask + 1 || cells > MOST_RECENT)
        return;
    RecentSlot *fresh = arena_map(ARENA_THREADS, cells * sizeof(RecentSlot));
    if (!fresh)
        return;
    RecentSlot *old = thread->recent;
    uint32_t old_mask = thread->recent_mask;
    thread->recent = fresh;
    atomic_signal_fence(memory_order_seq_cst);
    thread->recent_mask = cells - 1;
    atomic_signal_fence(memory_order_seq_cst);
    if (old_mask >= FIRST_RECENT)
        arena_unmap(ARENA_THREADS, old, (old_mask + 1) * sizeof(RecentSlot));
}

static bool ids_grow(Thread *thread)
{
    uint32_t cells = thread->ids_mask + 1;
    uint32_t *fresh = arena_map_filled(ARENA_THREADS, (size_t)cells * 2 * sizeof(uint32_t));
    if (!fresh)
        return false;
    for (uint32_t at = 0; at < cells; at++)
        if (thread->ids[at])
            ids_set(fresh, cells * 2 - 1, thread->ids[at]);
    uint32_t *old = thread->ids;
    thread->ids = fresh;
    atomic_signal_fence(memory_order_seq_cst);
    thread->ids_mask = cells * 2 - 1;
    atomic_signal_fence(memory_order_seq_cst);
    arena_unmap(ARENA_THREADS, old, (size_t)cells * sizeof(uint32_t));
    recent_grow(thread, cells);
    return true;
}

static Slot *slot_new(Thread *thread)
{
    if (!thread->slots_left) {
        thread->slots_next = slots_take(SLOT_BLOCK);
        if (!thread->slots_next)
            return NULL;
        thread->slots_left = SLOT_BLOCK;
    }
    thread->slots_left--;
    return thread->slots_next++;
}

Slot *thread_slot_make(Thread *thread, uint32_t stack_id)
{
    for (uint32_t at = stack_id & thread->ids_mask; thread->ids[at];
         at = (at + 1) & thread->ids_mask)
        if (slot_at(thread->ids[at])->stack_id == stack_id)
            return slot_at(thread->ids[at]);
    if (thread->ids_used * 4 >= thread->ids_mask * 3 && !ids_grow(thread))
        return NULL;
    Slot *slot = slot_new(thread);
    if (!slot)
        return NULL;
    slot->stack_id = stack_id;
    slot->stamp = (uint64_t)(thread->index + 1) << 32; /* epoch 0: its first touch is noted */
    ids_set(thread->ids, thread->ids_mask, slot_index(slot));
    thread->ids_used++;
    Stack *stack = stacks_get(stack_id);
    uint32_t first = atomic_load_explicit(&stack->first_slot, memory_order_relaxed);
    do
        slot->next_of_stack = first;
    while (!atomic_compare_exchange_weak_explicit(&stack->first_slot, &first, slot_index(slot),
                                                  memory_order_release, memory_order_relaxed));
    return slot;
}
