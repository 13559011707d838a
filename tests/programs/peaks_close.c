// SPDX-License-Identifier: Apache-2.0
/*
 * Peaks that follow each other within the time that a capture may cost: 8192 stacks change before
 * the first, so that its capture is a dear one. The later, higher peak consists of other blocks and
 * must be there with them, however little higher it is, and whatever the heap does afterwards.
 *
 *   //! run replaced replaced
 *   //!   peak bytes=~68681728
 *   //!   peak-site site_a live_bytes=0
 *   //!   peak-site site_b live_bytes=~68157440
 *   //! run last last
 *   //!   peak bytes=~69468160
 *   //!   peak-site site_a live_bytes=0
 *   //!   peak-site site_b live_bytes=~68943872
 *   //! run steps steps
 *   //!   peak bytes=~55312384
 *   //!   peak-site site_a live_bytes=0
 *   //!   peak-site site_b live_bytes=~54788096
 */
#include "trap.h"

enum { LEVELS = 13, BLOCK = 256 << 10, MANY = 4096 };
static void *small[1 << LEVELS], *blocks[MANY];

SITE static void branch(unsigned path, int level);

SITE static void left(unsigned path, int level)
{
    branch(path, level);
    keep(&path);
}

SITE static void right(unsigned path, int level)
{
    branch(path, level);
    keep(&path);
}

/* A stack of its own for each path. */
SITE static void branch(unsigned path, int level)
{
    if (level == LEVELS) {
        free(small[path]);
        small[path] = malloc(64);
    } else if (path >> level & 1) {
        right(path, level + 1);
    } else {
        left(path, level + 1);
    }
    keep(&path);
}

static void touch_stacks(int count)
{
    for (int i = 0; i < count; i++)
        branch((unsigned)i, 0);
}

SITE static void site_a(int count)
{
    for (int i = 0; i < count; i++)
        blocks[i] = malloc(BLOCK);
}

SITE static void site_b(int count)
{
    for (int i = 0; i < count; i++)
        blocks[i] = malloc(BLOCK);
}

SITE static void churn(int count)
{
    for (int i = 0; i < count; i++)
        blocks[i] = malloc(BLOCK);
}

static void release(int count)
{
    for (int i = 0; i < count; i++)
        free(blocks[i]);
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "replaced";

    mallopt(M_TRIM_THRESHOLD, 1 << 30); /* no page is given back: peaks cost microseconds */
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    touch_stacks(1 << LEVELS);
    if (!strcmp(kind, "steps")) {
        for (int step = 0; step < 43; step++) {
            (step & 1 ? site_a : site_b)(125 + step * 2);
            touch_stacks(1 << (LEVELS - 2));
            release(125 + step * 2);
        }
    } else {
        int higher = strcmp(kind, "last") ? 260 : 263;
        site_a(250);
        touch_stacks(1 << LEVELS);
        release(250);
        site_b(higher);
        sleep_ms(1);
        release(higher);
        for (int i = 0; i < 500 && higher == 260; i++) {
            churn(20);
            sleep_ms(1);
            release(20);
        }
    }
    sleep_ms(1200);
    return 0;
}
