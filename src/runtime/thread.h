// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"
#include "memhawk.h"
#include "runtime/stacks.h"
#include "unwind/unwind.h"

/*
 * The state of one recording thread. States are never freed: when a thread ends, its state with all
 * its counters waits for the next thread to adopt it. A signal handler that allocates while it
 * interrupts a hook uses a state of its own for that moment.
 *
 * Fields without a remark are the owner's alone.
 */
typedef struct Window Window;

/* In Thread.stamp, not in slots: no slot ever matches, so the fast path, which knows glibc's chunk
 * headers only, is never taken. */
#define THREAD_NEVER_FAST (UINT64_C(1) << 63)

enum { THREAD_WINDOWS = 16 };

/* A stack that this state met not long ago. */
typedef struct RecentSlot {
    uint64_t hash;
    Slot *slot; /* NULL: free */
} RecentSlot;

typedef struct Thread {
    /* hot: one line */
    _Atomic uint64_t stamp; /* index + 1 << 32 | epoch; the epoch is raised by owner and collector.
                               A slot with another stamp: its next touch is noted */
    UnwindThread *unwind;
    Slot *fixed_slot;     /* MEMHAWK_UNWIND=none: the one slot; else NULL */
    uintptr_t last_block; /* most recent allocation, for temporary */
    int64_t room_up;      /* live bytes may grow by this, */
    int64_t room_down;    /* or shrink by this, before they are pushed into the global sum */
    uint32_t *ids;        /* indices of slots, 0: free; open addressing by stack id, see
                             thread_slot_find */
    uint32_t ids_mask;
    uint32_t ids_used;

    RecentSlot *recent; /* direct-mapped by the stack's hash; see thread_recent */
    uint32_t recent_mask;
    int64_t push_above; /* room_up after a push: the delta is push_above - room_up */
    uint32_t slots_left;
    Slot *slots_next;
    _Atomic uint32_t owner;      /* thread id, 0: free for adoption. CAS */
    _Atomic uint32_t last_owner; /* thread that gave it free: a hint, relaxed */
    uint32_t index;
    uint32_t paused;
    _Atomic uint32_t busy;  /* of a paused thread: somebody counts with this state (relaxed) */
    int64_t live_base;      /* sum of what was pushed: live_base + delta = net of this state */
    uintptr_t warm_last;    /* newest block at the last push; see livemap_warm */
    uint32_t window_count;  /* open thread windows */
    uint32_t process_round; /* of the newest process window that knows what was not pushed before */
    struct memhawk_counts last_window; /* that the thread ended last */
    bool last_window_valid;
    Window *windows[THREAD_WINDOWS];
} Thread;

/* Of the owner; signal handlers may come in between, other threads not. */
static inline void thread_busy(Thread *thread, int change)
{
    uint32_t busy = atomic_load_explicit(&thread->busy, memory_order_relaxed);
    atomic_store_explicit(&thread->busy, busy + (uint32_t)change, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
}

/* Live bytes not pushed yet. */
static inline int64_t thread_delta(const Thread *thread)
{
    return thread->push_above - thread->room_up;
}

static inline uint32_t thread_epoch(const Thread *thread)
{
    return (uint32_t)atomic_load_explicit(&thread->stamp, memory_order_relaxed);
}

/*
 * thread_current: the state for the hooks. &thread_none while inside a hook, before the first call
 * and in silent processes: a state that no slot belongs to and that remembers no walk, so that the
 * fast path fails by the checks that it makes anyway; the slow path then looks at thread_owner.
 */
extern HIDDEN Thread thread_none;
extern HIDDEN __thread Thread *volatile thread_current __attribute__((tls_model("initial-exec")));
extern HIDDEN __thread Thread *thread_owner __attribute__((tls_model("initial-exec")));

/* NULL instead of &thread_none. */
static inline Thread *thread_active(void)
{
    Thread *thread = thread_current;
    return thread == &thread_none ? NULL : thread;
}

/* thread_owner of a vfork child and of our own calls into libc: pass everything through. */
#define THREAD_BYPASS ((Thread *)1)

uint32_t sys_gettid(void);

/* A free state, marked as owned by TID; NULL: no memory. Async-signal-safe. */
Thread *thread_adopt(uint32_t tid);
void thread_release(Thread *thread);

size_t thread_count(void);
Thread *thread_get(size_t index);
/* States that have an owner. Where they are many, gives those of threads that died without a word
 * free (the usual way is the destructor of a pthread key). For the collector. */
size_t thread_reap(uint32_t pid);
/* In the child: all states become free but for OWN, that of the forking thread, when it is IN_USE:
 * a signal handler forked, and the hook that it interrupted goes on with it. */
void thread_after_fork(Thread *own, bool in_use);
/* Raises the epoch of one state (never lowers it). */
void thread_raise_epoch(Thread *thread, uint32_t epoch);
uint32_t thread_next_epoch(void);

/* Slot of a stack on this state, made when missing; NULL: no memory (count under the losses). */
Slot *thread_slot_make(Thread *thread, uint32_t stack_id);

/*
 * The cell where a slot of that hash is remembered, if it is. In front of the look-ups by hash and
 * by id, which each miss the processor's caches once or twice in programs of many stacks.
 */
static inline RecentSlot *thread_recent(const Thread *thread, uint64_t hash)
{
    return &thread->recent[hash & thread->recent_mask];
}

static inline Slot *thread_slot_find(const Thread *thread, uint32_t stack_id)
{
    Slot *slot = slot_at(thread->ids[stack_id & thread->ids_mask]);
    return LIKELY(slot->stack_id == stack_id) ? slot : NULL; /* slot 0 is of stack 0: none */
}
