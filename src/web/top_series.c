// SPDX-License-Identifier: Apache-2.0
/*
 * Top labels over time, exactly, without a series for every label.
 *
 * A change of a stack is a change of each of some thirty labels on its path, so adding all of them
 * up would cost thirty times the file. Instead the columns are put into at most 32 buckets:
 *
 *   1. each stack gives, per bucket, its highest value and the value at the bucket's last column.
 *      Added up per label these are bounds: the label's own highest value is at most the first,
 *      at least the second.
 *   2. a label can be among the top N only if its upper bound reaches the Nth largest lower bound.
 *      Those few get real series, in a second pass over the changes.
 *
 * Labels are numbered as they occur, so that labels without a stack (addresses whose names have
 * come since) cost nothing.
 */
#include "web/top_series.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/alloc_site.h"
#include "profile/series.h"

enum { BUCKETS = 32 };
#define NONE UINT32_MAX

typedef struct Bounds {
    int64_t high[BUCKETS], end[BUCKETS];
    uint32_t label, stamp;
    uint32_t row; /* in Work.rows, NONE: no candidate */
} Bounds;

typedef struct Work {
    const Profile *profile;
    const Labels *labels;
    const Timeline *timeline;
    const TopSeriesOptions *options;
    ProfileChange *room;
    uint32_t *column; /* per snapshot of the span: the first column at or after it */
    uint32_t *number; /* per label: of its bounds, NONE: does not occur */
    Bounds *bounds;
    size_t count, capacity;
    TopSeriesRow *rows; /* candidates */
    size_t row_count;
    int64_t *storage, *total;
} Work;

static void work_done(Work *work)
{
    free(work->room);
    free(work->column);
    free(work->number);
    free(work->bounds);
    free(work->rows);
    free(work->storage);
    free(work->total);
}

/* ---- one stack ------------------------------------------------------------------------------ */

typedef struct StackChanges {
    const ProfileChange *changes;
    size_t count;
    int64_t before;
    const uint32_t *path; /* the labels that it counts for */
    size_t depth;
} StackChanges;

static void stack_path(const Work *work, uint32_t stack, StackChanges *s)
{
    s->depth = labels_path(work->labels, stack, &s->path);
    size_t skip = alloc_site_skip(work->labels, s->path, s->depth);
    s->path += skip;
    s->depth -= skip;
    if (work->options->self && s->depth > 1)
        s->depth = 1;
}

/* False: it is 0 all the time. */
static bool stack_changes(const Work *work, uint32_t stack, StackChanges *s)
{
    const Timeline *timeline = work->timeline;
    s->count = profile_stack_changes(work->profile, stack, work->options->metric,
                                     (uint32_t)timeline->first, (uint32_t)timeline->end - 1,
                                     work->room, &s->changes, &s->before);
    return s->count || s->before;
}

static size_t column_of(const Work *work, const ProfileChange *change)
{
    return work->column[change->snapshot - work->timeline->first];
}

static size_t bucket_of(const Work *work, size_t column)
{
    return column * BUCKETS / work->timeline->count;
}

/* ---- bounds --------------------------------------------------------------------------------- */

static void stack_bounds(const Work *work, const StackChanges *s, Bounds *ret)
{
    int64_t value = s->before;
    size_t i = 0;
    for (size_t b = 0; b < BUCKETS; b++) {
        int64_t high = value;
        for (; i < s->count && bucket_of(work, column_of(work, &s->changes[i])) == b; i++) {
            value = wrap_add(value, s->changes[i].delta);
            high = value > high ? value : high;
        }
        ret->high[b] = high;
        ret->end[b] = value;
    }
}

