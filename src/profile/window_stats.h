// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "profile/profile.h"

/*
 * Statistics over the iterations of a measurement window. The profile keeps iterations with equal
 * rows as one shape, so minimum, median and maximum are exact whatever the number of iterations; a
 * group of stacks that a shape lacks counts 0 in all iterations of that shape.
 */

typedef enum WindowFigure {
    WINDOW_ALLOCATIONS,
    WINDOW_BYTES,
    WINDOW_TEMPORARY,
    WINDOW_LIVE_BYTES, /* bytes - freed bytes: what the window left behind; may be negative */
    WINDOW_LIVE_COUNT, /* allocations - frees; may be negative */
    WINDOW_FREES,
    WINDOW_FREED_BYTES,
    WINDOW_FIGURE_MAX,
} WindowFigure;

/* "allocations", "bytes", "temporary", "live-bytes", "live-count", "frees", "freed-bytes". */
const char *window_figure_name(WindowFigure figure);

typedef struct WindowFigures {
    int64_t v[WINDOW_FIGURE_MAX];
} WindowFigures;

typedef struct WindowStats {
    WindowFigures total;            /* sum over all iterations */
    WindowFigures min, median, max; /* per iteration; an even number of iterations: the lower of
                                     * the two in the middle */
    uint64_t iterations;            /* in how many the group occurs (has a row) */
} WindowStats;

/*
 * groups[profile_stack_count()] names the group of each stack, ID_NONE: left out. NULL: each
 * stack is a group of its own. Fills ret_stats[group_count], zeros for groups that do not occur.
 * Stacks or groups out of range are left out. -ENOMEM. O(rows log rows), allocates one array.
 */
int window_stats(const ProfileWindow *window, const uint32_t *groups, size_t stack_count,
                 size_t group_count, WindowStats *ret_stats);

/* The whole window: all stacks are one group. */
int window_stats_all(const ProfileWindow *window, WindowStats *ret_stats);

/* Lowest, median and highest of the peaks. A shape knows only its lowest and highest, so the median
 * is exact when they agree, else the highest of the shape in the middle. 0 without iterations. */
typedef struct WindowPeaks {
    uint64_t min_bytes, median_bytes, max_bytes;
} WindowPeaks;
int window_peaks(const ProfileWindow *window, WindowPeaks *ret_peaks);

/* Sum of the durations. */
uint64_t window_duration_ns(const ProfileWindow *window);

/* Iterations that were begun but never completed. */
uint64_t window_unfinished(const ProfileWindow *window);
