// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <argp.h>
#include <stddef.h>

#include "symbol/symbol.h"

/* --sysroot, --debug-dir and --debuginfod for verbs that resolve names. */

enum { SYMBOL_ARG_SYSROOT = 0x1000, SYMBOL_ARG_DEBUG_DIR, SYMBOL_ARG_DEBUGINFOD };

#define SYMBOL_ARG_OPTIONS(group)                                                                  \
    {NULL, 0, NULL, 0, "Where names come from:", group},                                           \
        {"sysroot", SYMBOL_ARG_SYSROOT, "DIR", 0, "Find the program's files below DIR", group},    \
        {"debug-dir",                                                                              \
         SYMBOL_ARG_DEBUG_DIR,                                                                     \
         "DIR",                                                                                    \
         0,                                                                                        \
         "Find debug files by build-id below DIR too (can be given again)",                        \
         group},                                                                                   \
    {                                                                                              \
        "debuginfod", SYMBOL_ARG_DEBUGINFOD, NULL, 0, "Ask the servers in $DEBUGINFOD_URLS", group \
    }

enum { SYMBOL_ARG_DIRS_MAX = 16 };

typedef struct SymbolArgs {
    SymbolOptions options;
    const char *debug_dirs[SYMBOL_ARG_DIRS_MAX + 1];
    size_t debug_dir_count;
} SymbolArgs;

/* ARGP_ERR_UNKNOWN when the key is none of the three; EINVAL after one problem line. */
error_t symbol_args_parse(const char *verb, int key, const char *argument, SymbolArgs *args);
