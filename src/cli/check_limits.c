// SPDX-License-Identifier: Apache-2.0
/*
 * Limits of a budget against one profile. Figures of a window are those of its worst iteration,
 * each figure for itself; the stacks at fault are the rows of the shape that has it. Figures of the
 * whole run are those of its last snapshot and its peak. A profile that lost something, or whose
 * run did not end, cannot pass a limit: then the verdict is "unknown"; it can fail one. One thread.
 */
#include "cli/check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/alloc_site.h"

typedef struct Ranked {
    uint32_t stack;
    int64_t value;
} Ranked;

static WindowFigure figure_of(BudgetLimit limit)
{
    static const WindowFigure figures[BUDGET_LIMITS] = {
        [BUDGET_ALLOCATIONS] = WINDOW_ALLOCATIONS,
        [BUDGET_BYTES] = WINDOW_BYTES,
        [BUDGET_PEAK] = WINDOW_BYTES, /* for the stacks; the peak itself has none */
        [BUDGET_LIVE_AT_END] = WINDOW_LIVE_BYTES,
        [BUDGET_TEMPORARY] = WINDOW_TEMPORARY,
    };
    return figures[limit];
}

static Metric metric_of(BudgetLimit limit)
{
    static const Metric metrics[BUDGET_LIMITS] = {
        [BUDGET_ALLOCATIONS] = METRIC_TOTAL_COUNT, [BUDGET_BYTES] = METRIC_TOTAL_BYTES,
        [BUDGET_PEAK] = METRIC_LIVE_BYTES,         [BUDGET_LIVE_AT_END] = METRIC_LIVE_BYTES,
        [BUDGET_TEMPORARY] = METRIC_TEMPORARY,
    };
    return metrics[limit];
}

const char *check_doubt(const Session *session, const ProfileWindow *window)
{
    const Profile *profile = session->profile;
    const ProfileLosses *losses = profile_losses(profile);
    const char *warning = profile_process(profile)->warning;
    if (profile_damage(profile))
        return "the profile is damaged";
    if (losses->write_failed > 0)
        return "the profile was not written in full";
    if (losses->stack_table_full > 0)
        return "the recorder ran out of room for stacks";
    if (losses->reentrant_skipped > 0)
        return "the recorder could not count all calls";
    if (losses->live_map_full > 0)
        return "the recorder could not follow all blocks";
    if (warning && *warning)
        return warning; /* it saw nothing of another malloc, say */
    if (window)
        return losses->windows_dropped > 0 ? "the recorder dropped windows" : NULL;
    return profile_is_ended(profile) ? NULL : "the run has not ended, or was killed";
}

/* ---- stacks at fault
 * ------------------------------------------------------------------------------ */

static int copy_frame(const SymbolFrame *symbol, const Label *label, CheckFrame *ret_frame)
{
    CheckFrame frame = {.function = strdup(label->function)};
    if (!frame.function)
        return -ENOMEM;
    if (symbol && symbol->file && !(frame.file = strdup(symbol->file))) {
        free(frame.function);
        return -ENOMEM;
    }
    frame.line = frame.file ? symbol->line : 0;
    *ret_frame = frame;
    return 0;
}

int check_copy_stack(const Session *session, uint32_t stack, CheckStack *to)
{
    const ProfileStack *frames = profile_stack(session->profile, stack);
    const uint32_t *path;
    size_t depth = labels_path(session->labels, stack, &path);
    size_t skip = alloc_site_skip(session->labels, path, depth), at = 0;
    to->depth = depth - skip;
    to->truncated = (frames->flags & (STACK_DEPTH_CUT | STACK_ENDED_EARLY)) != 0;
    for (size_t i = 0; i < frames->depth; i++) {
        const SymbolFrame *symbols;
        int n = symbol_resolve(session->symbolizer, session->profile, frames->frames[i], &symbols);
        for (int s = 0; s < n && at < depth; s++, at++) {
            if (at < skip || to->frame_count == CHECK_FRAMES_MAX)
                continue;
            int r = copy_frame(&symbols[s], labels_get(session->labels, path[at]),
                               &to->frames[to->frame_count]);
            if (r < 0)
                return r;
            to->frame_count++;
        }
    }
    return 0;
}

static int compare_ranked(const void *a, const void *b)
{
    const Ranked *x = a, *y = b;
    if (x->value != y->value)
        return x->value > y->value ? -1 : 1;
    return x->stack < y->stack ? -1 : x->stack > y->stack;
}

static int add_ranked(const Session *session, Ranked *ranked, size_t count, CheckResult *result)
{
    qsort(ranked, count, sizeof *ranked, compare_ranked);
    for (size_t i = 0; i < count && i < CHECK_STACKS_MAX && ranked[i].value > 0; i++) {
        CheckStack *stack = &result->stacks[result->stack_count++];
        stack->value = ranked[i].value;
        int r = check_copy_stack(session, ranked[i].stack, stack);
        if (r < 0)
            return r;
    }
    return 0;
}

/* The figure of one shape, all stacks together. */
static int64_t shape_figure(const ProfileWindowShape *shape, BudgetLimit limit)
{
    if (limit == BUDGET_PEAK)
        return (int64_t)shape->max_peak_bytes;
    ProfileWindowShape once = *shape;
    once.iterations = 1;
    WindowStats stats;
    ProfileWindow window = {.shapes = &once, .shape_count = 1, .iterations = 1};
    return window_stats_all(&window, &stats) < 0 ? 0 : stats.max.v[figure_of(limit)];
}

