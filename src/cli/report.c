// SPDX-License-Identifier: Apache-2.0
/*
 * `memhawk report`: one profile, one view of it, one format. All options are checked before the
 * file is read. Problems of the profile (damage, losses) go to stderr, so that they never mix with
 * what a program reads from stdout. The work is in profile/, symbol/ and export/.
 */
#include "cli/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/out_file.h"
#include "cli/when.h"
#include "cli/window_report.h"

enum { DEBUG_DIRS_MAX = 16, TOP_MAX = 1000000 };

enum {
    KEY_AT = 256,
    KEY_FROM,
    KEY_TO,
    KEY_TOP,
    KEY_GRANULARITY,
    KEY_INVERTED,
    KEY_COLLAPSE,
    KEY_FULL,
    KEY_FILTER,
    KEY_SYSROOT,
    KEY_DEBUG_DIR,
    KEY_DEBUGINFOD,
    KEY_FORMAT,
    KEY_FOLLOW,
    KEY_PER_ITERATION,
    KEY_SORT,
};

#define METRICS "live-bytes, live-count, total-bytes, total-count, temporary, overhead"
#define FORMATS "text, json, folded, html, pprof, speedscope, heaptrack"

static const struct argp_option report_options[] = {
    {NULL, 0, NULL, 0, "What is shown:", 1},
    {"at", KEY_AT, "peak|end|TIME", 0,
     "The state at this moment (default: peak; for total-... and temporary: end)", 1},
    {"from", KEY_FROM, "TIME", 0, "What was added and what was removed since TIME", 1},
    {"to", KEY_TO, "TIME", 0, "The end of that interval (default: end)", 1},
    {"metric", 'm', "METRIC", 0, "Sort and size by: " METRICS " (default: live-bytes)", 1},
    {"window", 'w', "NAME", 0,
     "All iterations of the measurement window NAME (memhawk.h), by total-count", 1},
    {"per-iteration", KEY_PER_ITERATION, NULL, 0,
     "Of --window: minimum, median and maximum over its iterations (text, json)", 1},
    {"sort", KEY_SORT, "count|bytes|temporary", 0, "The same as --metric total-count and so on", 1},
    {"filter", KEY_FILTER, "REGEX", 0,
     "Only stacks with a function or module that matches (Perl-compatible)", 1},
    {NULL, 0, NULL, 0, "How it is shown:", 2},
    {"top", 'n', "N", 0, "Show the N largest (text, json, folded)", 2},
    {"granularity", 'g', "function|line", 0,
     "Keep functions or source lines apart (default: "
     "function)",
     2},
    {"inverted", KEY_INVERTED, NULL, 0,
     "Turn the tree upside down: from main to the allocation "
     "in text, from the allocation to main in folded and html",
     2},
    {"collapse-recursion", KEY_COLLAPSE, NULL, 0, "Show direct recursion as one frame", 2},
    {"full", KEY_FULL, NULL, 0, "Do not cut long chains of callers", 2},
    {"format", 'f', "FORMAT", 0, "One of " FORMATS " (default: text)", 2},
    {"output", 'o', "OUT", 0, "Write to the file OUT, replacing it", 2},
    {"follow", 'F', NULL, 0,
     "Go on while the program runs: redraw on a terminal, else print a "
     "report for each change",
     2},
    {NULL, 0, NULL, 0, "Where names come from:", 3},
    {"sysroot", KEY_SYSROOT, "DIR", 0, "Find the program's files below DIR", 3},
    {"debug-dir", KEY_DEBUG_DIR, "DIR", 0,
     "Find debug files by build-id below DIR too (can be given again)", 3},
    {"debuginfod", KEY_DEBUGINFOD, NULL, 0, "Ask the servers in $DEBUGINFOD_URLS", 3},
    {0},
};

typedef struct ReportInput {
    ReportOptions options;
    const char *debug_dirs[DEBUG_DIRS_MAX + 1];
    size_t debug_dir_count;
} ReportInput;

static error_t check_time(const char *option, const char *text)
{
    bool is_at = strcmp(option, "--at") == 0;
    if (when_check(text) == 0 || (is_at && strcmp(text, "peak") == 0))
        return 0;
    cli_error("report: %s %s: no moment: give %sseconds since the start, or RFC 3339 as in "
              "2026-01-31T12:00:00Z",
              option, text, is_at ? "peak, end, " : "");
    return EINVAL;
}

static error_t parse_metric(const char *text, ReportOptions *options)
{
    options->metric_given = true;
    if (metric_find(text, &options->metric) == 0)
        return 0;
    cli_error("report: --metric %s: no such metric: give one of " METRICS, text);
    return EINVAL;
}

