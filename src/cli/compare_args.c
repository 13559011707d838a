// SPDX-License-Identifier: Apache-2.0
/*
 * The common half of diff's and check's command lines: see compare_args.h. Each verb asks here
 * last, when a key is none of its own.
 */
#include "cli/compare_args.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

/* "text, json or html" */
static void list_formats(char *ret_text, size_t bytes, const char *const *names)
{
    size_t at = 0;
    ret_text[0] = 0;
    for (size_t i = 0; names[i] && at < bytes; i++) {
        const char *between = i == 0 ? "" : names[i + 1] ? ", " : " or ";
        at += (size_t)snprintf(ret_text + at, bytes - at, "%s%s", between, names[i]);
    }
}

static error_t parse_format(const char *text, CompareArgs *args)
{
    char known[128];
    for (size_t i = 0; args->formats[i]; i++)
        if (strcmp(text, args->formats[i]) == 0) {
            args->format = i;
            return 0;
        }
    list_formats(known, sizeof(known), args->formats);
    cli_error("%s: --format %s: no such format: give %s", args->verb, text, known);
    return EINVAL;
}

error_t compare_args_parse(int key, char *argument, CompareArgs *args)
{
    switch (key) {
    case 'w':
        args->window = argument;
        return 0;
    case 'f':
        return parse_format(argument, args);
    case 'o':
        args->output = strcmp(argument, "-") == 0 ? NULL : argument;
        return 0;
    }
    return symbol_args_parse(args->verb, key, argument, &args->symbols);
}

int compare_args_open(const CompareArgs *args, const char *path, Session *ret_session)
{
    int r = session_open(path, &args->symbols.options, ret_session);
    if (r < 0)
        return r;
    session_warn(ret_session);
    r = session_label(ret_session, GRANULARITY_FUNCTION);
    if (r < 0)
        session_close(ret_session);
    return r;
}

int compare_args_close(const CompareArgs *args, OutFile *out, int code)
{
    if (code < 0 && code != -EPIPE && !args->output)
        cli_error("%s: %s: %s", args->verb, args->formats[args->format], cli_strerror(code));
    return out_file_close(out, code);
}
