// SPDX-License-Identifier: Apache-2.0
/*
 * Children that share our memory until they exec: vfork, posix_spawn, system,
 * popen. What a vfork child allocates itself is not the parent's; the new image
 * gets a file of its own. The programs that system and popen start through the
 * shell are found by their name at the end of the list.
 *
 *   //! site site_parent count=4 bytes=400 live_count=4
 *   //! site site_vfork_child count=0
 *   //! run vfork vfork
 *   //!   files 2
 *   //!   @1 site site_leaf count=7 bytes=77
 *   //!   @1 total count=7
 *   //!   @1 end exit 9
 *   //! run spawn spawn
 *   //!   files 2
 *   //!   @1 site site_leaf count=7 bytes=77
 *   //!   @1 end exit 9
 *   //! run vfork_fails vfork_fails
 *   //! run spawn_fails spawn_fails
 *   //! run system system
 *   //!   files 3
 *   //!   @2 site site_leaf count=7 bytes=77
 *   //!   @2 end exit 9
 *   //! run popen popen
 *   //!   files 3
 *   //!   @2 site site_leaf count=7 bytes=77
 *   //!   @2 end exit 9
 */
#include "trap.h"

#include <spawn.h>
#include <sys/wait.h>

extern char **environ;
static char self[4096];

SITE static void site_parent(void)
{
    for (int i = 0; i < 4; i++)
        keep(malloc(100));
}

SITE static void site_leaf(void)
{
    for (int i = 0; i < 7; i++)
        keep(malloc(11));
}

SITE static void site_vfork_child(void)
{
    free(malloc(1000));
}

static int by_vfork(const char *program)
{
    char *arguments[] = {self, "leaf", NULL};
    int status;
    pid_t pid = vfork();

    if (pid == 0) {
        site_vfork_child();
        execve(program, arguments, environ);
        _exit(55);
    }
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
    return status;
}

static int by_spawn(const char *program)
{
    char *arguments[] = {self, "leaf", NULL};
    int status = -1;
    pid_t pid;

    if (posix_spawn(&pid, program, NULL, NULL, arguments, environ) != 0)
        return -1;
    CHECK(waitpid(pid, &status, 0) == pid);
    return status;
}

static int by_shell(int pipe_wanted)
{
    char command[5000], line[64] = "";
    FILE *stream;

    snprintf(command, sizeof(command), "'%s' leaf", self);
    if (!pipe_wanted)
        return system(command);
    stream = popen(command, "r");
    CHECK(stream && fgets(line, sizeof(line), stream));
    CHECK(strcmp(line, "leaf\n") == 0);
    return pclose(stream);
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "";
    int status = -2;

    if (!strcmp(kind, "leaf")) {
        site_leaf();
        tell(1, "leaf\n");
        return 9;
    }
    CHECK(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
    site_parent();
    if (!strcmp(kind, "vfork"))
        status = by_vfork(self);
    else if (!strcmp(kind, "vfork_fails"))
        status = by_vfork("/nonexistent");
    else if (!strcmp(kind, "spawn"))
        status = by_spawn(self);
    else if (!strcmp(kind, "spawn_fails"))
        status = by_spawn("/nonexistent");
    else
        status = by_shell(!strcmp(kind, "popen"));
    tell(1, "%s: %d\n", kind, status);
    return 0;
}
