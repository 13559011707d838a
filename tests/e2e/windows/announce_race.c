// SPDX-License-Identifier: Apache-2.0
/*
 * Two threads announce blocks of 40,000 bytes that start 8 bytes apart, which must not be, again
 * and again at the same time. What is counted of them cannot be exact; the program must not be
 * harmed.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "memhawk.h"

enum { ROUNDS = 1000000, TOGETHER = 64 };

static char memory[64];
static _Atomic int arrived;

static void *announce(void *block)
{
    for (int i = 0; i < ROUNDS; i++) {
        if (i % TOGETHER == 0) {
            arrived++;
            while (arrived < 2 * (i / TOGETHER + 1))
                ;
        }
        memhawk_alloc(block, 40000);
        memhawk_free(block);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[2];
    memhawk_alloc(memory, 512 << 20); /* with a high peak, the recorder's short ways are open */
    memhawk_free(memory);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, announce, memory + 16 + 8 * i);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
