// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits.h>

/*
 * Decides before the start whether a program can be profiled by preloading, and says why not and
 * what to do instead. Looks at the file only; starts nothing.
 */

typedef enum ProgramVerdict {
    PROGRAM_OK,
    PROGRAM_WARN,   /* can run; some or all allocations will not be seen */
    PROGRAM_REFUSE, /* would run without the profiler or not at all */
    PROGRAM_NO_FILE,
    PROGRAM_NO_EXEC,
} ProgramVerdict;

typedef struct ProgramCheck {
    ProgramVerdict verdict;
    char path[PATH_MAX];    /* of the file to execute */
    char subject[PATH_MAX]; /* of the file that `message` is about: a script's interpreter */
    char message[512];      /* "what is wrong: what to do"; empty for PROGRAM_OK */
} ProgramCheck;

/* NAME is looked up in $PATH as execvp does. Always fills *ret_check. */
void program_check(const char *name, ProgramCheck *ret_check);
