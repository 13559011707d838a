// SPDX-License-Identifier: Apache-2.0
/*
 * `memhawk diff`: which stacks allocate more, less, newly or no longer. Two files, the same window
 * in both, or two moments of one file. Reading and pairing is in compare.c and
 * profile/stack_diff.c, writing in diff_text.c, diff_json.c and diff_graph.c; here are the options
 * and what belongs together. Exit status: 0 compared (changed or not), 1 could not, 2 wrong
 * options.
 */
#include "cli/diff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/compare_args.h"
#include "cli/term.h"
#include "cli/when.h"

#define METRICS                                                                                    \
    "total-count (count), total-bytes (bytes), temporary, live-bytes, live-count, overhead"

static const char *const formats[] = {"text", "json", "html", "folded", NULL};
static int (*const writers[])(const DiffView *view, FILE *out) = {
    diff_write_text, diff_write_json, diff_write_html, diff_write_folded};

typedef struct DiffOptions {
    const char *path[DIFF_SIDES];
    const char *at, *from, *to;
    int metric; /* -1: not given */
    size_t top;
    bool full;
    CompareArgs common;
} DiffOptions;

enum { KEY_AT = 256, KEY_FROM, KEY_TO, KEY_FULL, TOP_MAX = 1000000 };

static const struct argp_option diff_options[] = {
    {NULL, 0, NULL, 0, "What is compared:", 1},
    {"window", 'w', "NAME", 0, "The window NAME of both, per iteration", 1},
    {"metric", 'm', "METRIC", 0,
     "One of " METRICS " (default: total-count; for two moments of one file: live-bytes)", 1},
    {"at", KEY_AT, "peak|end|TIME", 0,
     "The state at this moment in both (default: end; for live-bytes, live-count and overhead: "
     "peak)",
     1},
    {"from", KEY_FROM, "TIME", 0, "One file: the moment before (default: start)", 1},
    {"to", KEY_TO, "TIME", 0, "One file: the moment after (default: end)", 1},
    {NULL, 0, NULL, 0, "How it is shown:", 2},
    {"top", 'n', "N", 0, "Text: show the N largest changes (default: 20)", 2},
    {"full", KEY_FULL, NULL, 0, "Text: do not cut long paths", 2},
    {"format", 'f', "FORMAT", 0, "One of text, json, html, folded (default: text)", 2},
    {"output", 'o', "OUT", 0, "Write to the file OUT, replacing it", 2},
    SYMBOL_ARG_OPTIONS(3),
    {0},
};

static error_t parse_metric(const char *text, DiffOptions *options)
{
    Metric metric;
    if (strcmp(text, "count") == 0)
        text = "total-count";
    else if (strcmp(text, "bytes") == 0)
        text = "total-bytes";
    if (metric_find(text, &metric) < 0) {
        cli_error("diff: --metric %s: no such metric: give one of " METRICS, text);
        return EINVAL;
    }
    options->metric = (int)metric;
    return 0;
}

static error_t parse_moment(const char *option, const char *text, const char **ret_moment)
{
    bool is_at = strcmp(option, "--at") == 0;
    *ret_moment = text;
    if (when_check(text) == 0 || (is_at && strcmp(text, "peak") == 0))
        return 0;
    cli_error("diff: %s %s: no moment: give %sseconds since the start, or RFC 3339 as in "
              "2026-01-31T12:00:00Z",
              option, text, is_at ? "peak, end, " : "");
    return EINVAL;
}

static error_t parse_top(const char *text, size_t *ret_top)
{
    char *end;
    long value = strtol(text, &end, 10);
    if (end == text || *end || value < 1 || value > TOP_MAX) {
        cli_error("diff: --top %s: give a whole number from 1 to %d", text, TOP_MAX);
        return EINVAL;
    }
    *ret_top = (size_t)value;
    return 0;
}

