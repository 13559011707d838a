// SPDX-License-Identifier: Apache-2.0
/*
 * Blocks of zero bytes are real; realloc(p, 0) frees on glibc and returns NULL.
 *
 *   //! site site_zero count=6 bytes=0 live_count=6 live_bytes=0
 *   //! site site_realloc_zero count=2 bytes=80 live_count=0 temporary=2
 *   //! site site_grows count=2 bytes=40 live_count=1 live_bytes=40 temporary=1
 *   //! total count=10 bytes=120 live_count=7 live_bytes=40 temporary=3
 */
#include "trap.h"

SITE static void site_zero(void)
{
    void *p = NULL;
    void *before = malloc(0);

    CHECK(before);
    CHECK((p = malloc(0 * (size_t)getpid())) != before);
    CHECK(calloc(0, 10));
    CHECK(realloc(NULL, 0));
    CHECK(reallocarray(NULL, 0, 5));
    CHECK(aligned_alloc(16, 0));
}

SITE static void site_realloc_zero(void)
{
    void *p = malloc(50);

    ERRNO_KEPT(CHECK(realloc(p, 0) == NULL));
    p = malloc(30);
    ERRNO_KEPT(CHECK(reallocarray(p, 0, 8) == NULL));
}

SITE static void site_grows(void)
{
    void *p = malloc(0);

    CHECK((p = realloc(p, 40)));
    keep(p);
}

int main(void)
{
    site_zero();
    site_realloc_zero();
    site_grows();
    return 0;
}
