// SPDX-License-Identifier: Apache-2.0
/*
 * Joins a walk in progress with the one returned last: at a frame with equal sp, pc (and rbp where it
 * is live) the rest is the same if the stack still holds the same words outwards. Compared in order,
 * with early exit, then copied; each frame costs about 10 instructions. A try that fails costs what
 * it read; two tries a walk at most, or code that differs only far out would make walks quadratic.
 */
#include "unwind/walk.h"

#include <string.h>

/* rbp at frame ENTRY of a remembered walk, where it is live: from the first CFA computed from it. */
static bool remembered_fp(const UnwindThread *thread, const Entry *entry, uint64_t *ret_fp)
{
    RuleBits rule;
    for (;; entry++) {
        rule = walk_note(thread, entry)->rule;
        if (rule & RULE_AUX)
            continue;
        if (rule & (RULE_CFA_FP | RULE_SAVED_FP) || (rule & RULE_KIND_BITS))
            break;
    }
    if (!(rule & RULE_CFA_FP))
        return false;
    const Entry *caller = entry + 1;
    while (walk_note(thread, caller)->rule & RULE_AUX)
        if ((caller++)->word == WALK_STOP_WORD)
            return false;
    *ret_fp = caller->sp - (uint64_t)rule_cfa_offset(rule);
    return true;
}

/* Number of frames from ENTRY to the end if the stack still holds them; 0: it does not. */
static unsigned frames_verified(const Walker *w, const Entry *entry)
{
    const Entry *start = entry;
    unsigned frames = 1;
    for (entry++; entry->word != WALK_STOP_WORD; entry++) {
        bool aux = walk_note(w->thread, entry)->rule & RULE_AUX;
        if (aux && entry->sp <= start->sp)
            continue; /* a saved rbp further in: compared as rbp */
        if (stack_word(entry->sp - 8) != entry->word)
            return 0;
        frames += !aux;
    }
    return frames;
}

/* Copies the entries from CANDIDATE, the current frame's twin, to the end. */
static void take_rest(Walker *w, const Entry *candidate)
{
    UnwindThread *thread = w->thread;
    Note note = *walk_note(thread, candidate);
    uint64_t base = note.acc, factor = w->power;
    for (const Entry *e = thread->last->first; e < candidate; e++)
        if (!(walk_note(thread, e)->rule & RULE_AUX))
            factor *= WALK_BASE_INVERSE;
    uint64_t acc = w->acc, sp = candidate->sp;
    Entry *to = w->next;
    *walk_note(thread, w->at) = (Note){.acc = acc, .rule = note.rule};
    RuleBits seen = note.rule;
    for (candidate++; candidate->word != WALK_STOP_WORD; candidate++) {
        note = *walk_note(thread, candidate);
        if ((note.rule & RULE_AUX) && candidate->sp <= sp)
            continue;
        seen |= note.rule;
        *to = *candidate;
        *walk_note(thread, to) =
            (Note){.acc = acc + factor * (note.acc - base), .rule = note.rule};
        to++;
    }
    w->acc = acc + factor * (walk_note(thread, candidate)->acc - base);
    w->next = to;
    if (seen & RULE_BY_FP)
        w->flags |= UNWIND_BY_FRAME_POINTER;
    w->flags |= thread->last->walk.flags & (UNWIND_DEPTH_CUT | UNWIND_ENDED_EARLY);
}

bool walker_join(Walker *w, const Entry *candidate)
{
    UnwindThread *thread = w->thread;
    RuleBits rule = walk_note(thread, candidate)->rule;
    if (w->regs_at == w->at || (rule & RULE_AUX) || w->forget)
        return false;
    unsigned rest = frames_verified(w, candidate), max_depth = thread->max_depth;
    if (rest == 0 || w->frames - 1 + rest > max_depth)
        return false;
    bool cut = thread->last->walk.flags & UNWIND_DEPTH_CUT;
    if (cut && w->frames - 1 + rest != max_depth)
        return false;
    Walker before = *w;
    w->next = w->at + 1;
    if (rule & RULE_LIVE) {
        uint64_t theirs, ours;
        walk_note(thread, w->at)->rule = 0;
        if (!remembered_fp(thread, candidate, &theirs) || !walker_fp(w, &ours) ||
            ours != theirs || w->forget) {
            *w = before;
            return false;
        }
    }
    if (w->next + (thread->last->first + thread->last->entries - candidate) > w->aux_limit) {
        *w = before;
        return false;
    }
    take_rest(w, candidate);
    w->frames += rest - 1;
    thread->stats.joined++;
    return true;
}
