// SPDX-License-Identifier: Apache-2.0
/*
 * One profile against an older one. For each window of the baseline both the median and the worst
 * iteration are compared (the worst where it differs from the median), so that neither a slower
 * common case nor a new rare one hides behind the other; for the whole run the last snapshot and
 * the peak. The stacks at fault are the rows of the diff that grew. A window of the baseline that
 * the profile lacks cannot be told. One thread.
 */
#include "cli/check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static Metric metric_of(BudgetLimit limit, bool window)
{
    static const Metric metrics[BUDGET_LIMITS] = {
        [BUDGET_ALLOCATIONS] = METRIC_TOTAL_COUNT, [BUDGET_BYTES] = METRIC_TOTAL_BYTES,
        [BUDGET_PEAK] = METRIC_LIVE_BYTES,         [BUDGET_LIVE_AT_END] = METRIC_LIVE_BYTES,
        [BUDGET_TEMPORARY] = METRIC_TEMPORARY,
    };
    return limit == BUDGET_PEAK && window ? METRIC_TOTAL_BYTES : metrics[limit];
}

/* ---- stacks at fault
 * ---------------------------------------------------------------------------------- */

static int copy_group(Compare *compare, const DiffRow *row, Metric metric, bool worst,
                      CheckStack *to)
{
    StackDiff *diff = compare_diff(compare);
    const DiffGroup *group = stack_diff_group(diff, DIFF_AFTER, row->group[DIFF_AFTER]);
    uint32_t flags = compare_flags(compare, DIFF_AFTER, row->group[DIFF_AFTER]);
    to->change = row->change;
    to->value = (worst ? group->worst : group->values).v[metric];
    to->depth = group->depth;
    to->truncated = (flags & (STACK_DEPTH_CUT | STACK_ENDED_EARLY)) != 0;
    for (size_t i = 0; i < group->depth && i < CHECK_FRAMES_MAX; i++) {
        CompareSite site = {.place = ""};
        compare_sites(compare, DIFF_AFTER, row->group[DIFF_AFTER], i, metric, &site, 1);
        CheckFrame *frame = &to->frames[i];
        frame->function = strdup(stack_diff_function(diff, group->frames[i]));
        frame->file = site.path ? strdup(site.path) : NULL;
        frame->line = site.path ? (uint32_t)strtoul(strrchr(site.place, ':') + 1, NULL, 10) : 0;
        if (!frame->function || (site.path && !frame->file))
            return -ENOMEM;
        to->frame_count++;
    }
    return 0;
}

static int blame(const CompareSource sources[DIFF_SIDES], CheckResult *result)
{
    Compare *compare;
    const DiffRow *rows;
    DiffSummary summary;
    Metric metric = metric_of(result->limit, sources[0].window != NULL);
    int r = compare_new(sources, &compare);
    if (r < 0)
        return r;
    int changed = stack_diff_run(compare_diff(compare), metric, &rows, &summary);
    r = changed < 0 ? changed : 0;
    /* first what grew in the figure's own statistic, then the rest */
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; r == 0 && i < changed && result->stack_count < CHECK_STACKS_MAX; i++) {
            bool fits = rows[i].worst_only == !result->median;
            if (rows[i].change <= 0 || fits != (pass == 0) ||
                (result->median && rows[i].worst_only))
                continue;
            r = copy_group(compare, &rows[i], metric, rows[i].worst_only,
                           &result->stacks[result->stack_count]);
            result->stack_count++;
        }
    compare_free(compare);
    return r;
}

/* ---- figures
 * --------------------------------------------------------------------------------------------- */

static int64_t allowed(int64_t baseline, double percent)
{
    double more = (double)(baseline < 0 ? -baseline : baseline) * percent / 100;
    return more >= 9e18 ? INT64_MAX : baseline + (int64_t)(more + 1e-9);
}

/* TITLE: of the window, NULL: the whole run. */
static int judge(const CompareSource sources[DIFF_SIDES], const char *title, int64_t before,
                 int64_t after, BudgetLimit limit, bool median, CheckReport *report)
{
    const ProfileWindow *window = sources[DIFF_AFTER].window;
    CheckResult *result = check_report_add(report);
    if (!result || (title && !(result->window = strdup(title))))
        return -ENOMEM;
    result->limit = limit;
    result->median = median;
    result->has_baseline = result->has_figure = true;
    result->baseline = before;
    result->figure = after;
    result->max = allowed(before, report->tolerance_percent);
    if (after > result->max) {
        result->verdict = CHECK_FAIL;
        return blame(sources, result);
    }
    const char *doubt = check_doubt(sources[DIFF_AFTER].session, window);
    const char *old = check_doubt(sources[DIFF_BEFORE].session, sources[DIFF_BEFORE].window);
    if (doubt || old) {
        result->verdict = CHECK_UNKNOWN;
        snprintf(result->why, sizeof result->why, "%s%s",
                 doubt ? "" : "baseline: ", doubt ? doubt : old);
    }
    return 0;
}

typedef struct WindowSums {
    int64_t v[2][BUDGET_LIMITS]; /* worst, median */
} WindowSums;