static error_t parse_sort(const char *text, ReportOptions *options)
{
    options->metric_given = true;
    if (strcmp(text, "count") == 0)
        options->metric = METRIC_TOTAL_COUNT;
    else if (strcmp(text, "bytes") == 0)
        options->metric = METRIC_TOTAL_BYTES;
    else if (strcmp(text, "temporary") == 0)
        options->metric = METRIC_TEMPORARY;
    else {
        cli_error("report: --sort %s: give count, bytes or temporary", text);
        return EINVAL;
    }
    return 0;
}

/* What does not go together with --window, which is by count if nothing is said. */
static error_t check_window(ReportOptions *options)
{
    const Exporter *exporter = options->exporter;
    if (!options->window && options->per_iteration)
        cli_error("report: --per-iteration: is for --window: name one");
    else if (options->window && (options->at || options->from || options->to || options->follow))
        cli_error("report: --window: has no moment: leave out --at, --from, --to and --follow");
    else if (options->window && (exporter == &export_heaptrack))
        cli_error("report: --window: heaptrack files hold whole runs: give another --format");
    else if (options->window && options->metric_given && options->metric == METRIC_OVERHEAD)
        cli_error("report: --metric overhead: is not recorded for windows: give another");
    else if (options->per_iteration && exporter != &export_text && exporter != &export_json)
        cli_error("report: --per-iteration: is text or json: leave out --format %s",
                  exporter->name);
    else {
        if (options->window && !options->metric_given)
            options->metric = METRIC_TOTAL_COUNT;
        return 0;
    }
    return EINVAL;
}

static error_t parse_granularity(const char *text, ReportOptions *options)
{
    if (strcmp(text, "function") != 0 && strcmp(text, "line") != 0) {
        cli_error("report: --granularity %s: give function or line", text);
        return EINVAL;
    }
    options->granularity = text[0] == 'l' ? GRANULARITY_LINE : GRANULARITY_FUNCTION;
    return 0;
}

static error_t parse_format(const char *text, ReportOptions *options)
{
    options->exporter = export_find(text);
    if (options->exporter)
        return 0;
    cli_error("report: --format %s: no such format: give one of " FORMATS, text);
    return EINVAL;
}

static error_t parse_top(const char *text, ReportOptions *options)
{
    char *end;
    long value = strtol(text, &end, 10);
    if (end == text || *end || value < 1 || value > TOP_MAX) {
        cli_error("report: --top %s: give a whole number from 1 to %d", text, TOP_MAX);
        return EINVAL;
    }
    options->top = (size_t)value;
    return 0;
}

static error_t check_folder(const char *option, const char *path)
{
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return 0;
    cli_error("report: %s %s: is no folder: give one that exists", option, path);
    return EINVAL;
}

static error_t add_debug_dir(const char *path, ReportInput *input)
{
    if (input->debug_dir_count == DEBUG_DIRS_MAX) {
        cli_error("report: --debug-dir %s: at most %d can be given", path, DEBUG_DIRS_MAX);
        return EINVAL;
    }
    input->debug_dirs[input->debug_dir_count++] = path;
    return check_folder("--debug-dir", path);
}

static error_t check_regex(const char *text)
{
    char why[256];
    view_filter_error(text, why, sizeof(why));
    if (!*why)
        return 0;
    cli_error("report: --filter %s: %s: give a regular expression", text, why);
    return EINVAL;
}

static error_t take_file(const char *path, ReportOptions *options)
{
    if (options->path) {
        cli_error("report: %s: one file at a time: run report once for each, "
                  "or memhawk view for all of a folder",
                  path);
        return EINVAL;
    }
    options->path = path;
    return 0;
}

/* What does not go together. */
static error_t check_together(const ReportOptions *options)
{
    if (!options->path)
        cli_error("report: no profile: name one, as in 'memhawk report memhawk_*.binpb'");
    else if (options->at && (options->from || options->to))
        cli_error("report: --at: does not go with --from and --to: give the one or the others");
    else if (options->follow && (options->output || options->exporter != &export_text))
        cli_error("report: --follow: is for text on standard output: leave out %s",
                  options->output ? "-o" : "--format");
    else if (options->follow && (options->at || options->from || options->to))
        cli_error("report: --follow: shows the present: leave out --at, --from and --to");
    else
        return 0;
    return EINVAL;
}

