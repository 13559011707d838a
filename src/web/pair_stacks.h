// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "profile/stack_diff.h"
#include "web/hub.h"

/*
 * Two states paired as `memhawk diff` does: by functions and modules, the program itself being
 * "[program]", allocator plumbing left out.
 */

typedef struct PairSide {
    HubProcess *process; /* held; both may be the same */
    int64_t snapshot;    /* -1: before the first */
} PairSide;

/* What a frame of the diff is shown as. */
typedef struct PairFrame {
    const Label *label;     /* of the later side where it has one; NULL: not used */
    int64_t id[DIFF_SIDES]; /* the first of its labels, -1: it is not on that side */
} PairFrame;

typedef struct PairStacks {
    StackDiff *diff;
    PairFrame *frames; /* per frame of the diff */
    size_t frame_count, frame_capacity;
    uint32_t *by_label[DIFF_SIDES]; /* frame of each label, ID_NONE: no stack has it */
    size_t label_count[DIFF_SIDES];
} PairStacks;

/* 0 or -ENOMEM; pair_stacks_done() in any case. Then stack_diff_run(). */
int pair_stacks_make(const PairSide sides[DIFF_SIDES], PairStacks *ret_pairs);
/* The frame that a label of a side is; ID_NONE: no stack of that side has it, or there is no such
 * label. */
uint32_t pair_stacks_frame(const PairStacks *pairs, DiffSide side, uint32_t label);
void pair_stacks_done(PairStacks *pairs);
