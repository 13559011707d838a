// SPDX-License-Identifier: Apache-2.0
/* A library with an indirect function that it calls through its lazy PLT: which
 * one it is gets chosen amid the binding, by a function that allocates. */
#include <stdlib.h>

void bound(void);
void binding_call(void);

static void bound_now(void)
{
}

__attribute__((used)) static void (*bound_choice(void))(void)
{
    void *volatile pointer = malloc(10);

    free(pointer);
    return bound_now;
}

void bound(void) __attribute__((ifunc("bound_choice")));

void binding_call(void)
{
    bound();
    __asm__ volatile("");
}
