// SPDX-License-Identifier: Apache-2.0
/*
 * The cost of an empty begin/end pair when 10,000 stacks are known: prints the median of 2000 pairs
 * in ns, for thread and process scope. `cost N` makes N pairs only (for callgrind, which counts
 * inside pair()).
 */
#include <stdlib.h>
#include <time.h>

#include "memhawk.h"

enum { DEPTH = 14, PAIRS = 2000 };

static void *volatile sink;

/* 2^14 paths through two functions: 16384 stacks; the first 10,000 are used. */
static __attribute__((noinline)) void left(unsigned path, int depth);
static __attribute__((noinline)) void right(unsigned path, int depth);

static __attribute__((noinline)) void go(unsigned path, int depth)
{
    if (depth == 0) {
        sink = malloc(16);
        free(sink);
    } else if (path & 1) {
        left(path >> 1, depth - 1);
    } else {
        right(path >> 1, depth - 1);
    }
    __asm__ volatile("" : : : "memory");
}

static void left(unsigned path, int depth)
{
    go(path, depth);
    __asm__ volatile("" : : : "memory");
}

static void right(unsigned path, int depth)
{
    go(path, depth);
    __asm__ volatile("" : : : "memory");
}

static uint64_t now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

__attribute__((noinline)) void pair(int scope)
{
    memhawk_window w = memhawk_window_begin("cost", scope);
    memhawk_window_end(w);
}

static void measure(int scope)
{
    static uint64_t times[PAIRS];
    for (int i = 0; i < PAIRS; i++) {
        uint64_t begin = now_ns();
        pair(scope);
        times[i] = now_ns() - begin;
    }
    qsort(times, PAIRS, sizeof *times, compare);
    printf("%s %llu\n", scope == MEMHAWK_THREAD ? "thread" : "process",
           (unsigned long long)times[PAIRS / 2]);
}

int main(int argc, char **argv)
{
    static char buffer[4096];
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    for (unsigned path = 0; path < 10000; path++)
        go(path, DEPTH);
    if (argc > 1) {
        for (int i = 0; i < atoi(argv[1]); i++)
            pair(MEMHAWK_THREAD);
        return 0;
    }
    measure(MEMHAWK_THREAD);
    measure(MEMHAWK_PROCESS);
    return 0;
}
