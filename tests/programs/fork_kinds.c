// SPDX-License-Identifier: Apache-2.0
/*
 * What a child of fork may do. The parent holds 5 blocks of 100 bytes at the
 * fork; the child's file says so (inherited) and counts only what the child
 * itself allocates.
 *
 *   //! site site_parent count=5 bytes=500 live_count=5 live_bytes=500
 *   //! site site_child count=0
 *   //! run exit_only exit_only
 *   //!   files 1+
 *   //! run silent silent
 *   //!   files 1+
 *   //! run goes_on goes_on
 *   //!   files 2
 *   //!   @1 inherited live_count=5 live_bytes=500
 *   //!   @1 site site_child count=3 bytes=30 live_count=3 live_bytes=30
 *   //!   @1 total count=3 bytes=30 live_count=6 live_bytes=330
 *   //!   @1 end exit 4
 *   //! run grandchild grandchild
 *   //!   files 3
 *   //!   @1 inherited live_count=5 live_bytes=500
 *   //!   @1 site site_child count=3 bytes=30 live_count=3 live_bytes=30
 *   //!   @1 end exit 4
 *   //!   @2 inherited live_count=6 live_bytes=330
 *   //!   @2 site site_grandchild count=2 bytes=14 live_count=1 live_bytes=7
 *   //!   @2 total count=2 bytes=14 live_count=1 live_bytes=7
 *   //!   @2 end exit 5
 *   //! run late late
 *   //!   files 2
 *   //!   @1 inherited live_count=5 live_bytes=500
 *   //!   @1 site site_child count=3 bytes=30
 *   //!   @1 end exit 4
 *   //! run killed killed
 *   //!   files 2
 *   //!   killed
 *   //!   @1 end unknown
 *   //!   @1 site site_child count=3 bytes=30
 *   //! run clone clone
 *   //!   files 1+
 *   //! run daemon daemon
 *   //!   files 2+
 *   //!   @1 inherited live_count=5 live_bytes=500
 *   //!   @1 site site_child count=3 bytes=30
 *   //!   @1 end exit 6
 */
#include "trap.h"

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

static void *blocks[5], *own[3];

SITE static void site_parent(void)
{
    for (int i = 0; i < 5; i++)
        blocks[i] = malloc(100);
}

SITE static void site_child(void)
{
    for (int i = 0; i < 3; i++)
        own[i] = malloc(10);
}

SITE static void site_grandchild(void)
{
    void *p = malloc(7);

    keep(malloc(7));
    free(p);
}

static void child_goes_on(void)
{
    site_child();
    free(blocks[0]);
    free(blocks[1]);
}

static int wait_for(pid_t pid)
{
    int status;

    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
    return status;
}

static void grandchild(void)
{
    pid_t pid;

    child_goes_on();
    pid = fork();
    if (pid == 0) {
        site_grandchild();
        for (int i = 2; i < 5; i++)
            free(blocks[i]);
        for (int i = 0; i < 3; i++)
            free(own[i]);
        exit(5);
    }
    CHECK(WEXITSTATUS(wait_for(pid)) == 5);
}

/* A daemon outlives its starter: main waits for the end of a pipe that only the
 * daemon holds. */
static void run_daemon(void)
{
    int ends[2];
    char byte;
    pid_t pid;

    CHECK(pipe(ends) == 0);
    pid = fork();
    if (pid == 0) {
        CHECK(daemon(1, 1) == 0);
        site_child();
        exit(6);
    }
    close(ends[1]);
    CHECK(wait_for(pid) == 0);
    CHECK(read(ends[0], &byte, 1) == 0);
}

static void child(const char *kind)
{
    if (!strcmp(kind, "exit_only"))
        _exit(3);
    if (!strcmp(kind, "silent")) /* leaves so that no library sees it */
        syscall(SYS_exit_group, 0);
    if (!strcmp(kind, "late")) /* first allocation long after the fork */
        sleep_ms(1500);
    if (!strcmp(kind, "grandchild"))
        grandchild();
    else
        child_goes_on();
    if (!strcmp(kind, "killed")) {
        sleep_ms(2500);
        raise(SIGKILL);
    }
    exit(4);
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "goes_on";
    pid_t pid;

    site_parent();
    if (!strcmp(kind, "daemon")) {
        run_daemon();
        return 0;
    }
    if (!strcmp(kind, "clone")) { /* a fork that goes past libc: its fork handlers
                                     do not run */
        pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
        if (pid == 0) {
            sleep_ms(50);
            _exit(4);
        }
        wait_for(pid);
        return 0;
    }
    pid = fork();
    if (pid == 0)
        child(kind);
    tell(1, "child ended with %d\n", wait_for(pid));
    return 0;
}
