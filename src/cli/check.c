// SPDX-License-Identifier: Apache-2.0
/*
 * `memhawk check`: does a profile keep to its limits? Limits come from options, from a budget file,
 * or from an older profile; see check_limits.c and check_baseline.c. Exit status: 0 all hold, 1 one
 * does not, 2 could not tell (wrong options, unreadable files and unknown windows included), so
 * that a CI job never takes a broken check for a good one.
 */
#include "cli/check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/compare_args.h"

static const char *const formats[] = {"text", "json", "junit", "github", NULL};
static CheckWriter *const writers[] = {check_write_text, check_write_json, check_write_junit,
                                       check_write_github};

typedef struct CheckOptions {
    const char *path, *baseline, *budget;
    bool has_tolerance, has_limit;
    double tolerance_percent;
    BudgetSection limits; /* from options */
    CompareArgs common;
} CheckOptions;

enum { KEY_LIMIT = 256, KEY_BASELINE = 300, KEY_TOLERANCE, KEY_BUDGET };

static const struct argp_option check_options[] = {
    {NULL, 0, NULL, 0, "Limits:", 1},
    {"window", 'w', "NAME", 0, "Of each iteration of the window NAME, not of the whole run", 1},
    {"max-allocations", KEY_LIMIT + BUDGET_ALLOCATIONS, "N", 0, "At most N allocations", 1},
    {"max-bytes", KEY_LIMIT + BUDGET_BYTES, "SIZE", 0, "At most SIZE bytes allocated in sum", 1},
    {"max-peak", KEY_LIMIT + BUDGET_PEAK, "SIZE", 0, "At most SIZE live bytes at any time", 1},
    {"max-live-at-end", KEY_LIMIT + BUDGET_LIVE_AT_END, "SIZE", 0,
     "At most SIZE bytes left at the end", 1},
    {"max-temporary", KEY_LIMIT + BUDGET_TEMPORARY, "N", 0, "At most N temporary allocations", 1},
    {"budget", KEY_BUDGET, "FILE", 0, "Limits from FILE, for the run and for windows", 1},
    {"baseline", KEY_BASELINE, "OLD", 0,
     "No more than the profile OLD had, in each of its windows (without windows: in the run)", 1},
    {"tolerance", KEY_TOLERANCE, "PERCENT", 0,
     "With --baseline: allow that much more (default: 0%)", 1},
    {NULL, 0, NULL, 0, "How it is shown:", 2},
    {"format", 'f', "FORMAT", 0, "One of text, json, junit, github (default: text)", 2},
    {"output", 'o', "OUT", 0, "Write to the file OUT, replacing it", 2},
    SYMBOL_ARG_OPTIONS(3),
    {0},
};

static error_t parse_limit(BudgetLimit limit, const char *text, CheckOptions *options)
{
    int r = budget_amount(text, budget_limit_is_bytes(limit), &options->limits.max[limit]);
    options->limits.is_set[limit] = options->has_limit = true;
    if (r == 0)
        return 0;
    cli_error("check: --%s %s: %s", budget_limit_name(limit), text,
              r == -ERANGE                   ? "too large"
              : budget_limit_is_bytes(limit) ? "give bytes, as 4096 or 4KiB"
                                             : "give a whole number");
    return EINVAL;
}

static error_t parse_tolerance(const char *text, CheckOptions *options)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || (*end && strcmp(end, "%") != 0) || !(value >= 0 && value <= 1e6)) {
        cli_error("check: --tolerance %s: give a percentage, as 2%%", text);
        return EINVAL;
    }
    options->tolerance_percent = value;
    options->has_tolerance = true;
    return 0;
}

static error_t take_file(const char *path, CheckOptions *options)
{
    if (options->path) {
        cli_error("check: %s: one file at a time: run check once for each", path);
        return EINVAL;
    }
    options->path = path;
    return 0;
}

static error_t check_together(const CheckOptions *options)
{
    if (!options->path)
        cli_error("check: no profile: name one, as in 'memhawk check new.binpb --baseline "
                  "old.binpb'");
    else if (!options->has_limit && !options->budget && !options->baseline)
        cli_error("check: no limit: give --max-..., --budget or --baseline");
    else if (options->has_tolerance && !options->baseline)
        cli_error("check: --tolerance: is for --baseline: give one, or leave it out");
    else
        return 0;
    return EINVAL;
}

static error_t parse_check(int key, char *argument, struct argp_state *state)
{
    CheckOptions *options = state->input;
    if (key >= KEY_LIMIT && key < KEY_LIMIT + BUDGET_LIMITS)
        return parse_limit((BudgetLimit)(key - KEY_LIMIT), argument, options);
    switch (key) {
    case KEY_BUDGET:
        options->budget = argument;
        return 0;
    case KEY_BASELINE:
        options->baseline = argument;
        return 0;
    case KEY_TOLERANCE:
        return parse_tolerance(argument, options);
    case ARGP_KEY_ARG:
        return take_file(argument, options);
    case ARGP_KEY_END:
        return check_together(options);
    }
    return compare_args_parse(key, argument, &options->common);
}

