// SPDX-License-Identifier: Apache-2.0
/*
 * footprint blocks N | stacks N | threads N: touches N of one thing, everything else being equal,
 * and prints what the process then occupies, so that runs with and without the profiler, for two N,
 * give the profiler's cost of one more.
 *
 *   blocks N   N live blocks of 16 bytes (32 bytes of heap each), all of one stack
 *   stacks N   one block through each of N different stacks of FRAMES nested calls
 *   threads N  N threads, alive at once, that each use the same 512 stacks
 *
 * Prints "rss_bytes=R heap_bytes=H frames=F": VmRSS, the heap's span (sbrk and mmap in use by
 * mallinfo2) and the calls nested below main or the thread's start.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FRAMES = 20, THREAD_STACKS = 512 };

static __attribute__((noinline)) unsigned zero(uint32_t path, unsigned depth);
static __attribute__((noinline)) unsigned one(uint32_t path, unsigned depth);

static unsigned descend(uint32_t path, unsigned depth)
{
    if (depth == 0) {
        char *block = malloc(24);
        if (block)
            *(volatile char *)block = 1;
        free(block);
        return 1;
    }
    return path & 1 ? one(path >> 1, depth - 1) : zero(path >> 1, depth - 1);
}

/* The volatile after the call keeps the frames: no jump, no merging of the two. */
static unsigned zero(uint32_t path, unsigned depth)
{
    volatile unsigned local = 0;
    return descend(path, depth) + local;
}

static unsigned one(uint32_t path, unsigned depth)
{
    volatile unsigned local = 1;
    return descend(path, depth) + local;
}

static pthread_barrier_t all_done, may_end;

static void *use_stacks(void *argument)
{
    for (uint32_t i = 0; i < THREAD_STACKS; i++)
        zero(i, FRAMES - 1);
    pthread_barrier_wait(&all_done);
    pthread_barrier_wait(&may_end);
    return argument;
}

static void print_footprint(void)
{
    /* The profiler's collector has had its tick. */
    sleep(2);
    unsigned long rss_pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    if (!statm || fscanf(statm, "%*s %lu", &rss_pages) != 1)
        exit(1);
    fclose(statm);
    struct mallinfo2 info = mallinfo2();
    printf("rss_bytes=%lu heap_bytes=%zu frames=%d\n",
           rss_pages * (unsigned long)sysconf(_SC_PAGESIZE), info.arena + info.hblkhd, FRAMES);
}

static int run_threads(unsigned count)
{
    pthread_t id;
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 128 << 10);
    pthread_barrier_init(&all_done, NULL, count + 1);
    pthread_barrier_init(&may_end, NULL, count + 1);
    for (unsigned i = 0; i < count; i++)
        if (pthread_create(&id, &small, use_stacks, NULL) != 0)
            return 1;
    pthread_barrier_wait(&all_done);
    print_footprint();
    return 0; /* the threads end with the process */
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    const unsigned long count = strtoul(argv[2], NULL, 10);
    if (strcmp(argv[1], "threads") == 0)
        return run_threads((unsigned)count);
    for (unsigned long i = 0; i < count; i++) {
        if (strcmp(argv[1], "stacks") == 0) {
            zero((uint32_t)i, FRAMES - 1);
        } else {
            char *block = malloc(16);
            if (block)
                *(volatile char *)block = 1;
        }
    }
    print_footprint();
    return 0;
}
