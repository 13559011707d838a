// SPDX-License-Identifier: Apache-2.0
/*
 * `memhawk run`: checks the program, starts it with the recorder in it, waits, prints the summary.
 * Everything that can go wrong is found before the start, so that the program either runs profiled
 * or not at all. The exit status is the program's. Single-threaded.
 */
#include "cli/cli.h"

#include <errno.h>
#include <regex.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/clock.h"
#include "cli/check.h"
#include "cli/launch.h"
#include "cli/preload.h"
#include "cli/program_check.h"
#include "cli/run_files.h"
#include "cli/run_summary.h"
#include "cli/view_child.h"
#include "cli/view_open.h"

enum {
    STATUS_NOT_STARTED = 125, /* as env(1), timeout(1): distinguishable from the program's own */
    STATUS_NO_EXEC = 126,
    STATUS_NO_FILE = 127,
    INTERVAL_MS_MIN = 10, /* as in runtime/config.c */
    INTERVAL_MS_MAX = 3600000,
    DEPTH_MAX = 256,
    FOLLOW_BYTES_MAX = 512,
};

enum { KEY_DEPTH = 256, KEY_FOLLOW, KEY_UNWIND, KEY_CHECK, KEY_VIEW };

typedef struct RunOptions {
    const char *output, *interval, *depth, *follow, *unwind, *budget;
    bool quiet, view;
    char **program; /* NULL-terminated words */
} RunOptions;

static const struct argp_option run_options[] = {
    {"output", 'o', "FOLDER", 0, "Write profiles to FOLDER (made when missing; default: here)"},
    {"interval", 'i', "MS", 0, "Write what changed every MS milliseconds (default 1000)"},
    {"depth", KEY_DEPTH, "N", 0, "Frames kept of each stack, 1 to 256 (default 64)"},
    {"follow", KEY_FOLLOW, "none|all|REGEX", 0,
     "Which child processes to profile too, REGEX by their name (default all)"},
    {"unwind", KEY_UNWIND, "cfi|fp", 0,
     "Walk stacks by unwind tables or by frame pointers (default cfi)"},
    {"check", KEY_CHECK, "BUDGET", 0,
     "Compare the profile with the limits in the file BUDGET at the end, see memhawk-check(1)"},
    {"view", KEY_VIEW, NULL, 0, "Show the profile on a live page in the browser meanwhile"},
    {"quiet", 'q', NULL, 0, "Print no warnings and no summary"},
    {0},
};

static bool is_number(const char *text, long low, long high)
{
    errno = 0; /* digits alone: the recorder takes neither blanks nor signs */
    long value = strtol(text, NULL, 10);
    return *text && !text[strspn(text, "0123456789")] && errno == 0 && value >= low &&
           value <= high;
}

static error_t check_number(const char *option, const char *text, long low, long high)
{
    if (is_number(text, low, high))
        return 0;
    cli_error("run: %s %s: give a whole number from %ld to %ld", option, text, low, high);
    return EINVAL;
}

static error_t check_regex(const char *text)
{
    regex_t regex;
    char why[128];
    if (strlen(text) >= FOLLOW_BYTES_MAX) {
        cli_error("run: --follow: is too long: give an expression below %d bytes",
                  FOLLOW_BYTES_MAX);
        return EINVAL;
    }
    int r = regcomp(&regex, text, REG_EXTENDED | REG_NOSUB);
    if (r == 0) {
        regfree(&regex);
        return 0;
    }
    regerror(r, &regex, why, sizeof(why));
    cli_error("run: --follow %s: %s: give none, all or an extended regular expression", text, why);
    return EINVAL;
}

static error_t check_unwind(const char *text)
{
    if (strcmp(text, "cfi") == 0 || strcmp(text, "fp") == 0)
        return 0;
    cli_error("run: --unwind %s: no such way of unwinding: give cfi or fp", text);
    return EINVAL;
}

/* A budget that is wrong is told before the program runs for an hour. */
static error_t check_budget(const char *path, RunOptions *options)
{
    Budget *budget;
    if (check_read_budget(path, &budget) < 0)
        return EINVAL;
    budget_free(budget);
    options->budget = path;
    return 0;
}

