// SPDX-License-Identifier: Apache-2.0
/*
 * Statistics over the iterations of a window.
 *
 * Each row of each shape becomes an entry (group, shape, figures); entries are sorted by group and
 * shape, and rows of one group in one shape are added up, because the median of a sum is not the
 * sum of medians. Then each group is a small weighted sample: its entries, weighted by the
 * iterations of their shapes, and zeros for all other iterations. Quantiles come from sorting that
 * sample once per figure.
 *
 * O(rows log rows) time, one array of rows. No state, any thread.
 */
#include "profile/window_stats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct Entry {
    uint32_t group;
    uint32_t shape;
    uint64_t weight; /* iterations of the shape */
    WindowFigures figures;
} Entry;

typedef struct Sample {
    int64_t value;
    uint64_t weight;
} Sample;

const char *window_figure_name(WindowFigure figure)
{
    static const char *const names[WINDOW_FIGURE_MAX] = {
        [WINDOW_ALLOCATIONS] = "allocations", [WINDOW_BYTES] = "bytes",
        [WINDOW_TEMPORARY] = "temporary",     [WINDOW_LIVE_BYTES] = "live-bytes",
        [WINDOW_LIVE_COUNT] = "live-count",   [WINDOW_FREES] = "frees",
        [WINDOW_FREED_BYTES] = "freed-bytes",
    };
    return names[figure];
}

static WindowFigures figures_of(const WindowValues *values)
{
    return (WindowFigures){.v = {
                               [WINDOW_ALLOCATIONS] = (int64_t)values->allocations,
                               [WINDOW_BYTES] = (int64_t)values->bytes,
                               [WINDOW_TEMPORARY] = (int64_t)values->temporary,
                               [WINDOW_LIVE_BYTES] = (int64_t)(values->bytes - values->freed_bytes),
                               [WINDOW_LIVE_COUNT] = (int64_t)(values->allocations - values->frees),
                               [WINDOW_FREES] = (int64_t)values->frees,
                               [WINDOW_FREED_BYTES] = (int64_t)values->freed_bytes,
                           }};
}

/* Files are hostile: sums wrap instead of being undefined. */
static int64_t add_wrapping(int64_t a, uint64_t b)
{
    return (int64_t)((uint64_t)a + b);
}

static int compare_entries(const void *a, const void *b)
{
    const Entry *x = a, *y = b;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    return x->shape < y->shape ? -1 : x->shape > y->shape;
}

static int compare_samples(const void *a, const void *b)
{
    const Sample *x = a, *y = b;
    return x->value < y->value ? -1 : x->value > y->value;
}

static size_t fill_entries(const ProfileWindow *window, const uint32_t *groups, size_t stack_count,
                           size_t group_count, Entry *entries)
{
    size_t count = 0;
    for (size_t s = 0; s < window->shape_count; s++) {
        const ProfileWindowShape *shape = &window->shapes[s];
        for (size_t r = 0; r < shape->row_count && shape->iterations != 0; r++) {
            uint32_t stack = shape->rows[r].stack;
            if (stack >= stack_count)
                continue;
            uint32_t group = groups ? groups[stack] : stack;
            if (group >= group_count)
                continue;
            entries[count++] = (Entry){.group = group,
                                       .shape = (uint32_t)s,
                                       .weight = shape->iterations,
                                       .figures = figures_of(&shape->rows[r].values)};
        }
    }
    return count;
}

/* Adds up neighbours of the same group and shape; returns the new count. */
static size_t merge_entries(Entry *entries, size_t count)
{
    size_t out = 0;
    for (size_t i = 0; i < count; i++) {
        if (out == 0 || compare_entries(&entries[out - 1], &entries[i]) != 0) {
            entries[out++] = entries[i];
            continue;
        }
        for (int f = 0; f < WINDOW_FIGURE_MAX; f++)
            entries[out - 1].figures.v[f] =
                add_wrapping(entries[out - 1].figures.v[f], (uint64_t)entries[i].figures.v[f]);
    }
    return out;
}

/* The value at position `rank` (from 0) of a sorted weighted sample. */
static int64_t sample_at(const Sample *samples, size_t count, uint64_t rank)
{
    for (size_t i = 0; i < count; i++) {
        if (rank < samples[i].weight)
            return samples[i].value;
        rank -= samples[i].weight;
    }
    return count ? samples[count - 1].value : 0;
}

