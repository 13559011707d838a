// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits.h>

/*
 * Decides before the start whether a program can be profiled by preloading, and says why not and
 * what to do instead. Looks at the file only; starts nothing.
 */

typedef enum CheckVerdict {
    CHECK_OK,
    CHECK_WARN,   /* can run; some or all allocations will not be seen */
    CHECK_REFUSE, /* would run without the profiler or not at all */
    CHECK_NO_FILE,
    CHECK_NO_EXEC,
} CheckVerdict;

typedef struct ProgramCheck {
    CheckVerdict verdict;
    char path[PATH_MAX];    /* of the file to execute */
    char subject[PATH_MAX]; /* of the file that `message` is about: a script's interpreter */
    char message[512];      /* "what is wrong: what to do"; empty for CHECK_OK */
} ProgramCheck;

/* NAME is looked up in $PATH as execvp does. Always fills *ret_check. */
void program_check(const char *name, ProgramCheck *ret_check);
