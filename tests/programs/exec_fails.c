// SPDX-License-Identifier: Apache-2.0
/*
 * exec that fails: the process goes on, and so does its profile; errno is
 * exec's.
 *
 *   //! site site_before count=6 bytes=60 live_count=6
 *   //! site site_after count=1000 bytes=10000 live_count=1000
 *   //! status 3
 *   //! end exit 3
 */
#include "trap.h"

#include <fcntl.h>

extern char **environ;

SITE static void site_before(void)
{
    for (int i = 0; i < 6; i++)
        keep(malloc(10));
}

SITE static void site_after(void)
{
    for (int i = 0; i < 1000; i++)
        keep(malloc(10));
}

int main(void)
{
    char *arguments[] = {"x", NULL};

    site_before();
    errno = 0;
    CHECK(execve("/nonexistent", arguments, environ) == -1 && errno == ENOENT);
    CHECK(execv("/etc/hostname", arguments) == -1);
    tell(1, "execv: errno %d\n", errno);
    CHECK(execlp("no-such-program-anywhere", "x", (char *)NULL) == -1 && errno == ENOENT);
    CHECK(fexecve(-1, arguments, environ) == -1);
    CHECK(execveat(-1, "nothing", arguments, environ, 0) == -1 && errno == EBADF);
    sleep_ms(1200);
    site_after();
    return 3;
}
