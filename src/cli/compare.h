// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/session.h"
#include "profile/stack_diff.h"
#include "profile/window_stats.h"

/*
 * Two profiles, two moments of one, or two windows side by side, their stacks paired by names.
 * Shared by diff and check. Values of windows are per iteration (median; worst: the maximum),
 * values of moments are the state then. Allocator plumbing at the leaf (operator new and the like)
 * is left out, as in reports.
 */

typedef struct CompareSource {
    const Session *session;      /* labelled by function */
    const ProfileWindow *window; /* NULL: the state at at_ns */
    uint64_t at_ns;
} CompareSource;

typedef struct CompareSite {
    char place[128];  /* "file.c:12", "" when no line is known */
    const char *path; /* of the file, as in the debug information; the symbolizer\'s; may be NULL */
    int64_t value;    /* of the metric; windows: sum over all iterations */
} CompareSite;

typedef struct Compare Compare;

/* Borrows the sources. 0, -ENOMEM, or an error of the profile. */
int compare_new(const CompareSource sources[DIFF_SIDES], Compare **ret_compare);
void compare_free(Compare *compare);

StackDiff *compare_diff(Compare *compare);
const CompareSource *compare_source(const Compare *compare, DiffSide side);

/* "before.binpb" or the window's figures: what stands on a side, all stacks together. */
typedef struct CompareTotals {
    Values values; /* windows: median per iteration */
    Values worst;
    uint64_t iterations; /* 0: not a window */
} CompareTotals;
const CompareTotals *compare_totals(const Compare *compare, DiffSide side);

/*
 * The places in the source that frame INDEX (leaf first, as in DiffGroup.frames) of a group has in
 * its stacks, largest value first; several when a function calls from several lines. Writes at most
 * CAPACITY, returns how many there are. Costs a look at each stack of the group.
 */
size_t compare_sites(const Compare *compare, DiffSide which, uint32_t group, size_t index,
                     Metric metric, CompareSite *ret_sites, size_t capacity);

/* STACK_* flags of all stacks of the group together: to say that they end early. */
uint32_t compare_flags(const Compare *compare, DiffSide which, uint32_t group);

/*
 * Finds a window as the user names it: by its exact name; "NAME (thread)" or "NAME (process)" where
 * two windows of these scopes share a name; else by the only one whose name ends in "/" and the
 * text (assertions are named by path and line). *ret_window: the window. 0, -ENOENT: none, -EEXIST:
 * more than one.
 */
int compare_window_by_name(const Profile *profile, const char *text,
                           const ProfileWindow **ret_window);
/* The same; NULL after one problem line that lists the known names. */
const ProfileWindow *compare_find_window(const char *verb, const Session *session,
                                         const char *name);
/* Why a look-up failed with CODE: "the profile has no such window; it has a, b". Cut at SIZE. */
void compare_window_problem(const Profile *profile, const char *text, int code, char *ret_why,
                            size_t size);
/* Figures of a window as the metrics of a stack. */
Values compare_window_values(const WindowFigures *figures);
