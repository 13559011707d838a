// SPDX-License-Identifier: Apache-2.0
/*
 * Cumulative figures stay when a stack's live bytes reach zero, and go on from
 * there; ten stacks through one function are told apart; a stack with one
 * allocation is as exact as one with 100,000.
 *
 *   //! stack site<way_a<main count=1100 bytes=11000 live_count=0 live_bytes=0
 *   //! stack site<way_b<main count=100000 bytes=1000000 live_count=0
 *   //! stack site<way_c<main count=1 bytes=10 live_count=1
 *   //! stack site<way_a<way_b<way_c<main count=7 bytes=70 live_count=0
 */
#include "trap.h"

static void *block;

SITE static void site(void)
{
    block = malloc(10);
}

SITE static void way_a(void)
{
    site();
    keep(block);
}

SITE static void way_b(int through)
{
    through ? way_a() : site();
    keep(block);
}

SITE static void way_c(int through)
{
    through ? way_b(1) : site();
    keep(block);
}

int main(void)
{
    for (int i = 0; i < 1000; i++) {
        way_a();
        free(block);
    }
    sleep_ms(1200); /* a tick sees live at zero */
    for (int i = 0; i < 100000; i++) {
        way_b(0);
        free(block);
    }
    for (int i = 0; i < 7; i++) {
        way_c(1);
        free(block);
    }
    sleep_ms(1200);
    for (int i = 0; i < 100; i++) {
        way_a();
        free(block);
    }
    way_c(0);
    return 0;
}
