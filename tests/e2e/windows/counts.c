// SPDX-License-Identifier: Apache-2.0
/*
 * Windows whose every figure is computed by hand. The program prints what memhawk_window_stats()
 * gives, one line for each window; test_windows.py compares it with the figures in the comments and
 * with the profile. Each allocation is a function of its own, so that stacks have names.
 */
#include <stdlib.h>
#include <string.h>

#include "memhawk.h"

#define SITE __attribute__((noinline, noclone))

static void *volatile sink;

static void show(const char *name)
{
    struct memhawk_counts c;
    int r = memhawk_window_stats(&c);
    printf("%s %d %lld %lld %lld %lld %lld %lld\n", name, r, (long long)c.allocations,
           (long long)c.bytes, (long long)c.frees, (long long)c.freed_bytes, (long long)c.temporary,
           (long long)c.peak_bytes);
}

static SITE void *take(size_t size)
{
    sink = malloc(size);
    return sink;
}

static SITE void *take_zeroed(size_t count, size_t size)
{
    sink = calloc(count, size);
    return sink;
}

static SITE void *resize(void *block, size_t size)
{
    sink = realloc(block, size);
    return sink;
}

static SITE void give(void *block)
{
    sink = block;
    free(block);
}

/* Nothing: all zeros. */
static SITE void nothing(void)
{
    memhawk_window w = memhawk_window_begin("nothing", MEMHAWK_THREAD);
    memhawk_window_end(w);
    show("nothing");
}

/* 3 allocations, 16 + 3 * 10 + 100 = 146 bytes; all freed; only c with no allocation in between, so
 * 1 is temporary. Peak 146. */
static SITE void plain(void)
{
    memhawk_window w = memhawk_window_begin("plain", MEMHAWK_THREAD);
    void *a = take(16), *b = take_zeroed(3, 10), *c = take(100);
    give(c);
    give(b);
    give(a);
    memhawk_window_end(w);
    show("plain");
}

/* A chain: malloc 10, realloc to 20, 40, 80, free. 4 allocations of 150 bytes, 4 frees of 150, each
 * block freed before the next is taken: all temporary, and the peak is 80. */
static SITE void chain(void)
{
    memhawk_window w = memhawk_window_begin("chain", MEMHAWK_THREAD);
    void *p = take(10);
    p = resize(p, 20);
    p = resize(p, 40);
    p = resize(p, 80);
    give(p);
    memhawk_window_end(w);
    show("chain");
}

/* Frees 5 blocks of 1000 that are older than the window (the last one taken is temporary), and
 * takes one of 200 afterwards: growth never above 0, so the peak is 0. */
static SITE void older(void)
{
    void *blocks[5];
    for (int i = 0; i < 5; i++)
        blocks[i] = take(1000);
    memhawk_window w = memhawk_window_begin("older", MEMHAWK_THREAD);
    for (int i = 0; i < 5; i++)
        give(blocks[i]);
    void *late = take(200);
    memhawk_window_end(w);
    show("older");
    give(late);
}

/* 7 blocks of 64 that outlive the window: 448 bytes stay. */
static SITE void outlive(void)
{
    static void *blocks[7];
    memhawk_window w = memhawk_window_begin("outlive", MEMHAWK_THREAD);
    for (int i = 0; i < 7; i++)
        blocks[i] = take(64);
    memhawk_window_end(w);
    show("outlive");
    for (int i = 0; i < 7; i++)
        give(blocks[i]);
}

/* outer 10 + 20 + 30 + 40 + 50; inside it inner 20 + 30; crossing begins in outer, ends after it:
 * 50 + 60. */
static SITE void nested(void)
{
    memhawk_window outer = memhawk_window_begin("outer", MEMHAWK_THREAD);
    void *a = take(10);
    memhawk_window inner = memhawk_window_begin("inner", MEMHAWK_THREAD);
    void *b = take(20), *c = take(30);
    memhawk_window_end(inner);
    show("inner");
    void *d = take(40);
    memhawk_window crossing = memhawk_window_begin("crossing", MEMHAWK_THREAD);
    void *e = take(50);
    memhawk_window_end(outer);
    show("outer");
    void *f = take(60);
    memhawk_window_end(crossing);
    show("crossing");
    give(a), give(b), give(c), give(d), give(e), give(f);
}

