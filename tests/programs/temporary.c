// SPDX-License-Identifier: Apache-2.0
/*
 * Temporary: freed by the same thread with no allocation of that thread in
 * between.
 *
 *   //! site site_yes count=1000 bytes=16000 temporary=1000 live_count=0
 *   //! site site_no count=20 temporary=10 live_count=0
 *   //! site site_other count=10 temporary=0 live_count=0
 *   //! site site_busy_neighbour count=10 temporary=10
 */
#include "trap.h"

#include <pthread.h>

SITE static void site_yes(void)
{
    for (int i = 0; i < 1000; i++) {
        void *p = malloc(16);

        keep(p);
        free(p);
    }
}

SITE static void site_no(void) /* the second of each pair is temporary, the first is not */
{
    for (int i = 0; i < 10; i++) {
        void *a = malloc(8), *b = malloc(8);

        keep(a);
        free(b);
        free(a);
    }
}

static void *release(void *block)
{
    free(block);
    return NULL;
}

SITE static void *site_other(void)
{
    return malloc(8);
}

static void *allocate(void *unused)
{
    (void)unused;
    free(malloc(1));
    return NULL;
}

SITE static void *site_busy_neighbour(void) /* another thread's allocation does not matter */
{
    return malloc(8);
}

/* pthread_create allocates on the calling thread, so threads are made first and
 * wait. */
static pthread_barrier_t gate;
static void *shared;

static void *helper(void *unused)
{
    (void)unused;
    for (int i = 0; i < 10; i++) {
        pthread_barrier_wait(&gate);
        release(shared);
        pthread_barrier_wait(&gate);
    }
    for (int i = 0; i < 10; i++) {
        pthread_barrier_wait(&gate);
        allocate(NULL);
        pthread_barrier_wait(&gate);
    }
    return NULL;
}

int main(void)
{
    pthread_t thread;

    site_yes();
    site_no();
    pthread_barrier_init(&gate, NULL, 2);
    CHECK(pthread_create(&thread, NULL, helper, NULL) == 0);
    for (int i = 0; i < 10; i++) {
        shared = site_other();
        pthread_barrier_wait(&gate);
        pthread_barrier_wait(&gate);
    }
    for (int i = 0; i < 10; i++) {
        void *p = site_busy_neighbour();

        pthread_barrier_wait(&gate);
        pthread_barrier_wait(&gate);
        free(p);
    }
    pthread_join(thread, NULL);
    return 0;
}
