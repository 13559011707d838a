// SPDX-License-Identifier: Apache-2.0
/*
 * Makes a View: values per stack from the profile, filter by regular expression, sort by metric.
 * The expression is run once per label, not per frame of each stack; then each stack is a walk over
 * a bit per label. No state; a View belongs to one thread, like the Profile it reads.
 */
#include "export/view.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/filter.h"
#include "profile/window_stats.h"

static bool values_are_zero(const Values *values)
{
    for (size_t m = 0; m < METRIC_MAX; m++)
        if (values->v[m] != 0)
            return false;
    return true;
}

static int stack_compare(const void *a, const void *b, void *context)
{
    const ViewStack *x = a, *y = b;
    Metric metric = *(const Metric *)context;
    int64_t p = x->values.v[metric] + x->removed.v[metric];
    int64_t q = y->values.v[metric] + y->removed.v[metric];
    return p != q ? (p > q ? -1 : 1) : x->stack < y->stack ? -1 : x->stack > y->stack;
}

void view_sort(View *view)
{
    size_t kept = 0;
    view->total = view->total_removed = (Values){0};
    for (size_t i = 0; i < view->stack_count; i++) {
        ViewStack *s = &view->stacks[i];
        if (values_are_zero(&s->values) && values_are_zero(&s->removed))
            continue;
        for (size_t m = 0; m < METRIC_MAX; m++) {
            view->total.v[m] += s->values.v[m];
            view->total_removed.v[m] += s->removed.v[m];
        }
        view->stacks[kept++] = *s;
    }
    view->stack_count = kept;
    qsort_r(view->stacks, kept, sizeof(*view->stacks), stack_compare, &view->metric);
}

/* Labels of one module often follow one another: its path is tried once for them. */
typedef struct Matcher {
    Filter *filter;
    const char *module;
    int module_matches;
} Matcher;

static int matcher_try(Matcher *matcher, const Label *label)
{
    if (label->module != matcher->module) {
        int r = label->module ? filter_match(matcher->filter, label->module) : 0;
        if (r < 0)
            return r;
        matcher->module = label->module;
        matcher->module_matches = r;
    }
    return matcher->module_matches ? 1 : filter_match(matcher->filter, label->function);
}

int view_filter_labels(const Labels *labels, const char *filter, uint64_t limit_ns,
                       bool **ret_matches)
{
    Matcher matcher = {0};
    int r = filter_new(filter, limit_ns, NULL, 0, &matcher.filter);
    if (r < 0)
        return r;
    size_t count = labels_count(labels);
    bool *matches = calloc(count + 1, sizeof(*matches));
    if (!matches)
        r = -ENOMEM;
    for (size_t i = 0; r >= 0 && i < count; i++) {
        r = matcher_try(&matcher, labels_get(labels, (uint32_t)i));
        matches[i] = r > 0;
    }
    filter_free(matcher.filter);
    if (r < 0) {
        free(matches);
        return r;
    }
    *ret_matches = matches;
    return 0;
}

static bool stack_matches(const Labels *labels, uint32_t stack, const bool *matches)
{
    const uint32_t *path;
    size_t depth = labels_path(labels, stack, &path);
    for (size_t i = 0; i < depth; i++)
        if (matches[path[i]])
            return true;
    return false;
}

static int moment_choose(const Profile *profile, const ViewOptions *options, View *view)
{
    uint64_t first = profile_first_ns(profile), last = profile_last_ns(profile), bytes;
    if (profile_snapshot_count(profile) == 0)
        return -ENOENT;
    view->at_ns = options->interval ? options->to_ns : options->at_ns;
    if (options->at_ns == VIEW_AT_PEAK && !options->interval) {
        view->at_peak = true;
        return profile_peak_between(profile, TIME_FIRST, TIME_LAST, &view->at_ns, &bytes);
    }
    if (view->at_ns == TIME_LAST || view->at_ns > last)
        view->at_ns = last;
    if (view->at_ns == TIME_FIRST)
        view->at_ns = first;
    view->from_ns = options->from_ns == TIME_FIRST ? first : options->from_ns;
    return 0;
}

