// SPDX-License-Identifier: Apache-2.0
/*
 * One pid, nine images, one for each member of the exec family; each image
 * allocates ten blocks more than the one before and gets a file of its own that
 * ends with "exec".
 *
 *   //! files 10
 *   //! end exec
 *   //! site site_image count=10
 *   //! @1 site site_image count=20 bytes=100
 *   //! @1 end exec
 *   //! @4 site site_image count=50 bytes=250
 *   //! @4 end exec
 *   //! @8 site site_image count=90 bytes=450
 *   //! @8 end exec
 *   //! @9 site site_image count=100 bytes=500 live_count=100
 *   //! @9 end exit 7
 *   //! status 7
 */
#include "trap.h"

#include <fcntl.h>

extern char **environ;

SITE static void site_image(int count)
{
    for (int i = 0; i < count; i++)
        keep(malloc(5));
}

static void next_image(int step, char *self, char *number)
{
    char *arguments[] = {self, number, NULL};
    char bare[] = "exec_chain";

    (void)bare;
    switch (step) {
    case 0:
        execl(self, self, number, (char *)NULL);
        break;
    case 1:
        execv(self, arguments);
        break;
    case 2:
        execve(self, arguments, environ);
        break;
    case 3:
        execle(self, self, number, (char *)NULL, environ);
        break;
    case 4:
        execlp(self, self, number, (char *)NULL);
        break;
    case 5:
        execvp(self, arguments);
        break;
    case 6:
        execvpe(self, arguments, environ);
        break;
    case 7:
        fexecve(open(self, O_RDONLY | O_CLOEXEC), arguments, environ);
        break;
    case 8:
        execveat(AT_FDCWD, self, arguments, environ, 0);
        break;
    }
    CHECK(!"exec returned");
}

int main(int argc, char **argv)
{
    int step = argc > 1 ? atoi(argv[1]) : 0;
    char number[16], self[4096] = "";

    site_image(10 * (step + 1));
    if (step == 9)
        return 7;
    CHECK(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
    snprintf(number, sizeof(number), "%d", step + 1);
    next_image(step, self, number);
    return 1;
}
