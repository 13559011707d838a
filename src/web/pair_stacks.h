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
    const Label *label; /* of the later side where it has one; NULL: not used */
    int64_t id;         /* label of the later side, -1: only in the earlier one */
} PairFrame;

typedef struct PairStacks {
    StackDiff *diff;
    PairFrame *frames; /* per frame of the diff */
    size_t frame_count, frame_capacity;
} PairStacks;

/* 0 or -ENOMEM; pair_stacks_done() in any case. Then stack_diff_run(). */
int pair_stacks_make(const PairSide sides[DIFF_SIDES], PairStacks *ret_pairs);
void pair_stacks_done(PairStacks *pairs);