static int stacks_fill(const ViewOptions *options, size_t count, View *view)
{
    Values *added = calloc(count + 1, sizeof(*added));
    Values *removed = options->interval ? calloc(count + 1, sizeof(*removed)) : NULL;
    view->stacks = calloc(count + 1, sizeof(*view->stacks));
    int r = -ENOMEM;
    if (added && view->stacks && (removed || !options->interval))
        r = options->interval
                ? profile_between(view->profile, options->from_ns, options->to_ns, added, removed)
                : profile_state(view->profile, view->at_ns, added);
    for (size_t i = 0; r >= 0 && i < count; i++) {
        view->stacks[i] = (ViewStack){.stack = (uint32_t)i, .values = added[i]};
        if (removed)
            view->stacks[i].removed = removed[i];
    }
    view->stack_count = count;
    free(added);
    free(removed);
    return r < 0 ? r : 0;
}

static int window_fill(const ProfileWindow *window, size_t count, View *view)
{
    WindowStats *stats = calloc(count + 1, sizeof(*stats));
    view->stacks = calloc(count + 1, sizeof(*view->stacks));
    int r = stats && view->stacks ? window_stats(window, NULL, count, count, stats) : -ENOMEM;
    for (size_t i = 0; r >= 0 && i < count; i++) {
        const int64_t *total = stats[i].total.v;
        view->stacks[i] =
            (ViewStack){.stack = (uint32_t)i,
                        .values = {.v = {[METRIC_LIVE_BYTES] = total[WINDOW_LIVE_BYTES],
                                         [METRIC_LIVE_COUNT] = total[WINDOW_LIVE_COUNT],
                                         [METRIC_TOTAL_BYTES] = total[WINDOW_BYTES],
                                         [METRIC_TOTAL_COUNT] = total[WINDOW_ALLOCATIONS],
                                         [METRIC_TEMPORARY] = total[WINDOW_TEMPORARY]}}};
    }
    view->stack_count = count;
    free(stats);
    return r;
}

static int stacks_filter(View *view, uint64_t limit_ns)
{
    bool *matches;
    int r = view_filter_labels(view->labels, view->filter, limit_ns, &matches);
    if (r < 0)
        return r;
    size_t kept = 0;
    for (size_t i = 0; i < view->stack_count; i++)
        if (stack_matches(view->labels, view->stacks[i].stack, matches))
            view->stacks[kept++] = view->stacks[i];
    view->stack_count = kept;
    free(matches);
    return 0;
}

int view_build(const Profile *profile, const Labels *labels, const ViewOptions *options,
               View *ret_view)
{
    View view = {.profile = profile,
                 .labels = labels,
                 .symbolizer = options->symbolizer,
                 .metric = options->metric,
                 .interval = options->interval,
                 .inverted = options->inverted,
                 .collapse = options->collapse,
                 .color = options->color,
                 .ascii = options->ascii,
                 .full = options->full,
                 .width = options->width ? options->width : 80,
                 .top = options->top,
                 .granularity = options->granularity,
                 .filter = options->filter,
                 .window = options->window,
                 .title = options->title};
    int r = moment_choose(profile, options, &view);
    if (r >= 0)
        r = options->window ? window_fill(options->window, profile_stack_count(profile), &view)
                            : stacks_fill(options, profile_stack_count(profile), &view);
    if (r >= 0 && view.filter)
        r = stacks_filter(&view, options->filter_limit_ns);
    if (r < 0) {
        view_done(&view);
        return r;
    }
    view_sort(&view);
    *ret_view = view;
    return 0;
}

void view_done(View *view)
{
    free(view->stacks);
    view->stacks = NULL;
    view->stack_count = 0;
}

void view_filter_error(const char *filter, char *ret_message, size_t capacity)
{
    Filter *compiled = NULL;
    if (filter_new(filter, 0, ret_message, capacity, &compiled) == -ENOMEM)
        snprintf(ret_message, capacity, "%s", strerror(ENOMEM));
    filter_free(compiled);
}
