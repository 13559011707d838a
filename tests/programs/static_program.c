// SPDX-License-Identifier: Apache-2.0
/* Linked statically: no preload reaches it, nothing happens. */
#include "trap.h"

int main(void)
{
    for (int i = 0; i < 1000; i++)
        free(malloc(100));
    tell(1, "static and well\n");
    return 3;
}
