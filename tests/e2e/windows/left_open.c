// SPDX-License-Identifier: Apache-2.0
/*
 * 300 threads, one after the other, each ends with 16 windows open (as many as it may have), 4800
 * in all, more than there is room for at once. What they left is closed and lost: nobody inherits
 * it, and the thread after them has a window of its own with its own figures.
 */
#include <pthread.h>
#include <stdlib.h>

#include "memhawk.h"

static memhawk_window left;
static void *volatile sink;

static void *leaver(void *unused)
{
    (void)unused;
    for (int i = 0; i < 16; i++) {
        left = memhawk_window_begin("left", MEMHAWK_THREAD);
        if (!left)
            printf("refused\n");
        sink = malloc(100);
    }
    return NULL;
}

static void *successor(void *unused)
{
    (void)unused;
    struct memhawk_counts c;
    printf("left %d\n", memhawk_window_end(left));
    memhawk_window window = memhawk_window_begin("own", MEMHAWK_THREAD);
    for (int i = 0; i < 3; i++)
        sink = malloc(30);
    printf("own %d", memhawk_window_end(window));
    memhawk_window_stats(&c);
    printf(" %lld %lld\n", (long long)c.allocations, (long long)c.bytes);
    return NULL;
}

int main(void)
{
    pthread_t thread;
    setvbuf(stdout, NULL, _IONBF, 0);
    for (int i = 0; i < 301; i++) {
        pthread_create(&thread, NULL, i < 300 ? leaver : successor, NULL);
        pthread_join(thread, NULL);
    }
    return 0;
}
