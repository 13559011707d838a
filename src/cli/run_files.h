// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stddef.h>

/* The profiles in an output folder, to tell which of them a run has added. */

typedef struct RunFiles {
    char **paths; /* folder and name, sorted */
    size_t count;
} RunFiles;

/* All profiles in FOLDER. 0 or negative errno; run_files_free() in both cases. */
int run_files_list(const char *folder, RunFiles *ret_files);
/* Removes from FILES what is in BEFORE too; both of the same folder. */
void run_files_subtract(RunFiles *files, const RunFiles *before);
void run_files_free(RunFiles *files);
