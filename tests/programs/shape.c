// SPDX-License-Identifier: Apache-2.0
/*
 * One program in many shapes: without and with frame pointers, -O0 to -O3, -Os,
 * LTO, by clang. The same stack in all of them.
 *
 *   //! stack site_leaf<middle<outer<main count=990 bytes=9900 live_count=0
 *   //! stack site_leaf<callback<qsort_user<main count=>=5
 *   //! run O0
 *   //!   exe shape_O0
 *   //! run O1
 *   //!   exe shape_O1
 *   //! run O2
 *   //!   exe shape_O2
 *   //! run O3
 *   //!   exe shape_O3
 *   //! run Os
 *   //!   exe shape_Os
 *   //! run fp
 *   //!   exe shape_fp
 *   //! run lto
 *   //!   exe shape_lto
 *   //! run nopie
 *   //!   exe shape_nopie
 *   //! run clang
 *   //!   exe shape_clang
 *   //! run lld
 *   //!   exe shape_lld
 *   //! run stripped
 *   //!   exe shape_stripped
 *   //!   alias shape_stripped shape_O2
 *   //! run by_fp
 *   //!   exe shape_fp
 *   //!   env MEMHAWK_UNWIND=fp
 *   //!   loss unwind_ended=>=0
 */
#include "trap.h"

SITE static void site_leaf(size_t size)
{
    void *p = malloc(size);

    keep(p);
    free(p);
}

SITE static int middle(int n, double weight)
{
    char room[200];

    if (n % 100 == 99) /* an early way out, for shrink-wrapping */
        return 0;
    memset(room, n, sizeof(room));
    keep(room);
    site_leaf(10);
    return room[n] + (int)weight;
}

SITE static int outer(int n)
{
    long a = n, b = n * 3, c = n * 5, d = n * 7, e = n * 11, f = n * 13; /* fills the registers */

    for (int i = 0; i < 1; i++)
        a += middle(n % 100, (double)(b + c)) + d * e + f;
    return (int)(a + b + c + d + e + f);
}

static int callback(const void *a, const void *b)
{
    site_leaf(7);
    return *(const int *)a - *(const int *)b;
}

SITE static void qsort_user(int *numbers)
{
    qsort(numbers, 6, sizeof(int), callback);
    keep(numbers);
}

int main(void)
{
    int numbers[] = {5, 3, 1, 2, 6, 4}, sum = 0;

    for (int i = 0; i < 1000; i++)
        sum += outer(i);
    keep(&sum);
    qsort_user(numbers);
    CHECK(numbers[0] == 1 && numbers[5] == 6);
    return 0;
}