static const ProfileWindowShape *worst_shape(const ProfileWindow *window, BudgetLimit limit)
{
    const ProfileWindowShape *worst = NULL;
    int64_t most = 0;
    for (size_t i = 0; i < window->shape_count; i++) {
        if (window->shapes[i].iterations == 0)
            continue;
        int64_t figure = shape_figure(&window->shapes[i], limit);
        if (!worst || figure > most) {
            worst = &window->shapes[i];
            most = figure;
        }
    }
    return worst;
}

static int blame_window(const Session *session, const ProfileWindow *window, CheckResult *result)
{
    const ProfileWindowShape *worst = worst_shape(window, result->limit);
    size_t stack_count = profile_stack_count(session->profile);
    ProfileWindowShape once = *worst;
    ProfileWindow one = {.shapes = &once, .shape_count = 1, .iterations = 1};
    once.iterations = 1;
    WindowStats *stats = calloc(stack_count + 1, sizeof *stats);
    Ranked *ranked = calloc(stack_count + 1, sizeof *ranked);
    int r = stats && ranked ? window_stats(&one, NULL, stack_count, stack_count, stats) : -ENOMEM;
    for (uint32_t i = 0; r == 0 && i < stack_count; i++)
        ranked[i] = (Ranked){i, stats[i].max.v[figure_of(result->limit)]};
    if (r == 0)
        r = add_ranked(session, ranked, stack_count, result);
    if (worst->iterations < window->iterations)
        snprintf(result->why, sizeof result->why, "%llu of %llu iterations are like the worst",
                 (unsigned long long)worst->iterations, (unsigned long long)window->iterations);
    free(stats);
    free(ranked);
    return r;
}

static int blame_run(const Session *session, CheckResult *result)
{
    size_t stack_count = profile_stack_count(session->profile);
    Values *values = calloc(stack_count + 1, sizeof *values);
    Ranked *ranked = calloc(stack_count + 1, sizeof *ranked);
    uint64_t time_ns = TIME_LAST, bytes;
    if (result->limit == BUDGET_PEAK)
        profile_peak_between(session->profile, TIME_FIRST, TIME_LAST, &time_ns, &bytes);
    int r = values && ranked ? profile_state(session->profile, time_ns, values) : -ENOMEM;
    for (uint32_t i = 0; r == 0 && i < stack_count; i++)
        ranked[i] = (Ranked){i, values[i].v[metric_of(result->limit)]};
    if (r == 0)
        r = add_ranked(session, ranked, stack_count, result);
    free(values);
    free(ranked);
    return r;
}

/* ---- figures
 * ----------------------------------------------------------------------------------------- */

static int window_figure(const ProfileWindow *window, CheckResult *result)
{
    WindowStats all;
    WindowPeaks peaks;
    int r = window_stats_all(window, &all);
    r = r < 0 ? r : window_peaks(window, &peaks);
    if (r < 0)
        return r;
    result->figure = result->limit == BUDGET_PEAK ? (int64_t)peaks.max_bytes
                                                  : all.max.v[figure_of(result->limit)];
    result->has_figure = true;
    return 0;
}

static void run_figure(const Profile *profile, CheckResult *result)
{
    size_t count = profile_snapshot_count(profile);
    uint64_t time_ns;
    if (count == 0) {
        snprintf(result->why, sizeof result->why, "the profile holds no snapshot");
        return;
    }
    result->figure = result->limit == BUDGET_PEAK
                         ? (int64_t)profile_peak(profile, &time_ns)
                         : profile_snapshot(profile, count - 1)->total.v[metric_of(result->limit)];
    result->has_figure = true;
}

static int judge(const Session *session, const ProfileWindow *window, CheckResult *result)
{
    const char *doubt = check_doubt(session, window);
    if (!result->has_figure) {
        result->verdict = CHECK_UNKNOWN;
        return 0;
    }
    if (result->figure > result->max) {
        result->verdict = CHECK_FAIL;
        return window ? blame_window(session, window, result) : blame_run(session, result);
    }
    result->verdict = doubt ? CHECK_UNKNOWN : CHECK_PASS;
    if (doubt)
        snprintf(result->why, sizeof result->why, "%s", doubt);
    return 0;
}

static int check_limit(const Session *session, const BudgetSection *section, BudgetLimit limit,
                       CheckReport *report)
{
    const ProfileWindow *window = NULL;
    CheckResult *result = check_report_add(report);
    if (!result || (section->window && !(result->window = strdup(section->window))))
        return -ENOMEM;
    result->limit = limit;
    result->max = (int64_t)section->max[limit];
    if (section->window) {
        int r = compare_window_by_name(session->profile, section->window, &window);
        if (r < 0)
            compare_window_problem(session->profile, section->window, r, result->why,
                                   sizeof result->why);
        else if (window->iterations == 0)
            snprintf(result->why, sizeof result->why, "no iteration of it was completed");
        else if (window_figure(window, result) < 0)
            return -ENOMEM;
    } else {
        run_figure(session->profile, result);
    }
    return judge(session, window, result);
}

int check_limits(const Session *session, const Budget *budget, const char *only,
                 CheckReport *report)
{
    for (size_t i = 0; i < budget->section_count; i++) {
        const BudgetSection *section = &budget->sections[i];
        if (only && (!section->window || strcmp(section->window, only) != 0))
            continue;
        for (int limit = 0; limit < BUDGET_LIMITS; limit++) {
            if (!section->is_set[limit])
                continue;
            int r = check_limit(session, section, (BudgetLimit)limit, report);
            if (r < 0)
                return r;
        }
    }
    return 0;
}
