// SPDX-License-Identifier: Apache-2.0
/*
 * `memhawk run --check BUDGET`: which of the profiles that a run has left is the program's, and the
 * check of it. A run leaves several when the program starts others or executes another one in its
 * place (a shell script that ends in `exec bench`): the one meant has the pid of the run and did
 * not end by exec. One thread.
 */
#include <stdio.h>

#include "cli/check.h"
#include "cli/cli.h"

static bool is_meant(const char *path, pid_t pid)
{
    Profile *profile;
    ProfileError error;
    int status;
    if (profile_open(path, &profile, &error) < 0)
        return false;
    bool meant =
        profile_process(profile)->pid == (uint32_t)pid && profile_end(profile, &status) != END_EXEC;
    profile_close(profile);
    return meant;
}

int check_after_run(const char *budget_path, const RunFiles *files, pid_t pid, FILE *out)
{
    for (size_t i = 0; i < files->count; i++) {
        if (!is_meant(files->paths[i], pid))
            continue;
        int status = check_file(budget_path, files->paths[i], out);
        if (status == CHECK_STATUS_UNKNOWN && files->count > 1)
            cli_warn("run: --check looks at the program's own profile only; the run has left %zu "
                     "more, of other processes: 'memhawk check' looks at any",
                     files->count - 1);
        return status;
    }
    cli_error("run: --check %s: the run has left no profile of the program to check", budget_path);
    return CHECK_STATUS_UNKNOWN;
}
