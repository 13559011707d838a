// SPDX-License-Identifier: Apache-2.0
/*
 * Joins a walk in progress with the one returned last. At a frame with equal sp, pc (and rbp where
 * it is live) the next outer frame is the same if the stack still holds the same word for it, and
 * so on: compared in order, inner to outer, each frame taken over at about 12 instructions. At the
 * first difference the walk goes on by itself from the outermost frame taken. So each comparison
 * but the last brings a frame, and a walk costs no more for having tried.
 *
 * Frames stepped by DWARF expressions are not taken over but stepped again: what they leave of the
 * registers is not in the log.
 */
#include "unwind/walk.h"

/* rbp at frame ENTRY of a remembered walk, where it is live: from the first CFA computed from it.
 */
static bool remembered_fp(const Entry *entry, uint64_t *ret_fp)
{
    while ((entry->rule & RULE_AUX) ||
           !(entry->rule & (RULE_CFA_FP | RULE_SAVED_FP | RULE_KIND_BITS))) {
        if (entry->word == WALK_STOP_WORD)
            return false;
        entry++;
    }
    if (!(entry->rule & RULE_CFA_FP))
        return false;
    const Entry *caller = entry + 1;
    while (caller->rule & RULE_AUX)
        caller++;
    if (caller->word == WALK_STOP_WORD)
        return false;
    *ret_fp = caller->sp - (uint64_t)rule_cfa_offset(entry->rule);
    return true;
}

/* Whether rbp is at the current frame what it was at CANDIDATE; the word that tells becomes an aux
 * entry of this walk. */
static bool equal_fp(Walker *w, const Entry *candidate)
{
    uint64_t theirs, ours;
    if (!remembered_fp(candidate, &theirs))
        return false;
    w->at->rule = 0;
    return walker_fp(w, &ours) && ours == theirs && !w->forget;
}

/* An entry that is more than a plain frame. True: to be taken over like one. */
static COLD bool take_special(Walker *w, const Entry *from, uint64_t start_sp, Entry **to)
{
    if (!(from->rule & RULE_AUX)) {
        w->flags |= from->rule & RULE_BY_FP ? UNWIND_BY_FRAME_POINTER : 0;
        return true;
    }
    if (from->sp > start_sp) /* else rbp saved further in: compared by equal_fp() */
        *(*to)++ = *from;
    return false;
}

/* The current frame was compared; takes over what follows. True: to the end of the walk. */
static bool take_over(Walker *w, const Entry *from)
{
    const uint64_t start_sp = from->sp;
    uint64_t acc = w->acc, pending = frame_word(from->word, from->rule);
    uint32_t left = w->thread->max_depth - w->frames;
    Entry *frame = w->at, *to = w->next;
    RuleBits rule = from->rule;
    bool whole = false;
    frame->rule = rule;
    if (rule & RULE_BY_FP)
        w->flags |= UNWIND_BY_FRAME_POINTER;
    for (from++; rule_kind(rule) != RULE_SLOW; from++) {
        uint64_t sp = from->sp, word = from->word;
        RuleBits next = from->rule;
        if (stack_word(sp - 8) != word && !((next & RULE_AUX) && sp <= start_sp)) {
            whole = word == WALK_STOP_WORD;
            break;
        }
        if (UNLIKELY(next & (RULE_AUX | RULE_BY_FP))) {
            if (to >= w->aux_limit)
                break;
            if (!take_special(w, from, start_sp, &to))
                continue;
        }
        if (left == 0)
            break;
        left--;
        acc = acc * WALK_BASE + pending;
        rule = next;
        pending = word;
        if (UNLIKELY(rule & RULE_GENERATION))
            pending = frame_word(word, rule);
        *to = (Entry){.sp = sp, .word = word, .rule = rule};
        frame = to++;
    }
    unsigned taken = w->thread->max_depth - w->frames - left;
    w->thread->stats.frames_walked -= taken;
    w->frames += taken;
    w->at = frame;
    w->next = to;
    w->acc = acc;
    return whole;
}

/* A frame whose rbp decides. When no frame was taken, its rbp is unread again: the aux entry that
 * told it will be overwritten. */
static COLD bool join_live(Walker *w, const Entry *candidate)
{
    const Walker before = *w;
    bool whole = equal_fp(w, candidate) && take_over(w, candidate);
    if (w->at == before.at && !whole)
        *w = before;
    return whole;
}

bool walker_join(Walker *w, const Entry *candidate)
{
    UnwindThread *thread = w->thread;
    if (UNLIKELY(thread->regs_at == w->at || (candidate->rule & RULE_AUX) || w->forget))
        return false;
    w->next = w->at + 1;
    bool whole =
        UNLIKELY(candidate->rule & RULE_LIVE) ? join_live(w, candidate) : take_over(w, candidate);
    uint16_t flags = thread->last->walk.flags;
    if (!whole || (flags & UNWIND_DEPTH_CUT)) /* here may be room for more frames */
        return false;
    w->acc = w->acc * WALK_BASE + frame_word(w->at->word, w->at->rule);
    w->flags |= flags & UNWIND_ENDED_EARLY;
    thread->stats.joined++;
    return true;
}
