// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "unwind/internal.h"
#include "unwind/walk.h"

/*
 * The inline half of unwind_walk(): a remembered walk that still holds, or NULL. No calls, so that
 * a hook can have it without a stack frame of its own. See walk.c for why these reads are safe. It
 * does not look at unwind_epoch: the caller learns of unloaded modules through unwind_on_unload.
 * Walks that depend on the caller's rbp are left to unwind_walk().
 */

/* The first entry from ENTRY on whose word is not on the stack: the first stop at the latest, whose
 * word never compares equal. */
static inline __attribute__((always_inline)) const Entry *memo_differs(const Entry *entry)
{
    for (;; entry += 4) {
        if (stack_word(entry[0].sp - 8) != entry[0].word)
            return entry;
        if (stack_word(entry[1].sp - 8) != entry[1].word)
            return entry + 1;
        if (stack_word(entry[2].sp - 8) != entry[2].word)
            return entry + 2;
        if (stack_word(entry[3].sp - 8) != entry[3].word)
            return entry + 3;
    }
}

static inline uint32_t memo_cell(uint64_t pc, uint64_t sp)
{
    uint32_t mixed = (uint32_t)sp * UINT32_C(0x2c1b3c6d) + (uint32_t)pc;
    return mixed * UINT32_C(0x9e3779b1) >> (32 - MEMO_BITS);
}

/* The walk of a cell to be tried first; one with key 0 when there is none. */
static inline __attribute__((always_inline)) Memo *memo_front(UnwindThread *thread, uint32_t cell)
{
    return (Memo *)((uint64_t *)thread + thread->cells[cell]);
}

static inline void memo_to_front(UnwindThread *thread, const Memo *memo)
{
    thread->cells[*(const volatile uint16_t *)&memo->cell] =
        (int32_t)((const uint64_t *)memo - (const uint64_t *)thread);
}

static inline Memo *memo_next(const Memo *memo)
{
    return (Memo *)((uintptr_t)memo + (uintptr_t)memo->to_next);
}

/* An entry of MEMO -> the entry of the chain's next walk at the same place. */
static inline const Entry *memo_across(const Memo *memo, const Entry *entry)
{
    return (const Entry *)((uintptr_t)entry + (uintptr_t)memo->to_next);
}

static inline __attribute__((always_inline)) UnwindWalk *unwind_remembered(UnwindThread *thread,
                                                                           uint64_t pc, uint64_t sp)
{
    Memo *memo = memo_front(thread, memo_cell(pc, sp));
    __asm__("" : "+r"(memo)); /* one pointer, computed once */
    if (UNLIKELY(memo->key != pc) || UNLIKELY(memo->sp != sp))
        return NULL;
    const Entry *entry = memo_differs(memo->log + 1);
    if (UNLIKELY(entry->word != WALK_STOP_WORD)) {
        do {
            entry = memo_across(memo, entry < memo->fork ? entry : memo->fork);
            memo = memo_next(memo);
            if (memo == memo_front(thread, memo->cell)) {
                thread->missed_pc = pc;
                return NULL;
            }
            if (UNLIKELY(memo->key != pc))
                return NULL;
            entry = memo_differs(entry);
        } while (entry->word != WALK_STOP_WORD);
        /* Two callers that take turns would else change places at each call. */
        if (memo->prev != memo_front(thread, *(const volatile uint16_t *)&memo->cell))
            memo_to_front(thread, memo);
    }
    thread->last = memo;
    return &memo->walk;
}