static Bounds *bounds_of(Work *work, uint32_t label)
{
    if (work->number[label] != NONE)
        return &work->bounds[work->number[label]];
    if (work->count == work->capacity) {
        size_t capacity = work->capacity ? work->capacity * 2 : 256;
        Bounds *grown = realloc(work->bounds, capacity * sizeof(*grown));
        if (!grown)
            return NULL;
        work->bounds = grown;
        work->capacity = capacity;
    }
    work->number[label] = (uint32_t)work->count;
    work->bounds[work->count] = (Bounds){.label = label, .row = NONE};
    return &work->bounds[work->count++];
}

static int add_bounds(Work *work, uint32_t stack)
{
    StackChanges s;
    Bounds own;
    if (!stack_changes(work, stack, &s))
        return 0;
    stack_path(work, stack, &s);
    work->total[0] = wrap_add(work->total[0], s.before);
    for (size_t i = 0; i < s.count; i++) {
        int64_t *at = &work->total[column_of(work, &s.changes[i])];
        *at = wrap_add(*at, s.changes[i].delta);
    }
    stack_bounds(work, &s, &own);
    for (size_t i = 0; i < s.depth; i++) {
        Bounds *bounds = bounds_of(work, s.path[i]);
        if (!bounds)
            return -ENOMEM;
        if (bounds->stamp == stack + 1)
            continue;
        bounds->stamp = stack + 1;
        for (size_t b = 0; b < BUCKETS; b++) {
            bounds->high[b] = wrap_add(bounds->high[b], own.high[b]);
            bounds->end[b] = wrap_add(bounds->end[b], own.end[b]);
        }
    }
    return 0;
}

/* ---- candidates ----------------------------------------------------------------------------- */

static int64_t highest(const int64_t *values, size_t count)
{
    int64_t best = values[0];
    for (size_t i = 1; i < count; i++)
        best = values[i] > best ? values[i] : best;
    return best;
}

static int compare_high_first(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x > y ? -1 : x < y;
}

/* The value that a label must be able to reach. */
static int find_threshold(const Work *work, int64_t *ret_threshold)
{
    int64_t *sure = malloc((work->count + 1) * sizeof(*sure));
    if (!sure)
        return -ENOMEM;
    for (size_t i = 0; i < work->count; i++)
        sure[i] = highest(work->bounds[i].end, BUCKETS);
    qsort(sure, work->count, sizeof(*sure), compare_high_first);
    size_t top = work->options->top;
    *ret_threshold = top == 0 ? INT64_MAX : work->count > top ? sure[top - 1] : INT64_MIN;
    free(sure);
    return 0;
}

static bool is_pinned(const TopSeriesOptions *options, uint32_t label)
{
    for (size_t i = 0; i < options->pin_count; i++)
        if (options->pins[i] == label)
            return true;
    return false;
}

static int choose_candidates(Work *work)
{
    int64_t threshold;
    int r = find_threshold(work, &threshold);
    work->rows = calloc(work->count + work->options->pin_count + 1, sizeof(*work->rows));
    if (r < 0 || !work->rows)
        return -ENOMEM;
    for (size_t i = 0; i < work->options->pin_count; i++)
        if (!bounds_of(work, work->options->pins[i]))
            return -ENOMEM;
    for (size_t i = 0; i < work->count; i++) {
        Bounds *bounds = &work->bounds[i];
        bool pinned = is_pinned(work->options, bounds->label);
        if (!pinned && highest(bounds->high, BUCKETS) < threshold)
            continue;
        bounds->row = (uint32_t)work->row_count;
        bounds->stamp = 0;
        work->rows[work->row_count++] = (TopSeriesRow){.label = bounds->label, .pinned = pinned};
    }
    work->storage = calloc(work->row_count * work->timeline->count + 1, sizeof(*work->storage));
    for (size_t i = 0; work->storage && i < work->row_count; i++)
        work->rows[i].values = work->storage + i * work->timeline->count;
    return work->storage ? 0 : -ENOMEM;
}

/* ---- series --------------------------------------------------------------------------------- */

