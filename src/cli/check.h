// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "cli/compare.h"
#include "cli/run_files.h"
#include "profile/budget.h"

/*
 * What `memhawk check` finds: one result for each limit, with the stacks at fault where it does not
 * hold. Made by check_limits.c and check_baseline.c, written by check_text.c and check_formats.c.
 */

typedef enum CheckVerdict {
    CHECK_PASS,
    CHECK_FAIL,
    CHECK_UNKNOWN, /* could not tell */
    CHECK_VERDICTS,
} CheckVerdict;
/* The exit statuses for them. */
enum { CHECK_STATUS_PASS = 0, CHECK_STATUS_REGRESSED = 1, CHECK_STATUS_UNKNOWN = 2 };
/* "pass", "fail", "unknown" */
const char *check_verdict_name(CheckVerdict verdict);

enum { CHECK_STACKS_MAX = 5, CHECK_FRAMES_MAX = 12 };

typedef struct CheckFrame {
    char *function; /* never NULL */
    char *file;     /* path as in the debug information; NULL: not known */
    uint32_t line;
} CheckFrame;

typedef struct CheckStack {
    int64_t value;  /* of the figure, in the worst iteration, the run, or after */
    int64_t change; /* against the baseline; 0 without one */
    CheckFrame frames[CHECK_FRAMES_MAX]; /* leaf first, plumbing left out */
    size_t frame_count, depth;           /* shown, in all */
    bool truncated;                      /* could not be walked to the end */
} CheckStack;

typedef struct CheckResult {
    CheckVerdict verdict;
    BudgetLimit limit;
    char *window; /* NULL: the whole run */
    bool median;  /* baseline, windows: the median iteration; else the worst */
    bool has_baseline;
    int64_t figure; /* what the profile has; not set when unknown for lack of it */
    int64_t max;    /* what is allowed */
    int64_t baseline;
    bool has_figure;
    char why[256]; /* unknown: the reason; else a remark, or "" */
    CheckStack stacks[CHECK_STACKS_MAX];
    size_t stack_count;
} CheckResult;

typedef struct CheckReport {
    const char *path, *baseline_path; /* borrowed */
    double tolerance_percent;
    CheckResult *results;
    size_t count, capacity;
} CheckReport;

void check_report_done(CheckReport *report);
/* The next result, zeroed; NULL: no memory. */
CheckResult *check_report_add(CheckReport *report);
/* Fail beats unknown beats pass; unknown when there is no result. */
CheckVerdict check_report_verdict(const CheckReport *report);

/* Adds a result for each limit of each section. `only` NULL: all sections, else the sections of
 * that window. 0 or -ENOMEM. */
int check_limits(const Session *session, const Budget *budget, const char *only,
                 CheckReport *report);
/* Adds a result for each figure of each window of the baseline (of the whole run when it has none).
 */
int check_baseline(const Session *baseline, const Session *session, const char *only,
                   CheckReport *report);

/* Shared by the two: copies a stack of a profile for showing. 0 or -ENOMEM. */
int check_copy_stack(const Session *session, uint32_t stack, CheckStack *to);
/* Reasons not to trust figures that pass: NULL, or words. For a window, or NULL for the run. */
const char *check_doubt(const Session *session, const ProfileWindow *window);

typedef int CheckWriter(const CheckReport *report, FILE *out);
CheckWriter check_write_text, check_write_json, check_write_junit, check_write_github;
/* "allocations", "bytes", "peak bytes", "live bytes at the end", "temporary allocations". */
const char *check_limit_words(BudgetLimit limit);
/* What the values of the stacks are where that is not the figure itself, with a blank in front. */
const char *check_value_words(const CheckResult *result);
/* "window parse, median iteration: 14 allocations, at most 7" */
char *check_sentence(const CheckResult *result);

/* Checks one profile against a budget file and prints text to OUT: `memhawk run --check`. Returns
 * the exit status of check (0 pass, 1 regressed, 2 could not tell). */
int check_file(const char *budget_path, const char *profile_path, FILE *out);
/* The same for the profile of process PID among those that a run has left. */
int check_after_run(const char *budget_path, const RunFiles *files, pid_t pid, FILE *out);
/* Reads a budget, with one problem line on failure. */
int check_read_budget(const char *path, Budget **ret_budget);
