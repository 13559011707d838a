// SPDX-License-Identifier: Apache-2.0
/*
 * Recursion. "line": 100,000 levels, one block at each; all but the first some
 * sixty stacks are cut at the depth limit (64) and say so. "mutual": even and
 * odd call each other 7 deep: every frame of true recursion is there, it is
 * not a loop.
 *
 *   //! run line line
 *   //!   loss depth_cut=>=99930
 *   //!   site descend count=100000 bytes=1600000 live_count=100000
 *   //!   flag depth_cut descend count=>=99930
 *   //!   stack descend<descend<descend<main count=1
 *   //!   stack descend<main count=1
 *   //! run mutual mutual
 *   //!   stack bottom<even<odd<even<odd<even<odd<even<main count=50 bytes=500
 *   //!   stack bottom<even<main count=50
 */
#include "trap.h"

#include <sys/resource.h>

SITE static void descend(int levels)
{
    void *p = malloc(16);

    keep(p);
    if (levels > 1)
        descend(levels - 1);
    keep(p);
}

SITE static void bottom(void)
{
    keep(malloc(10));
}

SITE static void even(int n);

SITE static void odd(int n)
{
    even(n - 1);
    keep(&n);
}

SITE static void even(int n)
{
    if (n == 0)
        bottom();
    else
        odd(n - 1);
    keep(&n);
}

int main(int argc, char **argv)
{
    struct rlimit limit = {64 << 20, 64 << 20};

    setrlimit(RLIMIT_STACK, &limit);
    if (argc > 1 && !strcmp(argv[1], "mutual")) {
        for (int i = 0; i < 50; i++) {
            even(6);
            even(0);
        }
        return 0;
    }
    descend(100000);
    return 0;
}
