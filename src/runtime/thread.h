// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"
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

enum { THREAD_WINDOWS = 16 };

typedef struct Thread {
    /* hot: one line */
    UnwindThread *unwind;     /* NULL: no unwinding (MEMHAWK_UNWIND=none) */
    uintptr_t last_block;     /* most recent allocation, for temporary */
    int64_t live_delta;       /* live bytes not pushed into the global sum yet */
    int64_t push_above;       /* push when live_delta gets above this, */
    int64_t push_below;       /* or below this */
    Slot **ids;               /* open addressing by stack id, see thread_slot_find */
    uint32_t ids_mask;
    _Atomic uint32_t epoch;   /* raised by owner and collector; Slot.epoch behind it: note a touch */

    uint8_t tag;              /* low bits of the index */
    uint32_t ids_used;
    uint32_t slots_left;
    Slot *slots_next;
    UnwindWalk fixed_walk;    /* when unwind == NULL */
    _Atomic uint32_t owner;   /* thread id, 0: free for adoption. CAS */
    uint32_t index;
    uint32_t paused;
    int64_t live_base;        /* sum of what was pushed: live_base + live_delta = net of this state */
    uint32_t window_count;    /* open thread windows */
    Window *windows[THREAD_WINDOWS];
} Thread;

/*
 * thread_current: the state for the hooks, NULL while inside a hook, before the first call and in
 * silent processes: one compare leads to the slow path, which looks at thread_owner.
 */
extern __thread Thread *volatile thread_current __attribute__((tls_model("initial-exec")));
extern __thread Thread *thread_owner __attribute__((tls_model("initial-exec")));

/* thread_owner of a vfork child and of our own calls into libc: pass everything through. */
#define THREAD_BYPASS ((Thread *)1)

uint32_t sys_gettid(void);

/* A free state, marked as owned by TID; NULL: no memory. Async-signal-safe. */
Thread *thread_adopt(uint32_t tid);
void thread_release(Thread *thread);

size_t thread_count(void);
Thread *thread_get(size_t index);
/* States whose owner is alive; gives states of dead threads free. For the collector. */
size_t thread_reap(uint32_t pid);
void thread_after_fork(void);
/* Raises the epoch of one state (never lowers it). */
void thread_raise_epoch(Thread *thread, uint32_t epoch);
uint32_t thread_next_epoch(void);

/* Slot of a stack on this state, made when missing; NULL: no memory (count under the losses). */
Slot *thread_slot_make(Thread *thread, uint32_t stack_id);

static inline Slot *thread_slot_find(const Thread *thread, uint32_t key)
{
    Slot *slot = thread->ids[(key >> 8) & thread->ids_mask];
    return LIKELY(slot && slot->key == key) ? slot : NULL;
}
