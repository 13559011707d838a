// SPDX-License-Identifier: Apache-2.0
/* Known figures for the ways to get the library into a program other than
 * LD_PRELOAD. */
#include "trap.h"

SITE static void site_work(void)
{
    for (int i = 0; i < 123; i++)
        keep(malloc(10));
}

int main(void)
{
    site_work();
    tell(1, "uid %d, euid %d\n", (int)getuid(), (int)geteuid());
    return 5;
}
