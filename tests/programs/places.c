// SPDX-License-Identifier: Apache-2.0
/*
 * The process moves, hides or limits itself; its profile stays where it began,
 * with mode 0600, and is whole at the end.
 *
 *   //! site site_work count=300 bytes=3000 live_count=300
 *   //! run chdir chdir
 *   //! run gone gone
 *   //! run umask umask
 *   //! run setsid setsid
 *   //! run chroot chroot
 *   //!   needs root
 *   //! run setuid setuid
 *   //!   needs root
 *   //! run environ environ
 *   //! run rename rename
 */
#include "trap.h"

#include <grp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

extern char **environ;

SITE static void site_work(void)
{
    for (int i = 0; i < 100; i++)
        keep(malloc(10));
}

static void move(const char *kind)
{
    if (!strcmp(kind, "chdir"))
        CHECK(mkdir("sub", 0700) == 0 && chdir("sub") == 0);
    if (!strcmp(kind, "gone")) {
        CHECK(mkdir("sub", 0700) == 0 && chdir("sub") == 0);
        CHECK(rmdir("../sub") == 0);
    }
    if (!strcmp(kind, "umask"))
        umask(0777);
    if (!strcmp(kind, "setsid")) {
        setsid();
        setpgid(0, 0);
    }
    if (!strcmp(kind, "chroot"))
        CHECK(mkdir("root", 0700) == 0 && chroot("root") == 0 && chdir("/") == 0);
    if (!strcmp(kind, "setuid"))
        CHECK(setgroups(0, NULL) == 0 && setgid(65534) == 0 && setuid(65534) == 0);
    if (!strcmp(kind, "environ")) {
        clearenv();
        environ = NULL;
    }
    if (!strcmp(kind, "rename"))
        CHECK(prctl(PR_SET_NAME, "../../evil name") == 0);
}

int main(int argc, char **argv)
{
    site_work();
    move(argc > 1 ? argv[1] : "");
    site_work();
    sleep_ms(1200);
    site_work();
    return 0;
}
