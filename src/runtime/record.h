// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"
#include "runtime/livemap.h"
#include "runtime/real.h"
#include "runtime/runtime.h"
#include "runtime/stacks.h"
#include "runtime/thread.h"
#include "unwind/unwind.h"

/*
 * The hot path: what every allocation and release runs. Budget: 80 instructions for a pair without
 * the walk. Bans: locks, system calls, libc calls, errno. The caller has set thread_current to NULL,
 * so that a signal handler that allocates meanwhile takes the slow path with a state of its own.
 */

#define LIVE_ENTRY(slot_key, size) ((uint64_t)(slot_key) << 32 | (uint32_t)(size))

/* What a counter touch adds; lets the slow side compute the counters before it (windows). */
typedef struct Touch {
    uint64_t allocs, bytes, frees, freed_bytes, temporary;
    int64_t overhead;
} Touch;

/* The slow sides, in record.c. */
COLD Slot *record_slot(Thread *thread, UnwindWalk *walk);
COLD Slot *record_slot_of_id(Thread *thread, uint32_t stack_id);
COLD void record_touch(Thread *thread, Slot *slot, const Touch *touch);
COLD void record_push(Thread *thread, int64_t upcoming);
COLD void record_missed_free(Thread *thread, LiveEntry *entry, const void *block);
COLD uint64_t record_big_size(const void *block);
/* NULL: no memory for the map; the allocation is then counted as released at once, and as a loss. */
COLD LiveEntry *record_entry_make(LiveMap *map, const void *block, Slot *slot, size_t size);
COLD uint32_t record_big_put(const void *block, size_t size);

/* How far below the peak the sum may fall before the peak's composition must be kept, bytes. */
int64_t record_slack(int64_t peak);

/* Counters have one writer: a relaxed load and store is a plain add, and readers see whole words. */
#define COUNTER_ADD(counter, amount)                                                               \
    __atomic_store_n(&(counter), __atomic_load_n(&(counter), __ATOMIC_RELAXED) + (amount),         \
                     __ATOMIC_RELAXED)

/* glibc keeps the chunk size, with three flag bits, in the word before the block; bit 1: mapped by
 * itself. Checked against malloc_usable_size at boot, else this path is off. */
static inline size_t record_usable(const void *block)
{
    if (LIKELY(runtime.glibc_malloc)) {
        size_t head = ((const size_t *)block)[-1];
        return (head & ~(size_t)7) - (head & 2 ? 16 : 8);
    }
    return real.malloc_usable_size((void *)block);
}

static inline void record_alloc(Thread *thread, LiveMap *map, void *block, size_t size,
                                size_t usable, const UnwindContext *context)
{
    UnwindWalk *walk = LIKELY(thread->unwind != NULL) ? unwind_walk(thread->unwind, context)
                                                      : &thread->fixed_walk;
    Slot *slot = (Slot *)walk->tag;
    if (UNLIKELY(!slot))
        slot = record_slot(thread, walk);

    LiveEntry *entry = livemap_find(map, block);
    if (UNLIKELY(!entry) && !(entry = record_entry_make(map, block, slot, size)))
        return;
    if (UNLIKELY(atomic_load_explicit(entry, memory_order_relaxed) != 0))
        record_missed_free(thread, entry, block);
    uint32_t stored = LIKELY(size < LIVEMAP_HUGE) ? (uint32_t)size : record_big_put(block, size);
    atomic_store_explicit(entry, LIVE_ENTRY(slot->key, stored), memory_order_relaxed);

    COUNTER_ADD(slot->sums.alloc_count, 1);
    COUNTER_ADD(slot->sums.alloc_bytes, size);
    COUNTER_ADD(slot->sums.overhead, (int64_t)(usable - size));
    thread->last_block = (uintptr_t)block;
    thread->live_delta += (int64_t)size;
    if (UNLIKELY(slot->epoch != atomic_load_explicit(&thread->epoch, memory_order_relaxed)))
        record_touch(thread, slot,
                     &(Touch){.allocs = 1, .bytes = size, .overhead = (int64_t)(usable - size)});
    if (UNLIKELY(thread->live_delta > thread->push_above))
        record_push(thread, 0);
}

/* VALUE: the entry, cleared already. NO_OVERHEAD: usable is not known, or equals the size. */
static inline __attribute__((always_inline)) void
record_free(Thread *thread, uint64_t value, const void *block, size_t usable, bool no_overhead)
{
    uint64_t size = (uint32_t)value;
    if (UNLIKELY(size == LIVEMAP_HUGE))
        size = record_big_size(block);
    uint32_t key = (uint32_t)(value >> 32);
    Slot *slot = thread_slot_find(thread, key);
    if (UNLIKELY(!slot))
        slot = record_slot_of_id(thread, key >> 8);
    uint64_t temporary = thread->last_block == (uintptr_t)block && slot->key == key;

    int64_t overhead = no_overhead ? 0 : (int64_t)(size - usable);

    thread->live_delta -= (int64_t)size;
    if (UNLIKELY(thread->live_delta < thread->push_below))
        record_push(thread, (int64_t)size);
    COUNTER_ADD(slot->sums.free_count, 1);
    COUNTER_ADD(slot->sums.free_bytes, size);
    COUNTER_ADD(slot->sums.overhead, overhead);
    COUNTER_ADD(slot->sums.temporary, temporary);
    if (UNLIKELY(slot->epoch != atomic_load_explicit(&thread->epoch, memory_order_relaxed)))
        record_touch(thread, slot,
                     &(Touch){.frees = 1, .freed_bytes = size, .temporary = temporary,
                              .overhead = overhead});
}
