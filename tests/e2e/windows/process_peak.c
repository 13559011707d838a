// SPDX-License-Identifier: Apache-2.0
/*
 * Peaks of process windows. One thread: exact, from a byte on. Then with a second thread that has
 * 1,900 bytes of small blocks which nobody was told of when the windows begin: idle in "main",
 * where the first thread has 100,000 bytes for a moment; in "other" it has 50,000 bytes of its own,
 * and the 1,900 are no part of it. In "release" the second thread's first act is to release a block
 * of 50,000,000, and the first one has 70,000,000 for a moment after that: 20,000,000.
 */
#include <pthread.h>
#include <stdlib.h>

#include "memhawk.h"

enum { LARGE = 50000000 };

static void *volatile sink, *volatile large;
static pthread_barrier_t barrier;

static void show(const char *name)
{
    struct memhawk_counts c;
    memhawk_window_stats(&c);
    printf("%s %lld\n", name, (long long)c.peak_bytes);
}

static __attribute__((noinline)) void for_a_moment(size_t size)
{
    void *block = malloc(size);
    sink = block;
    free(block);
}

static void *second(void *unused)
{
    void *small[19];
    (void)unused;
    large = malloc(LARGE);
    for (int i = 0; i < 19; i++)
        small[i] = malloc(100);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    for_a_moment(50000);
    pthread_barrier_wait(&barrier);
    small[0] = realloc(small[0], 50);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    free(large);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < 19; i++)
        free(small[i]);
    return NULL;
}

int main(void)
{
    static char buffer[1 << 12];
    pthread_t thread;
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    for (size_t size = 1; size < 5000; size = size * 3 + 1) {
        char name[32];
        memhawk_window w = memhawk_window_begin("alone", MEMHAWK_PROCESS);
        void *block = malloc(size);
        sink = block;
        for_a_moment(7);
        free(block);
        memhawk_window_end(w);
        snprintf(name, sizeof name, "alone-%zu", size + 7);
        show(name);
    }
    for_a_moment(8 << 20); /* with a high peak, threads tell in large steps */
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&thread, NULL, second, NULL);
    pthread_barrier_wait(&barrier);

    memhawk_window w = memhawk_window_begin("main", MEMHAWK_PROCESS);
    for_a_moment(100000);
    memhawk_window_end(w);
    show("main");

    w = memhawk_window_begin("other", MEMHAWK_PROCESS);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    memhawk_window_end(w);
    show("other");

    pthread_barrier_wait(&barrier);
    w = memhawk_window_begin("release", MEMHAWK_PROCESS);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    for_a_moment(LARGE + 20000000);
    memhawk_window_end(w);
    show("release");
    pthread_barrier_wait(&barrier);
    pthread_join(thread, NULL);
    return 0;
}