/* Entries of one group; `samples` has room for count + 1. */
static void group_stats(const Entry *entries, size_t count, uint64_t iterations, Sample *samples,
                        WindowStats *ret_stats)
{
    *ret_stats = (WindowStats){0};
    for (size_t i = 0; i < count; i++)
        ret_stats->iterations += entries[i].weight;
    uint64_t absent = iterations > ret_stats->iterations ? iterations - ret_stats->iterations : 0;
    for (int f = 0; f < WINDOW_FIGURE_MAX; f++) {
        size_t n = 0;
        for (size_t i = 0; i < count; i++) {
            samples[n++] = (Sample){entries[i].figures.v[f], entries[i].weight};
            ret_stats->total.v[f] = add_wrapping(
                ret_stats->total.v[f], (uint64_t)entries[i].figures.v[f] * entries[i].weight);
        }
        if (absent > 0)
            samples[n++] = (Sample){0, absent};
        qsort(samples, n, sizeof *samples, compare_samples);
        ret_stats->min.v[f] = samples[0].value;
        ret_stats->max.v[f] = samples[n - 1].value;
        ret_stats->median.v[f] = sample_at(samples, n, (ret_stats->iterations + absent - 1) / 2);
    }
}

int window_stats(const ProfileWindow *window, const uint32_t *groups, size_t stack_count,
                 size_t group_count, WindowStats *ret_stats)
{
    size_t rows = 0;
    for (size_t s = 0; s < window->shape_count; s++)
        rows += window->shapes[s].row_count;
    Entry *entries = calloc(rows + 1, sizeof *entries);
    Sample *samples = calloc(window->shape_count + 1, sizeof *samples);
    if (!entries || !samples) {
        free(entries);
        free(samples);
        return -ENOMEM;
    }

    memset(ret_stats, 0, group_count * sizeof *ret_stats);
    size_t count = fill_entries(window, groups, stack_count, group_count, entries);
    qsort(entries, count, sizeof *entries, compare_entries);
    count = merge_entries(entries, count);
    for (size_t first = 0, end; first < count; first = end) {
        end = first + 1;
        while (end < count && entries[end].group == entries[first].group)
            end++;
        group_stats(entries + first, end - first, window->iterations, samples,
                    &ret_stats[entries[first].group]);
    }
    free(entries);
    free(samples);
    return 0;
}

int window_stats_all(const ProfileWindow *window, WindowStats *ret_stats)
{
    size_t stack_count = 0;
    for (size_t s = 0; s < window->shape_count; s++)
        for (size_t r = 0; r < window->shapes[s].row_count; r++)
            if (window->shapes[s].rows[r].stack >= stack_count)
                stack_count = (size_t)window->shapes[s].rows[r].stack + 1;
    uint32_t *groups = calloc(stack_count + 1, sizeof *groups);
    if (!groups)
        return -ENOMEM;
    int r = window_stats(window, groups, stack_count, 1, ret_stats);
    free(groups);
    return r;
}

int window_peaks(const ProfileWindow *window, WindowPeaks *ret_peaks)
{
    Sample *samples = calloc(window->shape_count + 1, sizeof *samples);
    if (!samples)
        return -ENOMEM;
    WindowPeaks peaks = {.min_bytes = UINT64_MAX};
    uint64_t iterations = 0;
    size_t n = 0;
    for (size_t s = 0; s < window->shape_count; s++) {
        const ProfileWindowShape *shape = &window->shapes[s];
        if (shape->iterations == 0)
            continue;
        iterations += shape->iterations;
        samples[n++] = (Sample){(int64_t)shape->max_peak_bytes, shape->iterations};
        if (shape->min_peak_bytes < peaks.min_bytes)
            peaks.min_bytes = shape->min_peak_bytes;
    }
    qsort(samples, n, sizeof *samples, compare_samples);
    if (n > 0) {
        peaks.median_bytes = (uint64_t)sample_at(samples, n, (iterations - 1) / 2);
        peaks.max_bytes = (uint64_t)samples[n - 1].value;
    } else {
        peaks.min_bytes = 0;
    }
    free(samples);
    *ret_peaks = peaks;
    return 0;
}

uint64_t window_duration_ns(const ProfileWindow *window)
{
    uint64_t sum = 0;
    for (size_t s = 0; s < window->shape_count; s++)
        sum += window->shapes[s].duration_ns;
    return sum;
}

uint64_t window_unfinished(const ProfileWindow *window)
{
    return window->begun > window->iterations ? window->begun - window->iterations : 0;
}
