// SPDX-License-Identifier: Apache-2.0
/*
 * Threads of all kinds: 10,000 that live shortly, 200 at once, stacks of 64 KiB
 * and of the smallest size that there is, and threads that leave by
 * pthread_exit or are cancelled. Each allocates ten blocks and frees five; main
 * frees the rest, so all of a dead thread's figures still count.
 *
 *   //! timeout 120
 *   //! run short short
 *   //!   site site_thread count=100000 bytes=2400000 live_count=0
 *   //!   stack site_thread<run count=100000
 *   //! run wide wide
 *   //!   no-oracle
 *   //!   site site_thread count=2000 bytes=48000 live_count=0
 *   //!   stack site_thread<run count=2000
 *   //! run small_stacks small_stacks
 *   //!   site site_thread count=2000 bytes=48000 live_count=0
 *   //! run tiny_stacks tiny_stacks
 *   //!   site site_thread count=2000 bytes=48000 live_count=0
 *   //! run leaves leaves
 *   //!   site site_thread count=2000 bytes=48000 live_count=0
 *   //! run cancelled cancelled
 *   //!   site site_thread count=2000 bytes=48000 live_count=0
 */
#include "trap.h"

#include <limits.h>
#include <pthread.h>

typedef struct Job {
    pthread_t thread;
    void *kept[5];
    int leave; /* 1: pthread_exit, 2: wait to be cancelled */
} Job;

static pthread_barrier_t gate;
static int gated;
static Job jobs[200];

SITE static void site_thread(Job *job)
{
    for (int i = 0; i < 5; i++) {
        void *p = malloc(24);

        job->kept[i] = malloc(24);
        free(p);
    }
}

static void *run(void *data)
{
    Job *job = data;

    if (gated)
        pthread_barrier_wait(&gate);
    site_thread(job);
    if (gated)
        pthread_barrier_wait(&gate);
    if (job->leave == 1)
        pthread_exit(NULL);
    while (job->leave == 2)
        pause();
    return NULL;
}

static void batch(int count, size_t stack_bytes, int leave)
{
    pthread_attr_t attributes;

    CHECK(pthread_attr_init(&attributes) == 0);
    if (stack_bytes)
        CHECK(pthread_attr_setstacksize(&attributes, stack_bytes) == 0);
    for (int i = 0; i < count; i++) {
        jobs[i].leave = leave;
        CHECK(pthread_create(&jobs[i].thread, &attributes, run, &jobs[i]) == 0);
        if (!gated && leave != 2)
            pthread_join(jobs[i].thread, NULL);
    }
    for (int i = 0; i < count && (gated || leave == 2); i++) {
        if (leave == 2) {
            while (!__atomic_load_n(&jobs[i].kept[4], __ATOMIC_ACQUIRE))
                sleep_ms(1);
            sleep_ms(1);
            pthread_cancel(jobs[i].thread);
        }
        pthread_join(jobs[i].thread, NULL);
    }
    for (int i = 0; i < count; i++)
        for (int j = 0; j < 5; j++) {
            free(jobs[i].kept[j]);
            jobs[i].kept[j] = NULL;
        }
    pthread_attr_destroy(&attributes);
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "wide";

    if (!strcmp(kind, "short"))
        for (int i = 0; i < 50; i++)
            batch(200, 0, 0);
    if (!strcmp(kind, "wide")) {
        gated = 1;
        pthread_barrier_init(&gate, NULL, 200);
        batch(200, 0, 0);
    }
    if (!strcmp(kind, "small_stacks"))
        batch(200, 65536, 0);
    if (!strcmp(kind, "tiny_stacks"))
        batch(200, (size_t)PTHREAD_STACK_MIN, 0);
    if (!strcmp(kind, "leaves"))
        batch(200, 0, 1);
    if (!strcmp(kind, "cancelled"))
        batch(200, 0, 2);
    return 0;
}
