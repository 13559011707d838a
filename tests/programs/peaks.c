// SPDX-License-Identifier: Apache-2.0
/*
 * Peaks with a known composition. MiB = 1,048,576.
 *
 *   "short": 10 MiB live; then 30 MiB at site_a (32 KiB each) and 20 MiB at
 * site_b (256 KiB) for 5 ms between two ticks: peak 60 MiB, composed of 10 + 30
 * + 20. "tiny_blocks": the same with blocks of 100 bytes at site_a: 300,000 of
 * them. "two_up": 20 MiB at site_a, gone; then 21 MiB at site_b: the second is
 * the peak. "two_down": 21 MiB, then 20: the first. "steady": 100 MiB in steps
 * of 10,240 bytes over a second; the end is the peak. "sawtooth": 100 teeth of
 * 64-KiB blocks, tooth i holds 100 + i of them; the last is the peak.
 *   "growing": one block from 1 KiB to 512 MiB by realloc; a realloc frees the
 * old one first. "threads": 8 threads hold 4 MiB each at once.
 *
 *   //! run short short
 *   //!   peak bytes=~62914560
 *   //!   peak-site site_base live_bytes=~10485760
 *   //!   peak-site site_a live_bytes=~31457280
 *   //!   peak-site site_b live_bytes=~20971520
 *   //!   site site_a count=960 bytes=31457280 live_count=0
 *   //!   site site_b count=80 bytes=20971520 live_count=0
 *   //! run tiny_blocks tiny_blocks
 *   //!   peak bytes=~61457280
 *   //!   peak-site site_base live_bytes=~10485760
 *   //!   peak-site site_a live_bytes=~30000000
 *   //!   peak-site site_b live_bytes=~20971520
 *   //!   site site_a count=300000 bytes=30000000 live_count=0
 *   //! run two_up two_up
 *   //!   peak bytes=~22020096
 *   //!   peak-site site_a live_bytes=~0
 *   //!   peak-site site_b live_bytes=~22020096
 *   //! run two_down two_down
 *   //!   peak bytes=~22020096
 *   //!   peak-site site_a live_bytes=~22020096
 *   //!   peak-site site_b live_bytes=~0
 *   //! run steady steady
 *   //!   peak bytes=~104857600
 *   //!   site site_a count=10240 bytes=104857600 live_count=10240
 *   //!   peak-site site_a live_bytes=~104857600
 *   //! run sawtooth sawtooth
 *   //!   peak bytes=~13041664
 *   //!   peak-site site_a live_bytes=~13041664
 *   //!   site site_a count=14950 bytes=979763200 live_count=0
 *   //! run growing growing
 *   //!   peak bytes=~536870912
 *   //!   site site_grow count=20 bytes=1073740800 live_count=1
 * live_bytes=536870912
 *   //! run threads threads
 *   //!   peak bytes=~33554432
 *   //!   peak-site site_a live_bytes=~33554432
 *   //!   site site_a count=8192 bytes=33554432 live_count=0
 */
#include "trap.h"

#include <pthread.h>

enum { MANY = 400000 };
static void *blocks[MANY];

SITE static int site_base(int at, int count, size_t size)
{
    for (int i = 0; i < count; i++)
        blocks[at++] = malloc(size);
    return at;
}

SITE static int site_a(int at, int count, size_t size)
{
    for (int i = 0; i < count; i++)
        blocks[at++] = malloc(size);
    return at;
}

SITE static int site_b(int at, int count, size_t size)
{
    for (int i = 0; i < count; i++)
        blocks[at++] = malloc(size);
    return at;
}

static void release(int from, int to)
{
    for (int i = from; i < to; i++)
        free(blocks[i]);
}

static void tell_peak_time(void)
{
    tell(1, "//! peak-time %llu\n", (unsigned long long)wall_ns());
}

static void spike(int tiny)
{
    int base = site_base(0, 40, 256 << 10), top;

    sleep_ms(300);
    top = tiny ? site_a(base, 300000, 100) : site_a(base, 960, 32 << 10);
    top = site_b(top, 80, 256 << 10);
    tell_peak_time();
    sleep_ms(5);
    release(base, top);
    sleep_ms(1200);
}

static void two(int first, int second)
{
    release(0, site_a(0, first, 1 << 20));
    sleep_ms(200);
    release(0, site_b(0, second, 1 << 20));
    sleep_ms(1200);
}

static void steady(void)
{
    int at = 0;

    for (int i = 0; i < 100; i++) {
        at = site_a(at, at == 99 * 102 ? 142 : 102, 10240);
        sleep_ms(10);
    }
    tell_peak_time();
}

static void sawtooth(void)
{
    for (int i = 0; i < 100; i++) {
        release(0, site_a(0, 100 + i, 64 << 10));
        sleep_ms(10);
    }
}

SITE static void site_grow(void)
{
    void *p = NULL;

    for (size_t size = 1024; size <= 512ul << 20; size *= 2) {
        p = realloc(p, size);
        CHECK(p);
        sleep_ms(10);
    }
    blocks[0] = p;
}

static pthread_barrier_t gate;

static void *worker(void *number)
{
    int from = (int)(intptr_t)number * 1024;
    int to = site_a(from, 1024, 4096);

    pthread_barrier_wait(&gate);
    sleep_ms(5);
    pthread_barrier_wait(&gate);
    release(from, to);
    return NULL;
}

static void threads(void)
{
    pthread_t all[8];

    pthread_barrier_init(&gate, NULL, 8);
    for (intptr_t i = 0; i < 8; i++)
        pthread_create(&all[i], NULL, worker, (void *)i);
    for (int i = 0; i < 8; i++)
        pthread_join(all[i], NULL);
    sleep_ms(1200);
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "short";

    if (!strcmp(kind, "short") || !strcmp(kind, "tiny_blocks"))
        spike(!strcmp(kind, "tiny_blocks"));
    if (!strcmp(kind, "two_up"))
        two(20, 21);
    if (!strcmp(kind, "two_down"))
        two(21, 20);
    if (!strcmp(kind, "steady"))
        steady();
    if (!strcmp(kind, "sawtooth"))
        sawtooth();
    if (!strcmp(kind, "growing"))
        site_grow();
    if (!strcmp(kind, "threads"))
        threads();
    return 0;
}
