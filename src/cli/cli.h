// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/*
 * What all verbs of the command share: the verb table, option parsing in our own words, and the
 * one place that prints problems. A verb is one file with one `const Verb`; to add one, declare it
 * here, list it in verbs.c and in meson.build.
 */

/* Exit statuses of every verb but `run`, which hands on the status of the program. */
enum {
    CLI_OK = 0,
    CLI_FAILED = 1, /* the request was right, but could not be met */
    CLI_USAGE = 2,  /* the request was wrong */
};

typedef struct Verb {
    const char *name;
    const char *summary; /* one line for `memhawk --help` */
    /* argv[0] is the verb; returns the exit status. */
    int (*run)(int argc, char **argv);
} Verb;

extern const Verb verb_run, verb_report, verb_info, verb_diff, verb_check, verb_view, verb_help;
/* NULL-terminated, in the order of `memhawk --help`. */
extern const Verb *const verbs[];
const Verb *verb_find(const char *name);

/* `memhawk --help`. */
void cli_print_overview(FILE *out);

/*
 * Parses the options of a verb. The argp needs no help option and prints nothing: --help is added
 * here, and wrong options get one line. A parser reports its own problems with cli_error() and then
 * returns EINVAL.
 *
 * Returns true to go on; false when the verb is over, with *ret_status.
 */
bool cli_parse(const struct argp *argp, int argc, char **argv, unsigned argp_flags, void *input,
               int *ret_status);

/* One line on stderr: "memhawk: " and the message, which reads "what: where: what to do". Control
 * characters in it are made harmless. */
void cli_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cli_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The message of a negative errno. */
const char *cli_strerror(int code);
