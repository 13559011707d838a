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

/* Ends at the first stop at the latest, whose word never compares equal. */
static inline __attribute__((always_inline)) bool memo_verified(const Entry *entry)
{
    for (;; entry += 4) {
        if (stack_word(entry[0].sp - 8) != entry[0].word)
            break;
        if (stack_word(entry[1].sp - 8) != entry[1].word) {
            entry += 1;
            break;
        }
        if (stack_word(entry[2].sp - 8) != entry[2].word) {
            entry += 2;
            break;
        }
        if (stack_word(entry[3].sp - 8) != entry[3].word) {
            entry += 3;
            break;
        }
    }
    return LIKELY(entry->word == WALK_STOP_WORD);
}

static inline __attribute__((always_inline)) Memo *memo_cell(UnwindThread *thread, uint64_t pc,
                                                             uint64_t sp)
{
    uint32_t mixed = (uint32_t)sp * UINT32_C(0x2c1b3c6d) + (uint32_t)pc;
    return &thread->memos[mixed * UINT32_C(0x9e3779b1) >> (32 - MEMO_BITS)];
}

static inline __attribute__((always_inline)) UnwindWalk *unwind_remembered(UnwindThread *thread,
                                                                           uint64_t pc, uint64_t sp)
{
    Memo *memo = memo_cell(thread, pc, sp);
    __asm__("" : "+r"(memo)); /* one pointer, computed once */
    if (UNLIKELY(memo->pc != pc) || UNLIKELY(memo->sp != sp) || UNLIKELY(memo->fp_live) ||
        UNLIKELY(!memo_verified(memo->first + 1)))
        return NULL;
    thread->last = memo;
    return &memo->walk;
}
