// SPDX-License-Identifier: Apache-2.0
/*
 * scaling THREADS PAIRS: THREADS threads share PAIRS malloc+free pairs of 16 to 527 bytes evenly,
 * each through a ring of its own of 64 blocks. The same work whatever the number of threads: a
 * contention of the profiler's own shows as a ratio that rises with the threads.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { RING = 64 };

static void *churn(void *argument)
{
    const unsigned long pairs = *(const unsigned long *)argument;
    void *ring[RING] = {NULL};
    uint32_t random = 1;
    for (unsigned long i = 0; i < pairs; i++) {
        random = random * 1664525 + 1013904223;
        void **slot = &ring[i % RING];
        free(*slot);
        *slot = malloc(16 + (random >> 23));
        if (*slot)
            *(volatile char *)*slot = 1;
    }
    for (int i = 0; i < RING; i++)
        free(ring[i]);
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    const unsigned long threads = strtoul(argv[1], NULL, 10);
    unsigned long pairs = threads ? strtoul(argv[2], NULL, 10) / threads : 0;
    pthread_t *ids = calloc(threads, sizeof(*ids));
    if (!ids)
        return 1;
    for (unsigned long i = 0; i < threads; i++)
        if (pthread_create(&ids[i], NULL, churn, &pairs) != 0)
            return 1;
    for (unsigned long i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    free(ids);
    return 0;
}
