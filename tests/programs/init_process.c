// SPDX-License-Identifier: Apache-2.0
/*
 * Process 1 of a namespace of its own (run by endings.py): the kernel drops every signal that it
 * has no handler for. It would die of them if the recorder had put its own handlers there.
 */
#include "trap.h"

#include <signal.h>

SITE static void site_before(void)
{
    for (int i = 0; i < 10; i++)
        keep(malloc(100));
}

SITE static void site_after(void)
{
    for (int i = 0; i < 6; i++)
        keep(malloc(20));
}

int main(void)
{
    static const int dropped[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGALRM};

    if (getpid() != 1) {
        tell(1, "not process 1\n");
        return 77;
    }
    site_before();
    for (size_t i = 0; i < sizeof(dropped) / sizeof(*dropped); i++)
        kill(1, dropped[i]);
    sleep_ms(20);
    site_after();
    tell(1, "still here\n");
    return 7;
}