static error_t take_file(const char *path, DiffOptions *options)
{
    for (int s = 0; s < DIFF_SIDES; s++)
        if (!options->path[s]) {
            options->path[s] = path;
            return 0;
        }
    cli_error("diff: %s: a third file: diff compares two", path);
    return EINVAL;
}

static error_t check_together(const DiffOptions *options)
{
    bool one = !options->path[DIFF_AFTER], moments = options->from || options->to;
    if (!options->path[DIFF_BEFORE])
        cli_error("diff: no profiles: name two, as in 'memhawk diff before.binpb after.binpb'");
    else if (one && !moments)
        cli_error("diff: one file: name a second, or two moments with --from and --to");
    else if (!one && moments)
        cli_error("diff: --from and --to: are for two moments of one file: give --at for two");
    else if (one && options->at)
        cli_error("diff: --at: does not go with --from and --to: leave it out");
    else if (options->common.window && (one || options->at))
        cli_error("diff: --window: has no moment, its iterations are compared: leave out %s",
                  one ? "--from and --to, name two files" : "--at");
    else if (options->common.window && options->metric == METRIC_OVERHEAD)
        cli_error("diff: --metric overhead: is not recorded for windows: give another");
    else
        return 0;
    return EINVAL;
}

static error_t parse_diff(int key, char *argument, struct argp_state *state)
{
    DiffOptions *options = state->input;
    switch (key) {
    case 'm':
        return parse_metric(argument, options);
    case KEY_AT:
        return parse_moment("--at", argument, &options->at);
    case KEY_FROM:
        return parse_moment("--from", argument, &options->from);
    case KEY_TO:
        return parse_moment("--to", argument, &options->to);
    case 'n':
        return parse_top(argument, &options->top);
    case KEY_FULL:
        options->full = true;
        return 0;
    case ARGP_KEY_ARG:
        return take_file(argument, options);
    case ARGP_KEY_END:
        return check_together(options);
    }
    return compare_args_parse(key, argument, &options->common);
}

static const struct argp diff_argp = {
    diff_options,
    parse_diff,
    "BEFORE AFTER\nFILE --from TIME --to TIME",
    "Shows which call stacks allocate more, less, newly or no longer.\v"
    "Stacks are paired by the names of their functions and modules, not by addresses or lines: "
    "equal paths first, then those with the longest common part.",
    NULL,
    NULL,
    NULL,
};

/* ---- what stands on each side
 * --------------------------------------------------------------------- */

static bool is_live(Metric metric)
{
    return metric == METRIC_LIVE_BYTES || metric == METRIC_LIVE_COUNT || metric == METRIC_OVERHEAD;
}

static Metric metric_of(const DiffOptions *options)
{
    if (options->metric >= 0)
        return (Metric)options->metric;
    return options->path[DIFF_AFTER] ? METRIC_TOTAL_COUNT : METRIC_LIVE_BYTES;
}

/* The moment that the options mean on a side, and its name for headings. */
static int resolve_moment(const DiffOptions *options, const Session *session, DiffSide side,
                          CompareSource *source, const char **ret_name)
{
    const char *text = options->at;
    const Profile *profile = session->profile;
    if (!options->path[DIFF_AFTER])
        text = side == DIFF_BEFORE ? options->from ? options->from : "start"
               : options->to       ? options->to
                                   : "end";
    else if (!text)
        text = is_live(metric_of(options)) ? "peak" : "end";
    *ret_name = text;
    if (strcmp(text, "peak") != 0)
        return when_parse(text, profile_first_ns(profile), &source->at_ns);
    uint64_t bytes;
    int r = profile_peak_between(profile, TIME_FIRST, TIME_LAST, &source->at_ns, &bytes);
    if (r == -ENOENT)
        cli_error("%s: holds no snapshot: the program ended or was killed before the first",
                  profile_path(profile));
    return r;
}

