// SPDX-License-Identifier: Apache-2.0
/*
 * Whether the process of a profile is still there, and how it ended, in words. A profile says so
 * itself when it has an end-of-run record; else /proc is asked, where a process of the same number
 * that began later is another one. Reads one file of /proc; no state.
 */
#include "profile/liveness.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

enum { FIELD_START = 22 };                      /* starttime in proc(5) */
#define START_TOLERANCE_NS UINT64_C(2000000000) /* clock steps, ticks */

/* Fields of /proc/PID/stat: the letter of the state and the start in ns on the wall clock. */
static int read_process(uint32_t pid, char *ret_state, uint64_t *ret_start_ns)
{
    char path[64], line[1024];
    unsigned long long ticks = 0;
    snprintf(path, sizeof(path), "/proc/%u/stat", pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return -errno;
    /* "4711 (name) S 4710 ...": the name may hold anything, so look from the end */
    const char *field = fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
    fclose(file);
    if (!field || field[1] != ' ')
        return -EIO;
    *ret_state = field[2];
    for (int i = 2; field && i < FIELD_START; i++)
        field = strchr(field + 1, ' ');
    if (!field)
        return -EIO;
    ticks = strtoull(field, NULL, 10);
    uint64_t boot_ns = clock_wall_ns() - clock_ns(CLOCK_BOOTTIME);
    *ret_start_ns = boot_ns + ticks * (UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK));
    return 0;
}

Liveness liveness_of(const Profile *profile)
{
    const ProfileProcess *process = profile_process(profile);
    char host[256] = "", state = 'X';
    uint64_t start_ns = 0;
    if (profile_is_ended(profile))
        return LIVENESS_GONE;
    if (gethostname(host, sizeof(host) - 1) < 0 ||
        (process->host_name && *process->host_name && strcmp(host, process->host_name) != 0))
        return LIVENESS_UNKNOWN;
    if (read_process(process->pid, &state, &start_ns) < 0 || state == 'Z' || state == 'X')
        return LIVENESS_GONE;
    /* a process that began later has only the same number */
    return start_ns <= process->start_ns + START_TOLERANCE_NS ? LIVENESS_RUNNING : LIVENESS_GONE;
}

/* The file does not say how the run ended. */
static void describe_open_end(const Profile *profile, char *ret_text, size_t size)
{
    switch (liveness_of(profile)) {
    case LIVENESS_RUNNING:
        snprintf(ret_text, size, "still running");
        return;
    case LIVENESS_GONE:
        snprintf(ret_text, size, "not known (killed, or the file is cut off)");
        return;
    case LIVENESS_UNKNOWN:
        snprintf(ret_text, size, "not known (it ran on %s)", profile_process(profile)->host_name);
        return;
    }
}

void liveness_end_text(const Profile *profile, char *ret_text, size_t size)
{
    int status = 0;
    switch (profile_end(profile, &status)) {
    case END_EXIT:
        if (status < 0) /* the recorder cannot always tell */
            snprintf(ret_text, size, "exit, status not recorded");
        else
            snprintf(ret_text, size, "exit status %d", status);
        return;
    case END_UNDERSCORE_EXIT:
        snprintf(ret_text, size, "exit status %d by _exit", status);
        return;
    case END_QUICK_EXIT:
        snprintf(ret_text, size, "exit status %d by quick_exit", status);
        return;
    case END_EXEC:
        snprintf(ret_text, size, "replaced by another program (exec)");
        return;
    case END_SIGNAL:
        snprintf(ret_text, size, "signal %d (%s)", status, strsignal(status));
        return;
    case END_ABORT:
        snprintf(ret_text, size, "abort");
        return;
    case END_UNKNOWN:
        break;
    }
    describe_open_end(profile, ret_text, size);
}