static bool has_candidate(const Work *work, const StackChanges *s)
{
    for (size_t i = 0; i < s->depth; i++) {
        uint32_t number = work->number[s->path[i]];
        if (number != NONE && work->bounds[number].row != NONE)
            return true;
    }
    return false;
}

static void add_series(Work *work, uint32_t stack)
{
    StackChanges s;
    stack_path(work, stack, &s);
    if (!has_candidate(work, &s) || !stack_changes(work, stack, &s))
        return;
    for (size_t k = 0; k < s.depth; k++) {
        Bounds *bounds = &work->bounds[work->number[s.path[k]]];
        if (bounds->row == NONE || bounds->stamp == stack + 1)
            continue;
        bounds->stamp = stack + 1;
        int64_t *values = work->rows[bounds->row].values;
        values[0] = wrap_add(values[0], s.before);
        for (size_t i = 0; i < s.count; i++) {
            size_t at = column_of(work, &s.changes[i]);
            values[at] = wrap_add(values[at], s.changes[i].delta);
        }
    }
}

static void run_up(int64_t *values, size_t count)
{
    for (size_t i = 1; i < count; i++)
        values[i] = wrap_add(values[i], values[i - 1]);
}

static int compare_rows(const void *a, const void *b, void *context)
{
    const TopSeriesRow *x = a, *y = b;
    size_t count = *(const size_t *)context;
    int64_t p = highest(x->values, count), q = highest(y->values, count);
    return p != q ? (p > q ? -1 : 1) : x->label < y->label ? -1 : x->label > y->label;
}

/* Sorts, and keeps the top ones and the pins. */
static void rank(Work *work)
{
    size_t columns = work->timeline->count, kept = 0;
    run_up(work->total, columns);
    for (size_t i = 0; i < work->row_count; i++)
        run_up(work->rows[i].values, columns);
    qsort_r(work->rows, work->row_count, sizeof(*work->rows), compare_rows, &columns);
    for (size_t i = 0; i < work->row_count; i++)
        if (i < work->options->top || work->rows[i].pinned)
            work->rows[kept++] = work->rows[i];
    work->row_count = kept;
}

/* ---- interface ------------------------------------------------------------------------------ */

static int prepare(Work *work)
{
    const Timeline *timeline = work->timeline;
    size_t span = timeline->end - timeline->first, label_count = labels_count(work->labels);
    work->room = malloc((span + 1) * sizeof(*work->room));
    work->column = malloc((span + 1) * sizeof(*work->column));
    work->number = malloc((label_count + 1) * sizeof(*work->number));
    work->total = calloc(timeline->count + 1, sizeof(*work->total));
    if (!work->room || !work->column || !work->number || !work->total)
        return -ENOMEM;
    memset(work->number, 0xff, label_count * sizeof(*work->number));
    for (size_t i = 0, column = 0; i < span; i++) {
        while (timeline->columns[column] < timeline->first + i)
            column++;
        work->column[i] = (uint32_t)column;
    }
    return 0;
}

int top_series_make(const Profile *profile, const Labels *labels, const Timeline *timeline,
                    const TopSeriesOptions *options, TopSeries *ret_series)
{
    Work work = {.profile = profile, .labels = labels, .timeline = timeline, .options = options};
    int r = prepare(&work);
    for (uint32_t i = 0; r == 0 && i < profile_stack_count(profile); i++)
        r = add_bounds(&work, i);
    if (r == 0)
        r = choose_candidates(&work);
    for (uint32_t i = 0; r == 0 && i < profile_stack_count(profile); i++)
        add_series(&work, i);
    if (r == 0) {
        rank(&work);
        *ret_series = (TopSeries){work.rows, work.row_count, work.total, work.storage};
        work.rows = NULL;
        work.total = work.storage = NULL;
    }
    work_done(&work);
    return r;
}

void top_series_done(TopSeries *series)
{
    free(series->rows);
    free(series->total);
    free(series->storage);
    *series = (TopSeries){0};
}