/* 100 iterations; the first is a warm-up of 13 allocations, every 10th has one extra of 500. */
static SITE void repeated(void)
{
    for (int i = 0; i < 100; i++) {
        memhawk_window w = memhawk_window_begin("repeated", MEMHAWK_THREAD);
        void *p = take(8), *q = take(24);
        if (i == 0)
            for (int k = 0; k < 11; k++)
                give(take_zeroed(1, 7));
        if (i % 10 == 9)
            give(resize(NULL, 500));
        give(p);
        give(q);
        memhawk_window_end(w);
    }
    show("repeated");
}

/* Paused: 3 of the 6 allocations do not count, nor does the release of those blocks; the release of
 * `a` does, being counted, and the old block of the paused realloc: 2 frees of 10 + 40. No
 * allocation of the thread came between 40 and its release that counts. */
static SITE void paused(void)
{
    memhawk_window w = memhawk_window_begin("paused", MEMHAWK_THREAD);
    void *a = take(10), *grows = take(40);
    memhawk_pause();
    void *b = take(1000);
    memhawk_pause();
    void *c = take(1000);
    grows = resize(grows, 3000);
    memhawk_resume();
    void *d = take(1000);
    give(a);
    memhawk_resume();
    void *e = take(20);
    give(b), give(c), give(d), give(grows);
    memhawk_window_end(w);
    show("paused");
    give(e);
}

/* Blocks of an allocator of our own: 4 of 256 bytes from static memory, 3 given back. */
static SITE void custom(void)
{
    static _Alignas(64) char arena[4][256];
    memhawk_window w = memhawk_window_begin("custom", MEMHAWK_THREAD);
    for (int i = 0; i < 4; i++)
        memhawk_alloc(arena[i], 256);
    for (int i = 0; i < 3; i++)
        memhawk_free(arena[i]);
    memhawk_free(arena[0]); /* not known any more: nothing */
    memhawk_window_end(w);
    show("custom");
    memhawk_free(arena[3]);
}

/* A pool of 64 objects of 16 bytes side by side, of which every second one is given back, from the
 * last to the first: 32 frees of 512 bytes; the first of them had no allocation after it. */
static SITE void pool(void)
{
    static _Alignas(64) char arena[64][16];
    memhawk_window w = memhawk_window_begin("pool", MEMHAWK_THREAD);
    for (int i = 0; i < 64; i++)
        memhawk_alloc(arena[i], 16);
    for (int i = 63; i > 0; i -= 2)
        memhawk_free(arena[i]);
    memhawk_window_end(w);
    show("pool");
    for (int i = 0; i < 64; i += 2)
        memhawk_free(arena[i]);
}

/* Nearer than 16 bytes: the later one ends the earlier, whichever way, also where a block of more
 * than 1 GiB is the later or the earlier. 5 allocations of 10 + 20 + 30 bytes, 8 GiB and 40 bytes;
 * the first four are ended by the next, the last one is freed: 5 frees, all with no allocation
 * between the block's own and its end. */
static SITE void near_blocks(void) /* "near" is a word of Intel's assembler */
{
    static _Alignas(64) char arena[64];
    memhawk_window w = memhawk_window_begin("near", MEMHAWK_THREAD);
    memhawk_alloc(arena + 16, 10);
    memhawk_alloc(arena + 8, 20);
    memhawk_alloc(arena + 16, 30);
    memhawk_alloc(arena, (size_t)8 << 30);
    memhawk_alloc(arena + 16, 40);
    memhawk_free(arena);
    memhawk_free(arena + 8);
    memhawk_free(arena + 16);
    memhawk_window_end(w);
    show("near");
}

int main(void)
{
    static char buffer[1 << 16];
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    printf("active %d\n", memhawk_active());
    nothing();
    plain();
    chain();
    older();
    outlive();
    nested();
    repeated();
    paused();
    custom();
    pool();
    near_blocks();
    memhawk_mark("half \"way\"\n");
    printf("no mark %d\n", memhawk_mark(NULL));
    printf("snapshot %d\n", memhawk_snapshot());
    return 0;
}