/* Options that are words for a choice or a number; ARGP_ERR_UNKNOWN for the others. */
static error_t parse_value(int key, char *argument, ReportInput *input)
{
    ReportOptions *options = &input->options;
    switch (key) {
    case KEY_AT:
        options->at = argument;
        return check_time("--at", argument);
    case KEY_FROM:
        options->from = argument;
        return check_time("--from", argument);
    case KEY_TO:
        options->to = argument;
        return check_time("--to", argument);
    case 'm':
        return parse_metric(argument, options);
    case KEY_SORT:
        return parse_sort(argument, options);
    case 'w':
        options->window = argument;
        return 0;
    case 'n':
        return parse_top(argument, options);
    case 'g':
        return parse_granularity(argument, options);
    case 'f':
        return parse_format(argument, options);
    case KEY_FILTER:
        options->filter = argument;
        return check_regex(argument);
    case KEY_SYSROOT:
        options->symbols.sysroot = argument;
        return check_folder("--sysroot", argument);
    case KEY_DEBUG_DIR:
        return add_debug_dir(argument, input);
    case 'o':
        options->output = strcmp(argument, "-") == 0 ? NULL : argument;
        return 0;
    }
    return ARGP_ERR_UNKNOWN;
}

static error_t parse_report(int key, char *argument, struct argp_state *state)
{
    ReportInput *input = state->input;
    ReportOptions *options = &input->options;
    switch (key) {
    case KEY_INVERTED:
        options->inverted = true;
        return 0;
    case KEY_COLLAPSE:
        options->collapse = true;
        return 0;
    case KEY_FULL:
        options->full = true;
        return 0;
    case KEY_PER_ITERATION:
        options->per_iteration = true;
        return 0;
    case KEY_DEBUGINFOD:
        options->symbols.debuginfod = true;
        return 0;
    case 'F':
        options->follow = true;
        return 0;
    case ARGP_KEY_ARG:
        return take_file(argument, options);
    case ARGP_KEY_END:
        return check_together(options) ? EINVAL : check_window(options);
    }
    return parse_value(key, argument, input);
}

static const struct argp report_argp = {
    report_options,
    parse_report,
    "FILE",
    "Shows where the memory of a profile went.\v"
    "TIME is seconds since the start of the run (2, 0.25), a moment by RFC 3339 "
    "(2026-01-31T12:00:00Z), start or end.",
    NULL,
    NULL,
    NULL,
};

static bool is_same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* A report must not land in a place where it harms. */
static int check_output(const ReportOptions *options)
{
    if (options->output && is_same_file(options->output, options->path)) {
        cli_error("report: -o %s: is the profile itself: give another name", options->output);
        return -EINVAL;
    }
    if (!options->output && options->exporter->binary && isatty(STDOUT_FILENO)) {
        cli_error("report: --format %s: is binary, not for a terminal: give -o OUT.%s",
                  options->exporter->name, options->exporter->extension);
        return -EINVAL;
    }
    return 0;
}

static int write_view(const Session *session, const ReportOptions *options)
{
    View view;
    OutFile out;
    int r = report_build_view(session, options, &view);
    if (r < 0)
        return r;
    r = out_file_open(options->output, &out);
    if (r == 0) {
        bool json = options->exporter == &export_json;
        int written = !options->per_iteration ? options->exporter->write(&view, out.stream)
                      : json                  ? window_report_json(&view, out.stream)
                                              : window_report_text(&view, out.stream);
        if (written < 0 && written != -EPIPE && !options->output)
            cli_error("report: %s: %s", options->exporter->name, cli_strerror(written));
        r = out_file_close(&out, written);
    }
    if (r == 0)
        session_hint_names(session, &view, options->symbols.debuginfod);
    view_done(&view);
    return r;
}

static int report_once(Session *session, const ReportOptions *options)
{
    /* a text report on a terminal says it in its head */
    if (options->output || options->exporter != &export_text || !isatty(STDOUT_FILENO))
        session_warn(session);
    if (session_label(session, options->granularity) < 0)
        return CLI_FAILED;
    return write_view(session, options) < 0 ? CLI_FAILED : CLI_OK;
}

static int run_report(int argc, char **argv)
{
    ReportInput input = {
        .options = {.metric = METRIC_LIVE_BYTES, .exporter = &export_text},
    };
    ReportOptions *options = &input.options;
    Session session;
    int status;
    if (!cli_parse(&report_argp, argc, argv, 0, &input, &status))
        return status;
    if (input.debug_dir_count)
        options->symbols.debug_dirs = input.debug_dirs;
    if (check_output(options) < 0)
        return CLI_USAGE;
    if (session_open(options->path, &options->symbols, &session) < 0)
        return CLI_FAILED;
    status = options->follow ? report_follow(&session, options) : report_once(&session, options);
    session_close(&session);
    return status;
}

const Verb verb_report = {
    .name = "report",
    .summary = "Show where the memory went: text, JSON, flame graph, pprof and more",
    .run = run_report,
};
