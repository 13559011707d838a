// SPDX-License-Identifier: Apache-2.0
/*
 * A hundred threads end by the bare system call, which tells nobody, each paused and with 16 open
 * windows. A thread that comes later records with the state of one of them, and nothing of that is
 * left: its window "mine" has 7 allocations of 10 bytes, and it is not paused.
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "memhawk.h"

enum { THREADS = 100, WINDOWS = 16 };

static void *volatile sink;
static pthread_barrier_t barrier;

static void take_and_give(void)
{
    sink = malloc(10);
    free(sink);
}

static void *die(void *unused)
{
    (void)unused;
    take_and_give();
    for (int i = 0; i < WINDOWS; i++)
        memhawk_window_begin("left open", MEMHAWK_THREAD);
    memhawk_pause();
    pthread_barrier_wait(&barrier);
    syscall(SYS_exit, 0);
    return NULL;
}

static void *live(void *unused)
{
    struct memhawk_counts c;
    memhawk_window w = memhawk_window_begin("mine", MEMHAWK_THREAD);
    (void)unused;
    for (int i = 0; i < 7; i++)
        take_and_give();
    memhawk_window_end(w);
    memhawk_window_stats(&c);
    printf("%lld %lld %d\n", (long long)c.allocations, (long long)c.bytes, memhawk_resume());
    return NULL;
}

/* The dead are found while a snapshot is made, once they are dead for the kernel. */
static void await_their_end(void)
{
    int threads = THREADS;
    while (threads > 2) { /* this one and the recorder's */
        FILE *status = fopen("/proc/self/status", "r");
        char line[256];
        while (status && fgets(line, sizeof line, status))
            sscanf(line, "Threads: %d", &threads);
        fclose(status);
        usleep(10000);
    }
    memhawk_snapshot();
}

int main(void)
{
    pthread_t thread;
    pthread_barrier_init(&barrier, NULL, THREADS + 1);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread, NULL, die, NULL);
    pthread_barrier_wait(&barrier);
    await_their_end();
    pthread_create(&thread, NULL, live, NULL);
    pthread_join(thread, NULL);
    return 0;
}
