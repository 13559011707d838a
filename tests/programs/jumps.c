// SPDX-License-Identifier: Apache-2.0
/*
 * longjmp out of nested calls, over and over: stacks after the jump are those
 * of the code that runs, no memory of the frames jumped over.
 *
 *   //! stack site_deep<inner<outer<main count=50000 bytes=500000 live_count=0
 *   //! stack site_flat<main count=50000 bytes=500000 live_count=0
 */
#include "trap.h"

#include <setjmp.h>

static jmp_buf back;
static void *block;

SITE static void site_deep(void)
{
    block = malloc(10);
}

SITE static void site_flat(void)
{
    block = malloc(10);
}

SITE static void inner(void)
{
    site_deep();
    longjmp(back, 1);
}

SITE static void outer(void)
{
    inner();
    CHECK(!"reached");
}

int main(void)
{
    for (volatile int i = 0; i < 50000; i++) {
        if (setjmp(back) == 0)
            outer();
        free(block);
        site_flat();
        free(block);
    }
    return 0;
}
