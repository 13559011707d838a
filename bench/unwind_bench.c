// SPDX-License-Identifier: Apache-2.0
/*
 * Cost of stack walks, in three shapes. DEPTH nested calls go through eight functions with
 * different frame sizes, chosen by random bits; at the leaf a stand-in for a hook asks for the
 * walk. unwind_bench verified DEPTH COUNT   the same stack again and again unwind_bench walked
 * DEPTH COUNT     a new random path for each walk unwind_bench mixed DEPTH COUNT      a new random
 * path for each four walks Prints nanoseconds a walk and the walker's statistics. For instructions:
 *   valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect=unwind_walk \
 *       build/bench/unwind_bench verified 20 10000
 * and divide the "Collected" figure. docs/UNWINDER.md has the figures.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "unwind/unwind.h"

static UnwindThread *thread;
static uint64_t sum; /* keeps calls from being optimised away */

static void *map_pages(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* rbp is needed by no rule of this program's frames. */
static __attribute__((noinline)) void hook(void)
{
    UnwindContext context = {.pc = (uint64_t)__builtin_return_address(0),
                             .sp = (uint64_t)__builtin_dwarf_cfa()};
    sum += unwind_walk(thread, &context)->hash;
}

typedef void (*Step)(uint64_t path, unsigned depth, unsigned repeat);
static const Step steps[8];

#define STEP(number, bytes)                                                                        \
    static __attribute__((noinline)) void step##number(uint64_t path, unsigned depth,              \
                                                       unsigned repeat)                            \
    {                                                                                              \
        volatile char room[bytes];                                                                 \
        room[0] = 1;                                                                               \
        if (depth == 0)                                                                            \
            for (unsigned i = 0; i < repeat; i++)                                                  \
                hook();                                                                            \
        else                                                                                       \
            steps[path & 7](path >> 3 | path << 61, depth - 1, repeat);                            \
        sum += room[0];                                                                            \
    }

STEP(0, 16)
STEP(1, 48)
STEP(2, 80)
STEP(3, 24)
STEP(4, 112)
STEP(5, 144)
STEP(6, 64)
STEP(7, 176)

static const Step steps[8] = {step0, step1, step2, step3, step4, step5, step6, step7};

static uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: unwind_bench verified|walked|mixed DEPTH COUNT\n");
        return 2;
    }
    unsigned depth = (unsigned)atoi(argv[2]), count = (unsigned)atoi(argv[3]);
    unsigned repeat = argv[1][0] == 'v' ? count : argv[1][0] == 'm' ? 4 : 1;
    if (unwind_init(map_pages) < 0 || !(thread = map_pages(unwind_thread_bytes(64))))
        return 1;
    unwind_thread_init(thread, 64, false);
    uint64_t state = 88172645463325252u, start_ns = clock_monotonic_ns();
    for (unsigned done = 0; done < count; done += repeat)
        steps[0](random_next(&state), depth, repeat);
    double ns = (double)(clock_monotonic_ns() - start_ns) / count;
    UnwindStats stats;
    unwind_thread_stats(thread, &stats);
    printf("%.1f ns a walk; %lu walks, %lu verified, %lu joined, %lu frames walked, %lu rules\n",
           ns, stats.walks, stats.verified, stats.joined, stats.frames_walked, stats.rule_misses);
    return sum == 42;
}