static const struct argp check_argp = {
    check_options,
    parse_check,
    "FILE",
    "Compares a profile with limits, for tests and CI.\v"
    "Exit status: 0 all limits hold, 1 one does not, 2 could not tell. Sizes take a unit (4KiB, "
    "1.5MiB, 2MB).",
    NULL,
    NULL,
    NULL,
};

/* ---- the check
 * ---------------------------------------------------------------------------------------- */

int check_read_budget(const char *path, Budget **ret_budget)
{
    BudgetError error;
    int r = budget_read(path, ret_budget, &error);
    if (r < 0 && error.line > 0)
        cli_error("%s:%u: %s", path, error.line, error.message);
    else if (r < 0)
        cli_error("%s: %s", path, error.message[0] ? error.message : cli_strerror(r));
    return r;
}

static int apply_baseline(const CheckOptions *options, const Session *session, CheckReport *report)
{
    Session baseline;
    int r = compare_args_open(&options->common, options->baseline, &baseline);
    if (r < 0)
        return -EINVAL; /* told */
    report->baseline_path = options->baseline;
    report->tolerance_percent = options->tolerance_percent;
    if (options->common.window && !compare_find_window("check", &baseline, options->common.window))
        r = -ENOENT;
    else
        r = check_baseline(&baseline, session, options->common.window, report);
    session_close(&baseline);
    return r;
}

static int apply_budget(const CheckOptions *options, const Session *session, CheckReport *report)
{
    Budget *budget;
    int r = check_read_budget(options->budget, &budget);
    if (r < 0)
        return -EINVAL; /* told */
    size_t before = report->count;
    r = check_limits(session, budget, options->common.window, report);
    if (r == 0 && options->common.window && report->count == before) {
        cli_error("%s: has no section for the window %s", options->budget, options->common.window);
        r = -ENOENT;
    }
    budget_free(budget);
    return r;
}

static int apply_options(const CheckOptions *options, const Session *session, CheckReport *report)
{
    BudgetSection section = options->limits;
    section.window = (char *)options->common.window;
    const Budget budget = {&section, 1};
    return check_limits(session, &budget, NULL, report);
}

static int apply(const CheckOptions *options, const Session *session, CheckReport *report)
{
    int r = 0;
    if (options->common.window && !compare_find_window("check", session, options->common.window))
        return -ENOENT;
    if (options->has_limit)
        r = apply_options(options, session, report);
    if (r == 0 && options->budget)
        r = apply_budget(options, session, report);
    if (r == 0 && options->baseline)
        r = apply_baseline(options, session, report);
    if (r < 0 && r != -ENOENT && r != -EINVAL)
        cli_error("check: %s", cli_strerror(r));
    return r;
}

static int status_of(const CheckReport *report)
{
    CheckVerdict verdict = check_report_verdict(report);
    return verdict == CHECK_PASS   ? CHECK_STATUS_PASS
           : verdict == CHECK_FAIL ? CHECK_STATUS_REGRESSED
                                   : CHECK_STATUS_UNKNOWN;
}

static int write_report(const CheckOptions *options, const CheckReport *report)
{
    OutFile out;
    int r = out_file_open(options->common.output, &out);
    if (r < 0)
        return r;
    r = writers[options->common.format](report, out.stream);
    return compare_args_close(&options->common, &out, r);
}

static int run_check(int argc, char **argv)
{
    CheckOptions options = {.common = {.verb = "check", .formats = formats}};
    CheckReport report = {0};
    Session session;
    int status;
    if (!cli_parse(&check_argp, argc, argv, 0, &options, &status))
        return status;
    if (compare_args_open(&options.common, options.path, &session) < 0)
        return CHECK_STATUS_UNKNOWN;
    report.path = options.path;
    int r = apply(&options, &session, &report);
    r = r < 0 ? r : write_report(&options, &report);
    status = r < 0 ? CHECK_STATUS_UNKNOWN : status_of(&report);
    check_report_done(&report);
    session_close(&session);
    return status;
}

int check_file(const char *budget_path, const char *profile_path, FILE *out)
{
    CheckOptions options = {.path = profile_path,
                            .budget = budget_path,
                            .common = {.verb = "check", .formats = formats}};
    CheckReport report = {.path = profile_path};
    Session session;
    if (compare_args_open(&options.common, profile_path, &session) < 0)
        return CHECK_STATUS_UNKNOWN;
    int r = apply_budget(&options, &session, &report);
    r = r < 0 ? r : check_write_text(&report, out);
    int status = r < 0 ? CHECK_STATUS_UNKNOWN : status_of(&report);
    check_report_done(&report);
    session_close(&session);
    return status;
}

const Verb verb_check = {
    .name = "check",
    .summary = "Fail when a profile exceeds its budget or an older profile",
    .run = run_check,
};