static int fill_source(const DiffOptions *options, const Session *session, DiffSide side,
                       CompareSource *ret_source, char **ret_title)
{
    CompareSource source = {.session = session};
    const char *moment = NULL, *path = profile_path(session->profile);
    if (options->common.window) {
        source.window = compare_find_window("diff", session, options->common.window);
        if (!source.window)
            return -ENOENT;
    } else {
        int r = resolve_moment(options, session, side, &source, &moment);
        if (r < 0)
            return r;
    }
    if (asprintf(ret_title, "%s%s%s", path, moment ? ", " : "", moment ? moment : "") < 0) {
        *ret_title = NULL;
        return -ENOMEM;
    }
    *ret_source = source;
    return 0;
}

static int write_diff(const DiffOptions *options, const DiffView *view)
{
    OutFile out;
    int r = out_file_open(options->common.output, &out);
    if (r < 0)
        return r;
    r = writers[options->common.format](view, out.stream);
    return compare_args_close(&options->common, &out, r);
}

static int show(const DiffOptions *options, const CompareSource sources[DIFF_SIDES],
                char *const titles[DIFF_SIDES])
{
    DiffView view = {.metric = metric_of(options),
                     .title = {titles[0], titles[1]},
                     .top = options->top,
                     .full = options->full,
                     .color = !options->common.output && term_has_color(STDOUT_FILENO),
                     .ascii = !term_has_utf8(),
                     .width = options->common.output ? 80 : term_width(STDOUT_FILENO)};
    int r = compare_new(sources, &view.compare);
    if (r == 0)
        r = stack_diff_run(compare_diff(view.compare), view.metric, &view.rows, &view.summary);
    if (r < 0) {
        cli_error("diff: %s", cli_strerror(r));
        compare_free(view.compare);
        return r;
    }
    view.changed = (size_t)r;
    view.row_count = view.changed + view.summary.count[DIFF_SAME];
    if (view.summary.nothing_in_common)
        cli_warn("diff: the two have no call stack in common: are they of the same program?");
    r = write_diff(options, &view);
    compare_free(view.compare);
    return r;
}

static int compare_sessions(const DiffOptions *options, const Session *before, const Session *after)
{
    CompareSource sources[DIFF_SIDES];
    char *titles[DIFF_SIDES] = {NULL, NULL};
    int r = fill_source(options, before, DIFF_BEFORE, &sources[0], &titles[0]);
    r = r < 0 ? r : fill_source(options, after, DIFF_AFTER, &sources[1], &titles[1]);
    if (r == 0 && !options->path[DIFF_AFTER] && sources[0].at_ns > sources[1].at_ns) {
        cli_error("diff: --from %s: lies after --to %s: exchange them",
                  options->from ? options->from : "start", options->to ? options->to : "end");
        r = -ERANGE;
    }
    if (r == 0 && options->common.window &&
        sources[0].window->process_scope != sources[1].window->process_scope)
        cli_warn("diff: --window %s: is of a thread in the one file, of the process in the other",
                 options->common.window);
    r = r < 0 ? r : show(options, sources, titles);
    free(titles[0]);
    free(titles[1]);
    return r;
}

static int run_diff(int argc, char **argv)
{
    DiffOptions options = {.metric = -1, .common = {.verb = "diff", .formats = formats}};
    Session sessions[DIFF_SIDES];
    int status;
    if (!cli_parse(&diff_argp, argc, argv, 0, &options, &status))
        return status;
    bool one = !options.path[DIFF_AFTER];
    if (compare_args_open(&options.common, options.path[DIFF_BEFORE], &sessions[0]) < 0)
        return CLI_FAILED;
    int r = one ? 0 : compare_args_open(&options.common, options.path[DIFF_AFTER], &sessions[1]);
    if (r == 0) {
        r = compare_sessions(&options, &sessions[0], &sessions[one ? 0 : 1]);
        if (!one)
            session_close(&sessions[1]);
    }
    session_close(&sessions[0]);
    return r < 0 ? CLI_FAILED : CLI_OK;
}

const Verb verb_diff = {
    .name = "diff",
    .summary = "Show which stacks allocate more, less, newly or no longer",
    .run = run_diff,
};
