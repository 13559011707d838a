// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"

/*
 * Pairs the call stacks of two profiles (or of two moments of one) by function names and modules:
 * never by address or line. The caller interns frames, adds stacks, sets their values, and reads
 * rows. It knows texts only, so that it works with any source of names.
 *
 *     stack_diff_new(&diff);
 *     for each side, for each stack:  frames[i] = stack_diff_frame(diff, function, module)
 *                                     group = stack_diff_add(diff, side, frames, depth)
 *                                     stack_diff_put(diff, side, group, &values, &worst)
 *     stack_diff_run(diff, metric);
 *
 * Not thread-safe. Texts are copied. Functions return 0 or a count, or -ENOMEM, -EINVAL.
 */

typedef struct StackDiff StackDiff;

typedef enum DiffSide { DIFF_BEFORE, DIFF_AFTER, DIFF_SIDES } DiffSide;

typedef enum DiffKind {
    DIFF_SAME,
    DIFF_MORE,
    DIFF_FEWER,
    DIFF_NEW,
    DIFF_GONE,
    DIFF_KINDS
} DiffKind;
/* "same", "more", "fewer", "new", "gone" */
const char *diff_kind_name(DiffKind kind);

typedef enum DiffMatch {
    DIFF_MATCH_NONE,    /* only on one side */
    DIFF_MATCH_EXACT,   /* the same functions in the same modules */
    DIFF_MATCH_RENAMED, /* the same after renumbered parts of names are taken out */
    DIFF_MATCH_SIMILAR, /* longest common part; a frame was inserted, removed or renamed */
} DiffMatch;
/* "none", "exact", "renamed", "similar" */
const char *diff_match_name(DiffMatch match);

typedef struct DiffGroup {
    const uint32_t *frames; /* leaf first, see stack_diff_function() */
    size_t depth;
    Values values; /* sums of what was put */
    Values worst;  /* windows: of the worst iteration; else equal to values */
} DiffGroup;

typedef struct DiffRow {
    DiffKind kind;
    DiffMatch match;
    bool ambiguous;             /* another stack would have paired as well */
    uint32_t group[DIFF_SIDES]; /* stack_diff_group(), ID_NONE on the side where it is missing */
    /* The first frame, seen from the root, that differs: index into frames; ID_NONE: none does (or
     * the path ends there). For new and gone stacks: compared with the other side's stack that has
     * the longest common outer part. */
    uint32_t differs[DIFF_SIDES];
    int64_t change;  /* after - before, of the metric; of the worst if the values agree */
    bool worst_only; /* values agree, the worst iterations do not */
} DiffRow;

int stack_diff_new(StackDiff **ret_diff);
void stack_diff_free(StackDiff *diff);

/* function NULL: no name known (all such frames of one module are equal). Returns a frame through
 * *ret_frame, the same one for the same texts. */
int stack_diff_frame(StackDiff *diff, const char *function, const char *module,
                     uint32_t *ret_frame);
const char *stack_diff_function(const StackDiff *diff, uint32_t frame); /* "?" when unknown */
const char *stack_diff_module(const StackDiff *diff, uint32_t frame);   /* normalised */

/* Equal paths are one group. depth 0 is allowed. */
int stack_diff_add(StackDiff *diff, DiffSide which, const uint32_t *frames, size_t depth,
                   uint32_t *ret_group);
size_t stack_diff_group_count(const StackDiff *diff, DiffSide side);
const DiffGroup *stack_diff_group(const StackDiff *diff, DiffSide side, uint32_t group);
/* Adds to the values of a group. */
void stack_diff_put(StackDiff *diff, DiffSide side, uint32_t group, const Values *values,
                    const Values *worst);

typedef struct DiffSummary {
    Values before, after; /* sums of values */
    size_t count[DIFF_KINDS];
    size_t ambiguous;
    size_t similar;         /* pairs that are not exact, changed or not */
    bool nothing_in_common; /* both sides have stacks, and share no function but
                             * those of the C library, main and _start; no pair but of those */
} DiffSummary;

/*
 * Pairs and compares. *ret_rows: first those that changed in the metric, largest change first, then
 * the others (summary.count[DIFF_SAME]); owned by diff until the next run. Returns how many
 * changed. May be called again for another metric.
 */
int stack_diff_run(StackDiff *diff, Metric metric, const DiffRow **ret_rows,
                   DiffSummary *ret_summary);
