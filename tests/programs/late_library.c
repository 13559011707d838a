// SPDX-License-Identifier: Apache-2.0
/* A preloaded library that works in its constructor and in its destructor. */
#include <stdlib.h>

static void *early[2], *last[2];
void late_constructor(void);
void late_destructor(void);

__attribute__((constructor, noinline)) void late_constructor(void)
{
    early[0] = malloc(32);
    early[1] = malloc(32);
    __asm__ volatile("" : : "r"(early) : "memory");
}

__attribute__((destructor, noinline)) void late_destructor(void)
{
    for (int i = 0; i < 3; i++)
        free(malloc(10));
    free(early[0]);
    free(early[1]);
    last[0] = malloc(10);
    last[1] = malloc(10);
    __asm__ volatile("" : : "r"(last) : "memory");
}
