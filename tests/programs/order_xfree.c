// SPDX-License-Identifier: Apache-2.0
/*
 * Ten million blocks allocated on one thread and freed on another, through a
 * ring: nothing stays. Sizes 16 .. 143 in turn: 78,125 rounds of 128 * 16 +
 * 8,128 bytes.
 *
 *   //! timeout 240
 *   //! no-oracle
 *   //! site site_make count=10000000 bytes=795000000 live_count=0 live_bytes=0
 * temporary=0
 *   //! stack site_make<producer count=10000000
 */
#include "trap.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { RING = 4096, BLOCKS = 10000000 };

static _Atomic(void *) ring[RING];

SITE static void *site_make(size_t i)
{
    return malloc(16 + (i & 127));
}

SITE static void *producer(void *unused)
{
    (void)unused;
    for (size_t i = 0; i < BLOCKS; i++) {
        void *p = site_make(i);

        while (atomic_load_explicit(&ring[i % RING], memory_order_relaxed))
            sched_yield();
        atomic_store_explicit(&ring[i % RING], p, memory_order_release);
    }
    return NULL;
}

static void *consumer(void *unused)
{
    (void)unused;
    for (size_t i = 0; i < BLOCKS; i++) {
        void *p;

        while (!(p = atomic_load_explicit(&ring[i % RING], memory_order_acquire)))
            sched_yield();
        atomic_store_explicit(&ring[i % RING], NULL, memory_order_relaxed);
        free(p);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[2];

    pthread_create(&threads[0], NULL, producer, NULL);
    pthread_create(&threads[1], NULL, consumer, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return 0;
}
