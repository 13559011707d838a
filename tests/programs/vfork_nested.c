// SPDX-License-Identifier: Apache-2.0
/*
 * A vfork child that calls vfork itself, up to three deep. All share the first one's memory: what
 * the children allocate is nobody's, and when the first process goes on, it is counted again.
 *
 *   //! site site_parent count=4 bytes=400 live_count=4
 *   //! site site_child count=0 bytes=0
 *   //! run two 2
 *   //!   total count=9 bytes=500 live_count=9
 *   //!   site site_after count=5 bytes=100 live_count=5
 *   //! run three 3
 *   //!   total count=9 bytes=500 live_count=9
 *   //! run twice 2 2
 *   //!   site site_after count=10 bytes=200 live_count=10
 *   //!   total count=14 bytes=600 live_count=14
 *   //! run exec 2 exec
 *   //!   total count=9 bytes=500 live_count=9
 *   //!   files 2
 *   //!   @1 site site_leaf count=7 bytes=77
 *   //!   @1 total count=7
 *   //!   @1 end exit 9
 */
#include "trap.h"

#include <sys/wait.h>

extern char **environ;
static char self[4096];

SITE static void site_parent(void)
{
    for (int i = 0; i < 4; i++)
        keep(malloc(100));
}

SITE static void site_child(void)
{
    free(malloc(1000));
}

SITE static void site_after(void)
{
    for (int i = 0; i < 5; i++)
        keep(malloc(20));
}

SITE static void site_leaf(void)
{
    for (int i = 0; i < 7; i++)
        keep(malloc(11));
}

/* Each child allocates before and after its own child; the innermost may exec. */
SITE static int nest(int depth, int exec)
{
    char *arguments[] = {self, "leaf", NULL};
    volatile int status = 0; /* vfork returns twice */
    pid_t pid = vfork();

    if (pid == 0) {
        site_child();
        if (depth > 1) {
            int inner = nest(depth - 1, exec);
            site_child();
            _exit(inner + 1);
        }
        if (exec)
            execve(self, arguments, environ);
        _exit(9);
    }
    CHECK(pid > 0 && waitpid(pid, (int *)&status, 0) == pid && WIFEXITED(status));
    return WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
    int exec = argc > 2 && !strcmp(argv[2], "exec");

    if (argc > 1 && !strcmp(argv[1], "leaf")) {
        site_leaf();
        return 9;
    }
    CHECK(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
    site_parent();
    for (int i = 1; i < argc - exec; i++) {
        int depth = atoi(argv[i]);

        CHECK(nest(depth, exec) == 9 + depth - 1);
        site_after();
    }
    tell(1, "done\n");
    return 0;
}
