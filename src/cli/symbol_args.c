// SPDX-License-Identifier: Apache-2.0
/*
 * The options that say where names come from, for verbs that compare (diff, check). Checked at
 * once, so that a wrong folder is told before a file is read. One thread.
 */
#include "cli/symbol_args.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "cli/cli.h"

static bool is_folder(const char *verb, const char *option, const char *path)
{
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return true;
    cli_error("%s: %s %s: is no folder: give one that exists", verb, option, path);
    return false;
}

error_t symbol_args_parse(const char *verb, int key, const char *argument, SymbolArgs *args)
{
    switch (key) {
    case SYMBOL_ARG_SYSROOT:
        args->options.sysroot = argument;
        return is_folder(verb, "--sysroot", argument) ? 0 : EINVAL;
    case SYMBOL_ARG_DEBUG_DIR:
        if (args->debug_dir_count == SYMBOL_ARG_DIRS_MAX) {
            cli_error("%s: --debug-dir %s: at most %d can be given", verb, argument,
                      SYMBOL_ARG_DIRS_MAX);
            return EINVAL;
        }
        args->debug_dirs[args->debug_dir_count++] = argument;
        args->options.debug_dirs = args->debug_dirs;
        return is_folder(verb, "--debug-dir", argument) ? 0 : EINVAL;
    case SYMBOL_ARG_DEBUGINFOD:
        args->options.debuginfod = true;
        return 0;
    }
    return ARGP_ERR_UNKNOWN;
}