static int sum_window(const ProfileWindow *window, WindowSums *ret_sums)
{
    WindowStats all;
    WindowPeaks peaks;
    int r = window_stats_all(window, &all);
    r = r < 0 ? r : window_peaks(window, &peaks);
    if (r < 0)
        return r;
    for (int median = 0; median < 2; median++) {
        const WindowFigures *f = median ? &all.median : &all.max;
        int64_t *v = ret_sums->v[median];
        v[BUDGET_ALLOCATIONS] = f->v[WINDOW_ALLOCATIONS];
        v[BUDGET_BYTES] = f->v[WINDOW_BYTES];
        v[BUDGET_TEMPORARY] = f->v[WINDOW_TEMPORARY];
        v[BUDGET_LIVE_AT_END] = f->v[WINDOW_LIVE_BYTES];
        v[BUDGET_PEAK] = (int64_t)(median ? peaks.median_bytes : peaks.max_bytes);
    }
    return 0;
}

static int add_unknown(const char *window, const char *why, CheckReport *report)
{
    CheckResult *result = check_report_add(report);
    if (!result || (window && !(result->window = strdup(window))))
        return -ENOMEM;
    result->verdict = CHECK_UNKNOWN;
    result->has_baseline = true;
    snprintf(result->why, sizeof result->why, "%s", why);
    return 0;
}

/* The window of that name and scope; NULL: none. */
static const ProfileWindow *find_same(const Profile *profile, const ProfileWindow *old,
                                      size_t *ret_index)
{
    for (size_t i = 0; i < profile_window_count(profile); i++) {
        const ProfileWindow *window = profile_window(profile, i);
        if (window->process_scope == old->process_scope && strcmp(window->name, old->name) == 0) {
            *ret_index = i;
            return window;
        }
    }
    return NULL;
}

/* TITLES: of the windows of SESSION. */
static int check_window(const Session *baseline, const ProfileWindow *old, const Session *session,
                        char *const *titles, CheckReport *report)
{
    size_t index = 0;
    const ProfileWindow *window = find_same(session->profile, old, &index);
    WindowSums before, after;
    if (!window || window->iterations == 0 || old->iterations == 0)
        return add_unknown(old->name,
                           !window ? "the profile has no such window"
                           : window->iterations == 0
                               ? "no iteration of it was completed"
                               : "no iteration of it was completed in the baseline",
                           report);
    CompareSource sources[DIFF_SIDES] = {{.session = baseline, .window = old},
                                         {.session = session, .window = window}};
    int r = sum_window(old, &before);
    r = r < 0 ? r : sum_window(window, &after);
    for (int limit = 0; limit < BUDGET_LIMITS; limit++)
        for (int median = 1; r == 0 && median >= 0; median--) {
            bool says_the_same =
                before.v[0][limit] == before.v[1][limit] && after.v[0][limit] == after.v[1][limit];
            if (median || !says_the_same)
                r = judge(sources, titles[index], before.v[median][limit], after.v[median][limit],
                          (BudgetLimit)limit, median, report);
        }
    return r;
}

static int64_t run_figure(const Profile *profile, BudgetLimit limit, uint64_t *ret_time_ns)
{
    size_t count = profile_snapshot_count(profile);
    uint64_t bytes;
    *ret_time_ns = TIME_LAST;
    if (limit == BUDGET_PEAK) {
        profile_peak_between(profile, TIME_FIRST, TIME_LAST, ret_time_ns, &bytes);
        return (int64_t)profile_peak(profile, &(uint64_t){0});
    }
    return profile_snapshot(profile, count - 1)->total.v[metric_of(limit, false)];
}

static int check_run(const Session *baseline, const Session *session, CheckReport *report)
{
    int r = 0;
    if (profile_snapshot_count(baseline->profile) == 0 ||
        profile_snapshot_count(session->profile) == 0)
        return add_unknown(NULL, "one of the profiles holds no snapshot", report);
    for (int limit = 0; r == 0 && limit < BUDGET_LIMITS; limit++) {
        CompareSource sources[DIFF_SIDES] = {{.session = baseline}, {.session = session}};
        int64_t before =
            run_figure(baseline->profile, (BudgetLimit)limit, &sources[DIFF_BEFORE].at_ns);
        int64_t after =
            run_figure(session->profile, (BudgetLimit)limit, &sources[DIFF_AFTER].at_ns);
        r = judge(sources, NULL, before, after, (BudgetLimit)limit, false, report);
    }
    return r;
}

static int check_windows(const Session *baseline, const Session *session, const char *only,
                         CheckReport *report)
{
    char **titles = profile_window_titles(session->profile);
    const ProfileWindow *window;
    int r = titles ? 0 : -ENOMEM;
    if (r == 0 && only)
        r = compare_window_by_name(baseline->profile, only, &window) == 0
                ? check_window(baseline, window, session, titles, report)
                : add_unknown(only, "the baseline has no such window", report);
    for (size_t i = 0; r == 0 && !only && i < profile_window_count(baseline->profile); i++)
        r = check_window(baseline, profile_window(baseline->profile, i), session, titles, report);
    profile_window_titles_free(session->profile, titles);
    return r;
}

int check_baseline(const Session *baseline, const Session *session, const char *only,
                   CheckReport *report)
{
    if (!only && profile_window_count(baseline->profile) == 0)
        return check_run(baseline, session, report);
    return check_windows(baseline, session, only, report);
}
