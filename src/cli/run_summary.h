// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "cli/run_files.h"

/* What `memhawk run` says at the end. */
typedef struct RunSummary {
    const char *program;
    const char *folder;
    const RunFiles *files; /* new in the folder */
    pid_t pid;
    int wait_status;
    uint64_t duration_ns;
} RunSummary;

/* To stderr, 80 columns or the terminal's. */
void run_summary_print(const RunSummary *summary);
