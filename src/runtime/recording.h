// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
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
 * Recording one allocation or release, whatever it takes: the general path. The hooks try
 * recording_fast.h first, which does the same for the common case. The caller has set
 * thread_current to NULL, so that a signal handler that allocates meanwhile uses a state of its
 * own. Bans: system calls and locks outside the rare branches, libc calls, errno.
 */

/* What a counter touch adds; lets the slow side compute the counters before it (windows). */
typedef struct Touch {
    uint64_t allocs, bytes, frees, freed_bytes, temporary;
} Touch;

/* The slot of the caller's stack, walked and made when missing; never NULL. */
Slot *record_slot(Thread *thread, const UnwindContext *context);
/* USABLE: malloc_usable_size of BLOCK. */
void record_alloc(Thread *thread, void *block, size_t size, size_t usable,
                  const UnwindContext *context);
/* The same, with the slot of the caller's stack known. */
void record_alloc_at(Thread *thread, Slot *slot, void *block, size_t size, size_t usable);
/* A block of the program's own allocator (memhawk_alloc). */
void record_custom_alloc(Thread *thread, const void *block, size_t size,
                         const UnwindContext *context);
void record_custom_free(Thread *thread, const void *block);

/* A block that was taken out of the live map. */
typedef struct Taken {
    uint32_t slot_bits; /* 0: it was not known */
    uint64_t overhead;
    size_t usable;
} Taken;

/* Out of the live map, before the real free. Nothing is counted yet. */
Taken record_take(const void *block);
/* Back into it: the release failed. */
void record_put_back(const void *block, const Taken *taken);
/* Counts the release of what was taken. */
void record_free(Thread *thread, const void *block, const Taken *taken);

/* Pushes the thread's live delta into the global sum; UPCOMING bytes of it are a release that is
 * not in the counters yet. */
void record_push(Thread *thread, int64_t upcoming);
/* How far below the peak the sum may fall before the peak's composition must be kept, bytes. */
int64_t record_slack(int64_t peak);
/* Whether live bytes of SUM are visibly more than at the moment whose composition is kept: else a
 * capture would replace a better one. */
bool record_is_uncaptured(int64_t sum);

static inline Slot *record_slot_of(uint32_t slot_bits)
{
    return (Slot *)(slot_base + slot_bits);
}

/*
 * Adds to a counter that this thread alone writes: one instruction, so that a reader on another
 * processor sees whole words and a signal handler between load and store cannot exist.
 */
static inline void counter_add(uint64_t *counter, uint64_t amount)
{
#if defined(__x86_64__)
    __asm__("addq %1, %0" : "+m"(*counter) : "re"(amount) : "cc");
#else
    __atomic_store_n(counter, __atomic_load_n(counter, __ATOMIC_RELAXED) + amount,
                     __ATOMIC_RELAXED);
#endif
}

static inline void counter_sub(uint64_t *counter, uint64_t amount)
{
#if defined(__x86_64__)
    __asm__("subq %1, %0" : "+m"(*counter) : "re"(amount) : "cc");
#else
    counter_add(counter, 0 - amount);
#endif
}

static inline size_t record_usable(const void *block)
{
    return real.malloc_usable_size((void *)block);
}
