// SPDX-License-Identifier: Apache-2.0
/*
 * frames24 [-w WALKS | -s SECONDS] [-t THREADS]: the worst case for a profiler that remembers
 * stacks. Each thread makes 24 nested calls through 8 functions with different frame sizes; a
 * random 10-bit path chooses which function stands at which depth, so two paths differ in nearly
 * all frames. At the leaf four times: free the oldest block of a ring of 4,096, allocate 16 to 271
 * bytes. Then the next path. So 1,024 stacks in all, and every fourth allocation has a new one.
 *
 * Defaults: 2 threads, 250,000 walks (1,000,000 allocations) each. Prints walks and allocations.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { DEPTH = 24, RING = 4096, PATHS = 1024, PER_LEAF = 4 };

typedef struct Thread {
    pthread_t id;
    uint64_t random;
    unsigned long walks_wanted; /* 0: until deadline */
    double deadline_s;
    unsigned long walks;
    size_t oldest;
    void *ring[RING];
} Thread;

typedef unsigned (*StepFn)(Thread *thread, uint64_t path, unsigned depth);
static StepFn const steps[8];
static uint64_t paths[PATHS]; /* spread over 64 bits, three of them for each depth */

static uint64_t random_next(uint64_t *state)
{
    uint64_t x = (*state += UINT64_C(0x9e3779b97f4a7c15));
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static __attribute__((noinline)) unsigned leaf(Thread *thread, uint64_t path)
{
    for (int i = 0; i < PER_LEAF; i++) {
        void **slot = &thread->ring[thread->oldest++ % RING];
        free(*slot);
        *slot = malloc(16 + (size_t)(path >> (8 * i)) % 256);
        if (*slot)
            *(volatile char *)*slot = (char)i;
    }
    return (unsigned)path;
}

/* The add after the call keeps it from becoming a jump, the array makes the frame's size. */
#define STEP(number, bytes)                                                                        \
    static __attribute__((noinline)) unsigned step_##number(Thread *thread, uint64_t path,         \
                                                            unsigned depth)                        \
    {                                                                                              \
        volatile char local[bytes];                                                                \
        local[0] = (char)depth;                                                                    \
        path = path >> 3 | path << 61;                                                             \
        unsigned sum = depth == 0 ? leaf(thread, path) : steps[path & 7](thread, path, depth - 1); \
        return sum + (unsigned)local[0];                                                           \
    }
STEP(0, 16)
STEP(1, 40)
STEP(2, 72)
STEP(3, 104)
STEP(4, 168)
STEP(5, 232)
STEP(6, 328)
STEP(7, 456)
static StepFn const steps[8] = {step_0, step_1, step_2, step_3, step_4, step_5, step_6, step_7};

static double now_s(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static int is_over(const Thread *thread)
{
    if (thread->walks_wanted > 0)
        return thread->walks >= thread->walks_wanted;
    return thread->walks % 1024 == 0 && now_s() >= thread->deadline_s;
}

static void *work(void *argument)
{
    Thread *thread = argument;
    while (!is_over(thread)) {
        uint64_t path = paths[random_next(&thread->random) % PATHS];
        steps[path & 7](thread, path, DEPTH - 1);
        thread->walks++;
    }
    for (int i = 0; i < RING; i++)
        free(thread->ring[i]);
    return NULL;
}

int main(int argc, char **argv)
{
    unsigned long walks = 250000;
    double seconds = 0;
    int threads = 2;
    for (int option; (option = getopt(argc, argv, "w:s:t:")) != -1;) {
        switch (option) {
        case 'w':
            walks = strtoul(optarg, NULL, 10);
            break;
        case 's':
            seconds = strtod(optarg, NULL);
            walks = 0;
            break;
        case 't':
            threads = (int)strtol(optarg, NULL, 10);
            break;
        default:
            return 2;
        }
    }
    uint64_t seed = 1;
    for (int i = 0; i < PATHS; i++)
        paths[i] = random_next(&seed);
    Thread *all = calloc((size_t)threads, sizeof(*all));
    if (!all)
        return 1;
    for (int i = 0; i < threads; i++) {
        all[i].random = (uint64_t)i;
        all[i].walks_wanted = walks;
        all[i].deadline_s = now_s() + seconds;
        if (pthread_create(&all[i].id, NULL, work, &all[i]) != 0)
            return 1;
    }
    unsigned long total = 0;
    for (int i = 0; i < threads; i++) {
        pthread_join(all[i].id, NULL);
        total += all[i].walks;
    }
    printf("%lu walks, %lu allocations\n", total, total * PER_LEAF);
    free(all);
    return 0;
}
