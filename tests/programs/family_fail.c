// SPDX-License-Identifier: Apache-2.0
/*
 * Calls that fail: they count for nothing, a failed realloc keeps the block,
 * and error and errno are as without us (they are printed).
 *
 *   //! site site_fails count=0 bytes=0
 *   //! site site_keeps count=2 bytes=164 live_count=0 live_bytes=0 temporary=2
 *   //! total count=2
 */
#include "trap.h"

static volatile size_t huge = SIZE_MAX / 2;

SITE static void report(const char *what, const void *pointer, int result)
{
    tell(1, "%s: %s, result %d, errno %d\n", what, pointer ? "block" : "NULL", result, errno);
    CHECK(!pointer);
    errno = 0;
}

SITE static void site_fails(void)
{
    void *untouched = (void *)0x1234, *p = untouched;

    ERRNO_KEPT(CHECK(posix_memalign(&p, 3, 10) == EINVAL));
    ERRNO_KEPT(CHECK(posix_memalign(&p, 24, 10) == EINVAL));
    ERRNO_KEPT(CHECK(posix_memalign(&p, 0, 10) == EINVAL));
    CHECK(p == untouched);
    errno = 0;
    report("posix_memalign", NULL, posix_memalign(&p, 16, huge));
    CHECK(p == untouched);
    report("malloc", malloc(huge), 0);
    report("malloc", malloc(huge + huge / 2), 0);
    report("calloc", calloc(huge, 3), 0);
    report("realloc", realloc(NULL, huge), 0);
    report("reallocarray", reallocarray(NULL, huge, 3), 0);
    report("memalign", memalign(64, huge), 0);
    report("aligned_alloc", aligned_alloc(64, huge), 0);
    report("valloc", valloc(huge), 0);
    report("pvalloc", pvalloc(SIZE_MAX - huge % 2), 0);
}

SITE static void site_keeps(void)
{
    char *p = malloc(64);

    memcpy(p, "still here", 11);
    errno = 0;
    report("realloc", realloc(p, huge), 0);
    report("reallocarray", reallocarray(p, huge, 3), 0);
    CHECK(strcmp(p, "still here") == 0);
    free(p); /* nothing was allocated in between: temporary */
    p = malloc(100);
    report("realloc", realloc(p, huge + huge / 2), 0);
    free(p);
}

int main(void)
{
    site_fails();
    site_keeps();
    return 0;
}
