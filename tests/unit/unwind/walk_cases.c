// SPDX-License-Identifier: Apache-2.0
/* Shapes of frames, compiled once a variant (VARIANT: its name; flags in meson.build). */
#include <alloca.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "walk_probe.h"

#define JOIN2(a, b) a##b
#define JOIN(a, b)  JOIN2(a, b)
#define TEXT2(a)    #a
#define TEXT(a)     TEXT2(a)
#define NOINLINE    __attribute__((noinline))

static volatile unsigned sink;
static volatile unsigned zero;

static NOINLINE void plain(unsigned depth)
{
    if (depth)
        plain(depth - 1);
    else
        probe();
    sink += depth;
}

/* Enough live values for rbp to be a general register. */
static NOINLINE unsigned crowded(unsigned a, unsigned b, unsigned c, unsigned d)
{
    unsigned e = a * 3 + sink, f = b * 5 + sink, g = c * 7 + sink, h = d * 11 + sink;
    probe();
    plain(2);
    return a + b * c + d * e + f * g * h + e * g;
}

static NOINLINE void with_alloca(unsigned bytes)
{
    char *room = alloca(bytes + 16);
    memset(room, 1, bytes + 16);
    probe();
    plain(1);
    if (bytes > 64)
        with_alloca(bytes / 2);
    sink += (unsigned)room[bytes];
}

/* Forces the stack to be aligned anew; with alloca, gcc saves the caller's frame address (DRAP). */
static NOINLINE void aligned(unsigned bytes)
{
    _Alignas(64) volatile char block[128];
    char *room = alloca(bytes + 16);
    memset(room, 2, bytes + 16);
    block[bytes & 63] = room[0];
    probe();
    plain(1);
    sink += (unsigned)block[bytes & 63] + (unsigned)((uintptr_t)block & 63);
}

static NOINLINE unsigned many_arguments(int a, int b, int c, int d, int e, int f, int g, int h)
{
    probe();
    return (unsigned)(a + b + c + d + e + f + g + h);
}

static int compare(const void *left, const void *right)
{
    probe();
    return *(const int *)left - *(const int *)right;
}

static NOINLINE __attribute__((noreturn)) void leaves(jmp_buf back)
{
    probe();
    longjmp(back, 1);
}

/* The call is the last instruction: the return address lies in the next function. */
static NOINLINE void ends_in_call(jmp_buf back)
{
    sink++;
    leaves(back);
}

static NOINLINE __attribute__((cold)) void rare(void)
{
    probe();
    sink++;
}

static NOINLINE unsigned with_cold_part(unsigned value)
{
    if (__builtin_expect(value == 77, 0)) {
        rare();
        plain(1);
        sink += value * 3;
    }
    return value + sink;
}

static NOINLINE void recursion(unsigned depth)
{
    volatile char room[32];
    room[depth & 31] = 1;
    if (depth % 16 == 0)
        probe();
    if (depth)
        recursion(depth - 1);
    sink += (unsigned)room[depth & 31];
}

static void run(void)
{
    for (int round = 0; round < 3; round++) {
        plain(5);
        sink += crowded(1, 2, 3, sink);
        with_alloca(400);
        aligned(100 + (unsigned)round * 40);
        sink += many_arguments(1, 2, 3, 4, 5, 6, 7, 8);
        int values[20];
        for (int i = 0; i < 20; i++)
            values[i] = i * 7 % 20;
        qsort(values, 20, sizeof(int), compare);
        jmp_buf back; /* not shared: several threads run this at once */
        if (setjmp(back) == 0)
            ends_in_call(back);
        sink += with_cold_part(77 + zero);
        recursion(100);
    }
}

/* ---- random paths ------------------------------------------------------------------------------
 */

typedef void (*PathStep)(uint64_t path, unsigned depth, void (*leaf)(void));
static const PathStep path_steps[8];

static inline void path_on(uint64_t path, unsigned depth, void (*leaf)(void))
{
    if (depth == 0)
        leaf();
    else
        path_steps[path & 7](path >> 3 | path << 61, depth - 1, leaf);
}

#define PATH_STEP(number, bytes, moving)                                                           \
    static NOINLINE void path_step##number(uint64_t path, unsigned depth, void (*leaf)(void))      \
    {                                                                                              \
        volatile char room[bytes];                                                                 \
        room[0] = 1;                                                                               \
        volatile char *more = (moving) ? alloca((path & 3) * 16 + 16) : NULL;                      \
        if (more)                                                                                  \
            more[0] = 1;                                                                           \
        path_on(path, depth, leaf);                                                                \
        sink += (unsigned)room[0] + (more ? (unsigned)more[0] : 0);                                \
    }

PATH_STEP(0, 16, 0)
PATH_STEP(1, 48, 0)
PATH_STEP(2, 80, 1)
PATH_STEP(3, 24, 0)
PATH_STEP(4, 112, 0)
PATH_STEP(5, 144, 1)
PATH_STEP(6, 64, 0)
PATH_STEP(7, 176, 0)

static const PathStep path_steps[8] = {path_step0, path_step1, path_step2, path_step3,
                                       path_step4, path_step5, path_step6, path_step7};

/* ---- to be interrupted
 * --------------------------------------------------------------------------- */

static NOINLINE unsigned busy_leaf(unsigned value)
{
    return value * 1664525u + 1013904223u + sink;
}

static NOINLINE unsigned busy_saves(unsigned value)
{
    unsigned a = busy_leaf(value), b = busy_leaf(a), c = busy_leaf(b ^ a);
    return a + b * c + busy_leaf(c);
}

static NOINLINE unsigned busy_alloca(unsigned value)
{
    volatile char *room = alloca((value & 63) + 16);
    room[0] = (char)value;
    return busy_saves(value) + (unsigned)room[0];
}

static NOINLINE unsigned busy_aligned(unsigned value)
{
    _Alignas(64) volatile char block[64];
    block[value & 63] = (char)value;
    return busy_alloca(value) + (unsigned)block[value & 63];
}

static unsigned busy(unsigned rounds)
{
    unsigned value = 1;
    while (rounds--)
        value = busy_aligned(value) ^ (unsigned)abs((int)value) ^ (unsigned)strtoul("77", NULL, 10);
    return value;
}

extern const WalkCases JOIN(walk_cases_, VARIANT);
__attribute__((visibility("default")))
const WalkCases JOIN(walk_cases_, VARIANT) = {TEXT(VARIANT), run, path_step0, busy};
