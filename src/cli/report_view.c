// SPDX-License-Identifier: Apache-2.0
/*
 * From options to a view: moments are resolved against the run, and moments outside of it are told
 * rather than shown as nothing. Shared by the one-time report and --follow.
 */
#include "cli/report.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "cli/cli.h"
#include "cli/compare.h"
#include "cli/term.h"
#include "cli/when.h"
#include "export/numbers.h"

#define SHOWN_NS UINT64_C(5000000) /* half of the last of two digits */

/* Whether seconds are given as exactly as reports show them, and no more: 2, 1.53, 0.00121. */
static bool is_rounded(const char *text, uint64_t ns)
{
    static const char digits[] = "0123456789";
    const char *point = strchr(text, '.');
    size_t most = ns < SHOWN_NS * 2 ? 5 : 2;
    return !text[strspn(text, "0123456789.s")] && (!point || strspn(point + 1, digits) <= most);
}

/* Reports show times to two digits, from a minute on to the second. One that is typed in again
 * means the snapshot it was shown for, though that may lie a little later; so does "2" when the
 * tick at 2 s came at 2.0007 s. */
static uint64_t as_shown(const Session *session, const char *text, uint64_t time_ns)
{
    const Profile *profile = session->profile;
    char asked[NUMBER_BYTES], shown[NUMBER_BYTES];
    uint64_t first_ns = profile_first_ns(profile);
    int64_t before = profile_snapshot_at(profile, time_ns);
    size_t next = (size_t)(before + 1);
    if (time_ns < first_ns || !is_rounded(text, time_ns - first_ns) ||
        next >= profile_snapshot_count(profile) ||
        (before >= 0 && profile_snapshot(profile, (size_t)before)->time_ns == time_ns))
        return time_ns;
    uint64_t next_ns = profile_snapshot(profile, next)->time_ns;
    if (next_ns - time_ns > SHOWN_NS && strchr(text, '.'))
        return time_ns;
    number_duration(asked, time_ns - first_ns);
    number_duration(shown, next_ns - first_ns);
    return strcmp(asked, shown) == 0 ? next_ns : time_ns;
}

/* A moment of the run; the option is named in problems. One after the end is the end. */
static int resolve(const Session *session, const char *option, const char *text,
                   uint64_t *ret_time_ns)
{
    uint64_t first_ns = profile_first_ns(session->profile);
    uint64_t last_ns = profile_last_ns(session->profile), time_ns;
    char length[NUMBER_BYTES];
    if (when_parse(text, first_ns, &time_ns) < 0)
        return -EINVAL; /* cannot be: the options were checked */
    number_duration(length, last_ns > first_ns ? last_ns - first_ns : 0);
    if (time_ns != TIME_FIRST && time_ns < first_ns) {
        cli_error("report: %s %s: lies before the start of the run: give 0 to %s", option, text,
                  length);
        return -ERANGE;
    }
    if (time_ns != TIME_LAST && time_ns > last_ns) {
        cli_warn("report: %s %s: the profile ends at %s; its end is shown", option, text, length);
        time_ns = TIME_LAST;
    }
    *ret_time_ns =
        time_ns == TIME_FIRST || time_ns == TIME_LAST ? time_ns : as_shown(session, text, time_ns);
    return 0;
}

static int resolve_interval(const Session *session, const ReportOptions *options, ViewOptions *view)
{
    int r = 0;
    view->interval = true;
    view->from_ns = TIME_FIRST;
    view->to_ns = TIME_LAST;
    if (options->from)
        r = resolve(session, "--from", options->from, &view->from_ns);
    if (view->from_ns ==
        TIME_LAST) /* later than the profile: nothing since then, said so already */
        view->from_ns = profile_last_ns(session->profile);
    if (r == 0 && options->to)
        r = resolve(session, "--to", options->to, &view->to_ns);
    if (r == 0 && view->from_ns > view->to_ns) {
        cli_error("report: --from %s: lies after --to %s: exchange them",
                  options->from ? options->from : "start", options->to ? options->to : "end");
        r = -ERANGE;
    }
    return r;
}

/* Figures that only grow are asked for as of the end; what was live, at its peak. */
static const char *default_moment(Metric metric)
{
    bool grows =
        metric == METRIC_TOTAL_BYTES || metric == METRIC_TOTAL_COUNT || metric == METRIC_TEMPORARY;
    return grows ? "end" : "peak";
}

static int resolve_moment(const Session *session, const ReportOptions *options, ViewOptions *view)
{
    const char *at = options->at ? options->at : default_moment(options->metric);
    if (options->from || options->to)
        return resolve_interval(session, options, view);
    if (strcmp(at, "peak") == 0) {
        view->at_ns = VIEW_AT_PEAK;
        return 0;
    }
    return resolve(session, "--at", at, &view->at_ns);
}

static int explain(const Session *session, const ReportOptions *options, int code)
{
    char why[256];
    if (code == -EINVAL && options->filter) {
        view_filter_error(options->filter, why, sizeof(why));
        cli_error("report: --filter %s: %s", options->filter, why);
    } else if (code == -ETIME && options->filter) { /* of one match: reports have all the time */
        cli_error("report: --filter %s: takes too many steps on one of the names: give a simpler "
                  "expression",
                  options->filter);
    } else if (code == -ENOENT) {
        cli_error("%s: holds no snapshot: the program ended or was killed before the first",
                  profile_path(session->profile));
    } else {
        cli_error("%s: %s", profile_path(session->profile), cli_strerror(code));
    }
    return code;
}

/* Options that FORMAT has no place for; said, not refused: the rest of the wish is met. */
static void warn_without_effect(const ReportOptions *options)
{
    const char *format = options->exporter->name;
    const struct {
        const char *option, *formats;
        bool given;
    } rows[] = {
        {"--at", "heaptrack", options->at != NULL},
        {"--metric", "heaptrack", options->metric_given},
        {"--top", "html pprof speedscope heaptrack", options->top != 0},
        {"--inverted", "json pprof speedscope heaptrack", options->inverted},
        {"--collapse-recursion", "json pprof speedscope heaptrack", options->collapse},
        {"--full", "json folded html pprof speedscope heaptrack", options->full},
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (rows[i].given && strstr(rows[i].formats, format))
            cli_warn("report: %s: has no effect with --format %s", rows[i].option, format);
}

int report_build_view(const Session *session, const ReportOptions *options, View *ret_view)
{
    ViewOptions view = {
        .symbolizer = session->symbolizer,
        .metric = options->metric,
        .filter = options->filter,
        .inverted = options->inverted,
        .collapse = options->collapse,
        .full = options->full,
        .color = !options->output && term_has_color(STDOUT_FILENO),
        .ascii = !term_has_utf8(),
        .width = options->output ? 0 : term_width(STDOUT_FILENO),
        .top = options->top,
        .granularity = options->granularity,
    };
    int r = 0;
    warn_without_effect(options);
    if (options->window) {
        view.window = compare_find_window("report", session, options->window);
        view.at_ns = TIME_LAST;
        r = view.window ? 0 : -ENOENT;
    } else {
        r = resolve_moment(session, options, &view);
    }
    if (r < 0)
        return r;
    r = view_build(session->profile, session->labels, &view, ret_view);
    return r < 0 ? explain(session, options, r) : 0;
}
