// SPDX-License-Identifier: Apache-2.0
/*
 * A fatal signal hits a thread amid memhawk_window_begin or _end, which hold locks that the last
 * snapshot needs: window_fatal SCOPE DELAY-US. Run by endings.py: the process must die by SIGTERM.
 */
#include "trap.h"

#include <pthread.h>
#include <signal.h>

#include "memhawk.h"

static void *measure(void *scope)
{
    for (;;) {
        memhawk_window window = memhawk_window_begin("w", *(int *)scope);

        keep(malloc(10));
        memhawk_window_end(window);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    int scope;

    CHECK(argc == 3);
    scope = !strcmp(argv[1], "process") ? MEMHAWK_PROCESS : MEMHAWK_THREAD;
    pthread_create(&thread, NULL, measure, &scope);
    sleep_ms(5);
    usleep((useconds_t)atoi(argv[2]));
    pthread_kill(thread, SIGTERM);
    sleep_ms(20000); /* the test gives up long before */
    return 1;
}
