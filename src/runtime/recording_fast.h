// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/recording.h"
#include "unwind/memo.h"

/*
 * The hot path: what nearly every allocation and release runs, on glibc. No calls, no stack frame:
 * whatever is not common returns false with nothing changed, and the hook takes the general path.
 * Budget: 80 instructions for a pair without the walk.
 *
 * Common means: the caller's stack is remembered, the slot was touched in this epoch, the block's
 * chunk is smaller than 64 KiB and not mapped by itself (both in one test of the chunk's header:
 * the size, with flag bit 1 for "mapped"), and the live delta stays inside its band. At a release
 * the chunk is not looked at again: the entry of an uncommon one has LIVE_ESCAPE (recording.c).
 *
 * Every change is one instruction, so a signal handler that allocates in between is harmless; only
 * the look at the memo is guarded by thread_current.
 */

#define SIGNAL_FENCE() __asm__ volatile("" ::: "memory")

/* glibc: the word before a block holds the chunk's size and three flags (malloc.c). */
static inline uint64_t fast_head(const void *block)
{
    return ((const uint64_t *)block)[-1];
}

/* Tests the header where it lies, so that its other use needs no copy. */
static inline bool fast_is_common(const void *block)
{
#if defined(__x86_64__)
    bool common;
    __asm__("testq %2, %1"
            : "=@ccz"(common)
            : "m"(((const uint64_t *)block)[-1]), "e"(~INT64_C(0xfffd)));
    return common;
#else
    return (fast_head(block) & ~UINT64_C(0xfffd)) == 0;
#endif
}

/* The entry in a leaf that is there; NULL: none. glibc's granule. TOP: LIVEMAP_TOP of the block. */
static inline __attribute__((always_inline)) LiveEntry *fast_entry(const void *block, uint64_t top)
{
    LiveEntry *biased = atomic_load_explicit(&livemap_heap_root[top], memory_order_relaxed);
    if (UNLIKELY(!biased))
        return NULL;
    LiveEntry *entry =
        (LiveEntry *)((uintptr_t)biased + ((uintptr_t)block >> 5) * sizeof(LiveEntry));
    if (!entry)
        __builtin_unreachable();
    return entry;
}

/* LIVEMAP_TOP of a block that glibc has just given: on x86-64 its address has 47 bits at most. */
static inline uint64_t fast_top(const void *block)
{
#if defined(__x86_64__)
    return (uintptr_t)block >> LIVEMAP_LEAF_BITS;
#else
    return LIVEMAP_TOP((uintptr_t)block);
#endif
}

/* For a block that is ours alone. */
static inline bool fast_is_empty(const LiveEntry *entry)
{
#if defined(__x86_64__)
    bool empty;
    __asm__("cmpl $0, %1" : "=@cce"(empty) : "m"(*entry));
    return empty;
#else
    return atomic_load_explicit(entry, memory_order_relaxed) == 0;
#endif
}

/* *room -= amount; true when it fell below zero. */
static inline bool fast_spend(int64_t *room, uint64_t amount)
{
#if defined(__x86_64__)
    bool negative;
    __asm__("subq %2, %0" : "+m"(*room), "=@ccs"(negative) : "re"(amount));
    return negative;
#else
    return (*room -= (int64_t)amount) < 0;
#endif
}

/* SLOT is this thread's and was touched in this epoch. */
static inline bool fast_is_own(const Thread *thread, const Slot *slot)
{
    return slot->stamp == atomic_load_explicit(&thread->stamp, memory_order_relaxed);
}

/* The slot of a remembered stack, NULL: none. */
static inline __attribute__((always_inline)) Slot *fast_slot(Thread *thread, uint64_t pc,
                                                             uint64_t sp)
{
    thread_current = &thread_none;
    SIGNAL_FENCE();
    __asm__("" : "+r"(pc), "+r"(sp)); /* registers from here on: no spill */
    UnwindWalk *walk = unwind_remembered(thread->unwind, pc, sp);
    Slot *slot = LIKELY(walk != NULL) ? (Slot *)walk->tag : NULL;
    SIGNAL_FENCE();
    thread_current = thread;
    return slot;
}

static inline __attribute__((always_inline)) bool fast_commit(Thread *thread, Slot *slot,
                                                              void *block, size_t size)
{
    if (UNLIKELY(!fast_is_own(thread, slot)))
        return false;
    LiveEntry *entry = fast_entry(block, fast_top(block));
    if (UNLIKELY(!entry) || UNLIKELY(!fast_is_empty(entry)))
        return false;
    uint64_t overhead = (fast_head(block) & ~UINT64_C(7)) - 8 - size;
    if (UNLIKELY(!fast_is_common(block)) || UNLIKELY(overhead >= LIVE_ESCAPE))
        return false;
    if (UNLIKELY(fast_spend(&thread->room_up, size))) {
        thread->room_up += (int64_t)size;
        return false;
    }
    counter_add((uint64_t *)&thread->room_down, size);
    atomic_store_explicit(entry, (uint32_t)((uintptr_t)slot + overhead), memory_order_relaxed);
    counter_add(&slot->sums.alloc_count, 1);
    counter_add(&slot->sums.alloc_bytes, size);
    counter_add((uint64_t *)&slot->sums.overhead, overhead);
    thread->last_block = (uintptr_t)block;
    return true;
}

/* Counts the release of a block whose entry held VALUE (0: none; slot 0 is nobody's), before the
 * real free. The caller clears the entry. The header is read only of blocks that are known. */
static inline __attribute__((always_inline)) bool fast_free(Thread *thread, uint64_t value,
                                                            const void *block)
{
    uint64_t overhead = value & LIVE_ESCAPE;
    Slot *slot = record_slot_of((uint32_t)value & ~(uint32_t)LIVE_ESCAPE);
    if (UNLIKELY(!fast_is_own(thread, slot)))
        return false;
    __asm__("" : "+r"(overhead)); /* the tests stay in this order, each on memory */
    if (UNLIKELY(overhead == LIVE_ESCAPE))
        return false;
    uint64_t size = (fast_head(block) & ~UINT64_C(7)) - 8 - overhead;
    if (UNLIKELY(fast_spend(&thread->room_down, size))) {
        thread->room_down += (int64_t)size;
        return false;
    }
    counter_add((uint64_t *)&thread->room_up, size);
    counter_add(&slot->sums.free_count, 1);
    counter_add(&slot->sums.free_bytes, size);
    counter_sub((uint64_t *)&slot->sums.overhead, overhead);
    if (UNLIKELY(thread->last_block == (uintptr_t)block))
        counter_add(&slot->sums.temporary, 1);
    return true;
}
