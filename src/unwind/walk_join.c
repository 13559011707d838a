// SPDX-License-Identifier: Apache-2.0
/*
 * Joins a walk in progress with the one returned last. At a frame with equal sp, pc (and rbp where
 * it is live) the next outer frame is the same if the stack still holds the same word for it, and
 * so on: compared in order, inner to outer, each frame taken over at about 14 instructions, or 6
 * where all frames of the other walk are plain: then what holds is copied at once. At the first
 * difference the walk goes on by itself from the outermost frame taken. So each comparison but the
 * last brings a frame, and a walk costs no more for having tried.
 *
 * Frames stepped by DWARF expressions are not taken over but stepped again: what they leave of the
 * registers is not in the log.
 */
#include <string.h>

#include "unwind/memo.h"
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

/* More than a plain frame of a module that is the first at its place. */
#define RULE_SPECIAL (RULE_KIND_BITS | RULE_AUX | RULE_BY_FP | RULE_GENERATION)

/* Where a take-over stands: `from` is the next entry to compare, `frame` the outermost frame taken;
 * `pending` is its word, which counts in `acc` once there is a frame beyond. */
typedef struct Taking {
    const Entry *from;
    Entry *frame, *to;
    uint64_t acc, pending;
    uint32_t left; /* frames that may still be added */
} Taking;

/* Plain frames after plain frames, LIMIT at the most. Both sides advance alike. */
static inline __attribute__((always_inline)) void take_plain(Taking *t, uint32_t limit)
{
    const Entry *from = t->from, *end = from + limit;
    Entry *to = t->to;
    uint64_t acc = t->acc, pending = t->pending;
    while (from < end) {
        uint64_t sp = from->sp, word = from->word;
        RuleBits rule = from->rule;
        if ((rule & RULE_SPECIAL) || stack_word(sp - 8) != word)
            break;
        acc = acc * WALK_BASE + pending;
        pending = word;
        to->sp = sp;
        to->word = word;
        to->rule = rule;
        to++;
        from++;
    }
    if (from == t->from)
        return;
    t->left -= (uint32_t)(from - t->from);
    t->from = from;
    t->to = to;
    t->frame = to - 1;
    t->acc = acc;
    t->pending = pending;
}

/* The current frame was compared; takes over what follows. True: to the end of the walk. */
static bool take_over(Walker *w, const Entry *candidate)
{
    const uint64_t start_sp = candidate->sp;
    const uint32_t left = w->thread->max_depth - w->frames;
    RuleBits rule = candidate->rule;
    Taking t = {.from = candidate + 1,
                .frame = w->at,
                .to = w->next,
                .acc = w->acc,
                .pending = frame_word(candidate->word, rule),
                .left = left};
    bool whole = false;
    t.frame->rule = rule;
    if (rule & RULE_BY_FP)
        w->flags |= UNWIND_BY_FRAME_POINTER;
    for (; rule_kind(rule) != RULE_SLOW; t.from++) {
        take_plain(&t, t.left);
        uint64_t sp = t.from->sp, word = t.from->word;
        RuleBits next = t.from->rule;
        if (stack_word(sp - 8) != word && !((next & RULE_AUX) && sp <= start_sp)) {
            whole = word == WALK_STOP_WORD;
            break;
        }
        if (UNLIKELY(next & (RULE_AUX | RULE_BY_FP))) {
            if (t.to >= w->aux_limit)
                break;
            if (!take_special(w, t.from, start_sp, &t.to))
                continue;
        }
        if (t.left == 0)
            break;
        t.left--;
        t.acc = t.acc * WALK_BASE + t.pending;
        rule = next;
        t.pending = frame_word(word, rule);
        *t.to = (Entry){.sp = sp, .word = word, .rule = rule};
        t.frame = t.to++;
    }
    w->thread->stats.frames_walked -= left - t.left;
    w->frames += left - t.left;
    w->at = t.frame;
    w->next = t.to;
    w->acc = t.acc;
    return whole;
}

/* ---- all plain ----------------------------------------------------------------------------------
 */

static uint64_t walk_sum(uint64_t acc, const Entry *from, const Entry *end)
{
    for (; from + 4 <= end; from += 4) {
        acc = acc * WALK_BASE + from[0].word;
        acc = acc * WALK_BASE + from[1].word;
        acc = acc * WALK_BASE + from[2].word;
        acc = acc * WALK_BASE + from[3].word;
    }
    for (; from < end; from++)
        acc = acc * WALK_BASE + from->word;
    return acc;
}

static uint64_t walk_base_power(size_t exponent)
{
    uint64_t power = 1;
    for (uint64_t square = WALK_BASE; exponent; exponent >>= 1, square *= square)
        power *= exponent & 1 ? square : 1;
    return power;
}

/*
 * As take_over(), from a walk that is plain throughout. The sum over the frames taken is what they
 * add to that walk's sum, where this is the shorter way to it.
 */
static bool take_plain_walk(Walker *w, const Memo *last, const Entry *candidate)
{
    size_t taken = (size_t)(memo_differs(candidate + 1) - candidate);
    size_t inner = (size_t)(candidate - last->log), left = last->walk.depth - inner;
    size_t room = w->thread->max_depth - w->frames + 1u;
    bool whole = taken == left && taken <= room && !last->walk.flags;
    room = left < room ? left : room;
    if (UNLIKELY(taken > room))
        taken = room;
    memcpy(w->at, candidate, taken * sizeof(Entry));
    if (whole && inner < taken)
        w->acc = (w->acc - walk_sum(0, last->log, candidate)) * walk_base_power(taken) + last->acc;
    else
        w->acc = walk_sum(w->acc, candidate, candidate + taken - !whole);
    w->frames += (unsigned)taken - 1;
    w->thread->stats.frames_walked -= taken - 1;
    w->at += taken - 1;
    w->next = w->at + 1;
    w->thread->stats.joined += whole;
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
    const Memo *last = thread->last;
    if (LIKELY(last->plain))
        return take_plain_walk(w, last, candidate);
    w->special = true;
    w->next = w->at + 1;
    bool whole =
        UNLIKELY(candidate->rule & RULE_LIVE) ? join_live(w, candidate) : take_over(w, candidate);
    uint16_t flags = last->walk.flags;
    if (!whole || (flags & UNWIND_DEPTH_CUT)) /* here may be room for more frames */
        return false;
    w->acc = w->acc * WALK_BASE + frame_word(w->at->word, w->at->rule);
    w->flags |= flags & UNWIND_ENDED_EARLY;
    thread->stats.joined++;
    return true;
}
