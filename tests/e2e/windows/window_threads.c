// SPDX-License-Identifier: Apache-2.0
/*
 * Windows and threads. MODE noisy: thread A holds a window in which it allocates nothing, while B
 * allocates 10 million times. MODE process: one process window, begun by main and ended by another
 * thread, around 4 threads with 1000 allocations of 32 bytes each. MODE same: 4 threads, each 50
 * iterations of a thread window of one name, with 3 allocations each, beside a loud one.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "memhawk.h"

static atomic_int stop;
static atomic_long noise;
static void *volatile sink;

static __attribute__((noinline)) void *work(size_t size)
{
    void *p = malloc(size);
    __asm__ volatile("" : : "r"(p) : "memory");
    return p;
}

static void *loud(void *most)
{
    for (long i = 0; i < (long)most && !atomic_load(&stop); i++) {
        free(work(48));
        atomic_store_explicit(&noise, i + 1, memory_order_relaxed);
    }
    return NULL;
}

static void show(const char *name)
{
    struct memhawk_counts c;
    int r = memhawk_window_stats(&c);
    printf("%s %d %lld %lld %lld %lld %lld %lld\n", name, r, (long long)c.allocations,
           (long long)c.bytes, (long long)c.frees, (long long)c.freed_bytes, (long long)c.temporary,
           (long long)c.peak_bytes);
}

static void noisy(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, loud, (void *)10000000L);
    while (atomic_load(&noise) == 0)
        ;
    memhawk_window w = memhawk_window_begin("quiet", MEMHAWK_THREAD);
    while (atomic_load(&noise) < 10000000L)
        ;
    memhawk_window_end(w);
    show("quiet");
    pthread_join(thread, NULL);
    printf("noise %ld\n", atomic_load(&noise));
}

static void *thousand(void *unused)
{
    (void)unused;
    for (int i = 0; i < 1000; i++)
        free(work(32));
    return NULL;
}

static void *end_it(void *window)
{
    printf("end %d\n", memhawk_window_end(*(memhawk_window *)window));
    show("all");
    return NULL;
}

static void process(void)
{
    pthread_t threads[4], last;
    memhawk_window w = memhawk_window_begin("all", MEMHAWK_PROCESS);
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, thousand, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    pthread_create(&last, NULL, end_it, &w);
    pthread_join(last, NULL);
}

static void *iterate(void *unused)
{
    (void)unused;
    for (int i = 0; i < 50; i++) {
        memhawk_window w = memhawk_window_begin("mine", MEMHAWK_THREAD);
        void *a = work(10), *b = work(20), *c = work(30);
        free(a), free(b), free(c);
        memhawk_window_end(w);
    }
    return NULL;
}

static void same(void)
{
    pthread_t threads[4], noise_thread;
    pthread_create(&noise_thread, NULL, loud, (void *)1000000000L);
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, iterate, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    atomic_store(&stop, 1);
    pthread_join(noise_thread, NULL);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    setvbuf(stdout, NULL, _IONBF, 0);
    if (strcmp(mode, "noisy") == 0)
        noisy();
    else if (strcmp(mode, "process") == 0)
        process();
    else
        same();
    return 0;
}
