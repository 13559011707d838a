// SPDX-License-Identifier: Apache-2.0
/*
 * Eight threads swap fresh blocks into 64 shared slots and free what they find
 * there: the same addresses go from thread to thread as fast as they can.
 * Nothing may stay, nothing may be missed.
 *
 *   //! timeout 120
 *   //! no-oracle
 *   //! site site_swap count=2400000 bytes=115200000 live_count=0 live_bytes=0
 *   //! site site_grow count=2400000 bytes=134400000 live_count=0 live_bytes=0
 */
#include "trap.h"

#include <pthread.h>
#include <stdatomic.h>

enum { THREADS = 8, ROUNDS = 300000 };

static _Atomic(void *) slots[64];

SITE static void *site_swap(void)
{
    return malloc(48);
}

SITE static void *site_grow(void *block)
{
    return realloc(block, 56);
}

static void *worker(void *seed)
{
    uint32_t random = (uint32_t)(uintptr_t)seed * 2654435761u;

    for (int i = 0; i < ROUNDS; i++) {
        void *p = site_grow(site_swap());

        random = random * 1664525 + 1013904223;
        free(atomic_exchange(&slots[random >> 26], p));
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, worker, (void *)(uintptr_t)(i + 1));
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 64; i++)
        free(slots[i]);
    return 0;
}