static error_t parse_run(int key, char *argument, struct argp_state *state)
{
    RunOptions *options = state->input;
    switch (key) {
    case 'o':
        options->output = argument;
        return 0;
    case 'i':
        options->interval = argument;
        return check_number("--interval", argument, INTERVAL_MS_MIN, INTERVAL_MS_MAX);
    case KEY_DEPTH:
        options->depth = argument;
        return check_number("--depth", argument, 1, DEPTH_MAX);
    case KEY_FOLLOW:
        options->follow = argument;
        return check_regex(argument);
    case KEY_UNWIND:
        options->unwind = argument;
        return check_unwind(argument);
    case KEY_CHECK:
        return check_budget(argument, options);
    case KEY_VIEW:
        options->view = true;
        return 0;
    case 'q':
        options->quiet = true;
        return 0;
    case ARGP_KEY_ARG:
        options->program = state->argv + state->next - 1;
        state->next = state->argc; /* the rest is the program's */
        return 0;
    case ARGP_KEY_NO_ARGS:
        cli_error("run: no program: give it after --, as in 'memhawk run -- PROGRAM ARGS'");
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp run_argp = {
    run_options,
    parse_run,
    "-- PROGRAM [ARG...]",
    "Runs PROGRAM with the heap profiler in it and prints a summary on standard error at its end. "
    "Its input, output, signals and exit status are untouched.\v"
    "Exit status: that of PROGRAM, 128 and the number when a signal ended it; 127 when it was not "
    "found, 126 when it cannot be executed, 125 when it cannot be profiled, 2 for a wrong option. "
    "With "
    "--check, when PROGRAM succeeds: 0 all limits hold, 1 one does not, 2 could not tell.",
    NULL,
    NULL,
    NULL,
};

/* The output folder as an absolute path, made when missing; NULL after a problem line. */
static char *prepare_folder(const char *folder)
{
    if (mkdir(folder, 0777) < 0 && errno != EEXIST) {
        cli_error("%s: cannot make this folder: %s", folder, strerror(errno));
        return NULL;
    }
    char *path = realpath(folder, NULL);
    struct stat st;
    if (!path || stat(path, &st) < 0) {
        cli_error("%s: %s: give another folder with -o", folder, strerror(errno));
    } else if (!S_ISDIR(st.st_mode)) {
        cli_error("%s: is not a folder: give one with -o", folder);
    } else if (access(path, W_OK | X_OK) < 0) {
        cli_error("%s: cannot write profiles here: %s: give another folder with -o", folder,
                  strerror(errno));
    } else {
        return path;
    }
    free(path);
    return NULL;
}

/* 0 to go on, or the exit status. */
static int check_program(const RunOptions *options, ProgramCheck *check)
{
    program_check(options->program[0], check);
    switch (check->verdict) {
    case PROGRAM_OK:
        return 0;
    case PROGRAM_WARN:
        if (!options->quiet)
            cli_warn("%s: %s", check->subject, check->message);
        return 0;
    case PROGRAM_REFUSE:
        cli_error("%s: %s", check->subject, check->message);
        return STATUS_NOT_STARTED;
    case PROGRAM_NO_EXEC:
        cli_error("%s: %s", check->subject, check->message);
        return STATUS_NO_EXEC;
    case PROGRAM_NO_FILE:
        break;
    }
    cli_error("%s: %s", check->subject, check->message);
    return STATUS_NO_FILE;
}

static int start_and_wait(const RunOptions *options, const char *library, const char *folder,
                          const char *path, LaunchResult *ret_result)
{
    const PreloadSetting settings[] = {
        {"MEMHAWK_OUTPUT", folder},          {"MEMHAWK_INTERVAL_MS", options->interval},
        {"MEMHAWK_DEPTH", options->depth},   {"MEMHAWK_FOLLOW", options->follow},
        {"MEMHAWK_UNWIND", options->unwind},
    };
    char **environment = preload_environment(library, settings, ARRAY_SIZE(settings));
    if (!environment) {
        cli_error("run: %s", strerror(ENOMEM));
        return STATUS_NOT_STARTED;
    }
    int r = launch(path, options->program, environment, ret_result);
    preload_free_environment(environment);
    if (r < 0) {
        cli_error("run: cannot make a process: %s", cli_strerror(r));
        return STATUS_NOT_STARTED;
    }
    if (ret_result->exec_error)
        cli_error("%s: %s", path, strerror(ret_result->exec_error));
    return launch_exit_status(ret_result);
}

static int run_in_folder(const RunOptions *options, const ProgramCheck *check, const char *library,
                         const char *folder)
{
    RunFiles before, files;
    LaunchResult result = {.pid = -1};
    uint64_t start_ns = clock_monotonic_ns();
    run_files_list(folder, &before);
    int status = start_and_wait(options, library, folder, check->path, &result);
    signal(SIGPIPE, SIG_IGN); /* stderr may be gone; the status counts more than the summary */
    if ((!options->quiet || options->budget) && result.pid > 0 && !result.exec_error) {
        RunSummary summary = {
            .program = options->program[0],
            .folder = folder,
            .files = &files,
            .pid = result.pid,
            .wait_status = result.status,
            .duration_ns = clock_monotonic_ns() - start_ns,
        };
        run_files_list(folder, &files);
        run_files_subtract(&files, &before);
        if (!options->quiet)
            run_summary_print(&summary);
        if (options->budget && status == 0 && !options->quiet)
            fputc('\n', stderr); /* apart from the summary */
        if (options->budget && status == 0)
            status = check_after_run(options->budget, &files, result.pid, stderr);
        run_files_free(&files);
    }
    run_files_free(&before);
    return status;
}

/* The same beside a live page, which is there before the program starts. */
static int run_viewed(const RunOptions *options, const ProgramCheck *check, const char *library,
                      const char *folder)
{
    ViewChild child;
    if (!options->view)
        return run_in_folder(options, check, library, folder);
    if (view_child_start(folder, &child) < 0)
        return STATUS_NOT_STARTED;
    fprintf(stderr, "%s\n", child.url);
    bool opened = view_open(child.open_url);
    int status = run_in_folder(options, check, library, folder);
    view_child_finish(&child, opened);
    return status;
}

static int run_run(int argc, char **argv)
{
    RunOptions options = {0};
    int status;
    if (!cli_parse(&run_argp, argc, argv, ARGP_IN_ORDER, &options, &status))
        return status;
    ProgramCheck *check = malloc(sizeof(*check));
    if (!check)
        return STATUS_NOT_STARTED;
    const char *folder_given = options.output ? options.output : getenv("MEMHAWK_OUTPUT");
    char *library = NULL, *folder = NULL;
    status = check_program(&options, check);
    if (status == 0) {
        status = STATUS_NOT_STARTED;
        library = preload_find_library();
        if (library)
            folder = prepare_folder(folder_given && *folder_given ? folder_given : ".");
        if (folder)
            status = run_viewed(&options, check, library, folder);
    }
    free(folder);
    free(library);
    free(check);
    return status;
}

const Verb verb_run = {
    .name = "run",
    .summary = "Run a program with the profiler in it and print a summary",
    .run = run_run,
};
