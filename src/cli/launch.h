// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

/*
 * Starts a program and waits for it, being as good as absent: same process group, descriptors,
 * signal mask and dispositions; terminal signals reach both, other signals are handed on.
 */

typedef struct LaunchResult {
    pid_t pid;
    int exec_error; /* positive errno when the program could not be started, else 0 */
    int status;     /* as from waitpid */
} LaunchResult;

/* 0 or negative errno (no process could be made). ENVIRONMENT as from preload_environment(); the
 * child puts its own id into it. */
int launch(const char *path, char *const *arguments, char **environment, LaunchResult *ret_result);

/* The exit status a shell would give. */
int launch_exit_status(const LaunchResult *result);
