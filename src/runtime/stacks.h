// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/bits.h"
#include "unwind/unwind.h"

/*
 * The process-wide table of distinct stacks. Ids count from 1; 1 is the stack of the losses (what
 * could not be stored), 2 the empty one (no unwinding). Look-ups are lock-free; a new stack takes
 * the table's lock (a few hundred ns). Records are never freed or moved.
 */
enum {
    STACK_ID_BITS = 24,
    STACK_PAGE_BITS = 12,
    STACK_LOSSES = 1,
    STACK_EMPTY = 2,
    STACK_LIST_END = 0,
};

typedef struct Sums {
    uint64_t alloc_count, alloc_bytes, free_count, free_bytes, temporary;
    int64_t overhead; /* usable minus requested, over live blocks */
} Sums;

/*
 * Counters of one stack on one thread state: one cache line, single writer (the thread that holds
 * the state). Cumulative, so that any reader's sum over all threads is a state of the past.
 */
typedef struct Slot {
    uint64_t stamp; /* owning state << 32 | epoch of the last touch that was noted */
    uint32_t stack_id;
    uint32_t next_of_stack; /* slot index, 0: none; set before publication, then constant */
    Sums sums;              /* writer: the owner; readers: the collector, relaxed */
} Slot;
_Static_assert(sizeof(Slot) == 64, "one cache line; SLOT_SHIFT");

/*
 * Slots lie in one window of 2^32 bytes of address space, so that the low 32 bits of its address
 * name one, and the lowest six are free for other use; only what is used is mapped. Index 0 is
 * never given.
 */
enum { SLOT_SHIFT = 6, SLOT_WINDOW_BITS = 32 };
extern HIDDEN uintptr_t slot_base; /* multiple of 1 << SLOT_WINDOW_BITS */

static inline Slot *slot_at(uint32_t index)
{
    return (Slot *)(slot_base + ((uint64_t)index << SLOT_SHIFT));
}

static inline uint32_t slot_index(const Slot *slot)
{
    return (uint32_t)(uintptr_t)slot >> SLOT_SHIFT;
}

bool slots_init(void);
/* COUNT new zeroed slots side by side, NULL: no room. Lock-free. */
Slot *slots_take(uint32_t count);

typedef struct Stack {
    uint64_t hash;
    const FrameWord *frames;        /* the innermost ones, leaf first; see stacks_frames */
    Sums last;                      /* drain_lock: sum as of the last drain */
    _Atomic uint32_t first_slot;    /* index; one a thread state that used it; pushed by CAS */
    _Atomic uint32_t next_pending;  /* link of the pending list */
    uint32_t outer : STACK_ID_BITS; /* stack that ends with the other frames; 0: none are left */
    uint32_t own : 8;               /* with `outer`: how many `frames` has */
    uint16_t depth : 9;             /* constant, as `outer` and `own`: read without a lock */
    uint16_t flags : 5;             /* UnwindFlag, 16 for the loss stack */
    uint8_t : 0;                    /* what follows is written later: bytes of their own */
    uint8_t listed : 1;             /* drain_lock: is in DrainState.changed */
    uint8_t defined : 1;            /* drain_lock: its frames are in the file */
    _Atomic uint8_t pending;        /* is in the pending list */
} Stack;
_Static_assert(sizeof(Stack) <= 80, "part of the memory bar of 120 bytes a stack");

int stacks_init(void);
void stacks_after_fork(void);

/* Number of ids given so far (the highest id). */
uint32_t stacks_count(void);
Stack *stacks_get(uint32_t id);

/* Id of the stack with that hash, 0: not known. Lock-free. */
uint32_t stacks_find(uint64_t hash);
/* Finds or adds; STACK_LOSSES when there is no room, or the lock is held by this very thread. */
uint32_t stacks_put(const UnwindThread *thread, const UnwindWalk *walk, uint32_t tid);
/* Copies the frames of a stack, leaf first, into room for its depth. Cold. */
void stacks_frames(const Stack *stack, FrameWord *ret_frames);
/* Puts a stack on the pending list unless it is there. Lock-free; a full barrier. */
void stacks_mark_pending(uint32_t id);
/* Takes the whole list: first id, linked by next_pending until STACK_LIST_END. */
uint32_t stacks_take_pending(void);
