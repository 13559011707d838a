// SPDX-License-Identifier: Apache-2.0
/* What a harness can do wrong, each with the code that it must get; see include/memhawk.h. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memhawk.h"

static memhawk_window of_main;
static void *volatile sink;

static void *other(void *unused)
{
    (void)unused;
    struct memhawk_counts c;
    printf("other-thread %d\n", memhawk_window_end(of_main));
    int r = memhawk_window_stats(&c);
    printf("none-ended %d %d\n", r, c.allocations == MEMHAWK_NOT_MEASURED);
    return NULL;
}

static void deep(void)
{
    memhawk_window windows[20];
    int open = 0;
    for (int i = 0; i < 20; i++)
        open += (windows[i] = memhawk_window_begin("deep", MEMHAWK_THREAD)) != 0;
    printf("open %d\n", open);
    for (int i = 0; i < 20; i++)
        memhawk_window_end(windows[i]);
}

int main(int argc, char **argv)
{
    (void)argv;
    pthread_t thread;
    char name[400];
    setvbuf(stdout, NULL, _IONBF, 0);
    of_main = memhawk_window_begin("main", MEMHAWK_THREAD);
    pthread_create(&thread, NULL, other, NULL);
    pthread_join(thread, NULL);
    printf("end %d\n", memhawk_window_end(of_main));
    printf("twice %d\n", memhawk_window_end(of_main));
    printf("zero %d\n", memhawk_window_end(0));
    printf("wild %d\n", memhawk_window_end(UINT64_MAX));
    printf("resume %d\n", memhawk_resume());
    deep();
    memset(name, 'n', sizeof name);
    name[399] = '\0';
    memhawk_window_end(memhawk_window_begin(name, MEMHAWK_THREAD));
    memhawk_window_end(memhawk_window_begin("<b>\x1b[31m\xff;\"'&", MEMHAWK_THREAD));
    printf("null %d\n", memhawk_window_begin(NULL, MEMHAWK_THREAD) != 0);
    printf("empty %d\n", memhawk_window_begin("", MEMHAWK_THREAD) != 0);
    printf("scope %d\n", memhawk_window_begin("scope", 7) != 0);
    if (argc > 1) { /* killed in the middle of the third iteration */
        for (int i = 0; i < 3; i++) {
            memhawk_window w = memhawk_window_begin("cut", MEMHAWK_THREAD);
            sink = malloc(9);
            free(sink);
            if (i == 2) {
                memhawk_snapshot();
                kill(getpid(), SIGKILL);
            }
            memhawk_window_end(w);
        }
    }
    return 0;
}
