// SPDX-License-Identifier: Apache-2.0
/*
 * A signal handler that forks, 60 times, wherever the program stands: nearly always inside a hook.
 * Each child goes on from there, is recorded from its next allocations on, and leaves by _exit.
 *
 *   //! timeout 120
 *   //! no-oracle
 *   //! files 61
 *   //! @1 site site_child count=7 bytes=2331 live_count=7
 *   //! @30 site site_child count=7 bytes=2331 live_count=7
 *   //! @60 site site_child count=7 bytes=2331 live_count=7
 *   //! @60 end _exit 0
 */
#include "trap.h"

#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

static volatile sig_atomic_t forks, in_child;

static void on_alarm(int number)
{
    (void)number;
    if (in_child || forks == 60)
        return;
    pid_t child = fork();
    CHECK(child >= 0);
    in_child = child == 0;
    forks++;
}

/* Every path is a stack of its own: the hooks walk. */
SITE static void branch(unsigned path, int level)
{
    if (level == 12) {
        void *p = malloc(40);
        keep(p);
        free(p);
    } else if (path >> level & 1) {
        branch(path, level + 1);
        keep(&path);
    } else {
        branch(path, level + 1);
        keep(&level);
    }
}

SITE static void site_child(void)
{
    for (int i = 0; i < 7; i++)
        keep(malloc(333));
}

int main(void)
{
    const struct itimerval often = {{0, 20000}, {0, 20000}};
    int status = 0;

    signal(SIGALRM, on_alarm);
    CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
    for (unsigned i = 0; forks < 60 && !in_child; i++)
        branch(i * 40503u >> 3, 0);
    if (in_child) {
        for (unsigned i = 0; i < 1000; i++)
            branch(i, 0);
        site_child();
        _exit(0);
    }
    while (wait(&status) > 0 || errno == EINTR)
        CHECK(status == 0);
    return 0;
}
