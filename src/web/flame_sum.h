// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "web/flame_index.h"

enum { FLAME_SIDES = 2 };

/* Figures of the paths of an index. */
typedef struct FlameValues {
    /* Per stack and side; NULL: this side is not used. */
    const Values *stacks[FLAME_SIDES];
    const bool *chosen; /* per stack, NULL: all */
    unsigned sides;
} FlameValues;

/* A tree as it is shown: nodes in preorder, children largest first. */
typedef struct FlameTree {
    uint32_t *label; /* or FLAME_* */
    uint32_t *level;
    uint32_t *hidden;           /* of FLAME_OTHER: nodes that it stands for */
    Values *total[FLAME_SIDES]; /* a node and all below */
    int64_t *self[FLAME_SIDES]; /* of the metric */
    size_t count;
    size_t all_count;   /* before it was cut */
    size_t stack_count; /* that have a value */
} FlameTree;

/*
 * Sums VALUES over INDEX and cuts the tree to LIMIT nodes (at least 2): the subtrees with the
 * smallest figures of METRIC give way first, and each parent that loses some gets one child
 * FLAME_OTHER that has all of theirs. Stacks whose figures are all 0 have no nodes.
 * Cost: the nodes of the index, and a sort of those that stay. 0 or -ENOMEM; flame_tree_done().
 */
int flame_sum(const FlameIndex *index, const FlameValues *values, Metric metric, size_t limit,
              FlameTree *ret_tree);
void flame_tree_done(FlameTree *tree);
