// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stddef.h>
#include <sys/types.h>

/* How the recorder gets into the program: its file, and the environment that loads it. */

/* Finds libmemhawk.so: $MEMHAWK_LIB, else relative to this executable. malloc'd absolute path; NULL
 * after one problem line. */
char *preload_find_library(void);

/* One setting for the recorder; value NULL: leave it as inherited. */
typedef struct PreloadSetting {
    const char *name; /* MEMHAWK_... */
    const char *value;
} PreloadSetting;

/*
 * A copy of the own environment with LIBRARY put in front of LD_PRELOAD and the settings applied;
 * our own stays as it is. NULL when out of memory. preload_free_environment().
 */
char **preload_environment(const char *library, const PreloadSetting *settings, size_t count);
/*
 * Names the process that the environment is for, so that the recorder tells the program itself from
 * what it starts (--follow). In that process, before exec: nobody knows its id earlier. Does
 * nothing to an environment that preload_environment() did not make.
 */
void preload_put_root_pid(char **environment, pid_t pid);
void preload_free_environment(char **environment);
