// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <argp.h>
#include <stddef.h>

#include "cli/out_file.h"
#include "cli/session.h"
#include "cli/symbol_args.h"

/*
 * What diff and check have in common on the command line, and what follows from it: a window, a
 * format, where the result goes, where names come from.
 */
typedef struct CompareArgs {
    const char *verb;            /* for problem lines; set by the caller */
    const char *const *formats;  /* names, NULL behind the last; set by the caller */
    size_t format;               /* index into them */
    const char *window, *output; /* NULL: not given, standard output */
    SymbolArgs symbols;
} CompareArgs;

/* --window, --format, --output and the options of symbol_args.h. ARGP_ERR_UNKNOWN when the key is
 * none of them; EINVAL after one problem line. */
error_t compare_args_parse(int key, char *argument, CompareArgs *args);

/* Opens a profile, warns of its damage, and labels it by function, as compare.h wants it. 0, or a
 * negative errno after one problem line. */
int compare_args_open(const CompareArgs *args, const char *path, Session *ret_session);

/* Closes OUT, which was opened at args->output, after writing returned CODE, and tells a problem
 * of writing. Returns as out_file_close(). */
int compare_args_close(const CompareArgs *args, OutFile *out, int code);
