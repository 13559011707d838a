// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"
#include "symbol/labels.h"

/*
 * The shape of a call tree without its figures: which node each stack ends in. Figures of any
 * selection are then sums over arrays (flame_sum.h). Labels and stacks change seldom, selections
 * all the time, so one index serves many requests.
 */

/* What stands where no label is; as negative numbers those of docs/API.md. */
#define FLAME_ROOT  UINT32_MAX       /* -1 */
#define FLAME_OTHER (UINT32_MAX - 1) /* -2 */
#define FLAME_CUT   (UINT32_MAX - 2) /* -3 */
#define FLAME_EARLY (UINT32_MAX - 3) /* -4 */
#define FLAME_LOST  (UINT32_MAX - 4) /* -5 */

typedef struct FlamePath {
    uint32_t first, depth; /* in FlameIndex.steps, from the root of the tree */
    uint32_t stack;
} FlamePath;

typedef struct FlameNode {
    uint32_t label, parent, level; /* a parent lies before its children, in preorder */
} FlameNode;

typedef struct FlameIndex {
    uint32_t *steps;
    size_t step_count, step_capacity;
    FlamePath *paths;
    size_t path_count, path_capacity;
    uint32_t *order; /* of paths, so that equal beginnings lie together */
    size_t ordered;  /* how many of them are in it */
    FlameNode *nodes;
    size_t node_count, node_capacity;
    uint32_t *ends; /* node in which each path ends */
} FlameIndex;

/* Steps of a path are appended, and then the path that they make; 0, -ENOMEM, -EOVERFLOW. */
int flame_index_step(FlameIndex *index, uint32_t label);
int flame_index_path(FlameIndex *index, uint32_t stack);
/* Makes nodes and ends of all paths. Paths that came since the last time are sorted and merged. */
int flame_index_build(FlameIndex *index);
/* Forgets all paths, keeps the memory. */
void flame_index_clear(FlameIndex *index);
void flame_index_done(FlameIndex *index);

/*
 * Adds stack by stack as a path: from its outermost frame, or with `inverted` from its innermost,
 * allocator plumbing left out (alloc_site.h), with a mark where a stack does not reach its root.
 * FOCUS (not FLAME_ROOT): only stacks with that label; what lies below its outermost occurrence,
 * or with `inverted` above its innermost one, that occurrence included.
 */
int flame_index_stacks(FlameIndex *index, const Profile *profile, const Labels *labels,
                       bool inverted, uint32_t focus, uint32_t first_stack);
