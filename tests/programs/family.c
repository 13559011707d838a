// SPDX-License-Identifier: Apache-2.0
/*
 * Every call of the malloc family that succeeds; figures by hand. Each call
 * must leave errno alone and give the alignment that it promises. Overhead by
 * glibc's rule: usable = round(n + 8, 16) - 8.
 *
 *   site_malloc: 100, 200 ... 1000 bytes; the first six are freed when all
 * exist. live 700+800+900+1000 = 3400; overhead 12 + 8 + 4 + 0 site_realloc: 10
 * -> 20 -> 5000 -> 100: four allocations, each realloc frees the one before
 *     with nothing in between, so three are temporary
 *
 *   //! site site_malloc count=10 bytes=5500 live_count=4 live_bytes=3400
 * temporary=0 overhead=24
 *   //! site site_calloc count=5 bytes=105 live_count=0 live_bytes=0
 * temporary=5 overhead=0
 *   //! site site_realloc count=4 bytes=5130 live_count=1 live_bytes=100
 * temporary=3 overhead=4
 *   //! site site_reallocarray count=2 bytes=350 live_count=1 live_bytes=250
 * temporary=1
 *   //! site site_aligned count=4 bytes=699 live_count=4 live_bytes=699 temporary=0
 *   //! site site_strdup count=3 bytes=18 live_count=0 live_bytes=0 temporary=3
 *   //! stack site_malloc<main count=10
 *   //! stack site_strdup<main count=3
 *   //! run plain plain
 *   //!   site site_pvalloc count=1 bytes=5000 live_count=1 live_bytes=5000
 *   //!   total count=29 bytes=16802 live_count=11 live_bytes=9449
 *   //! run audit audit
 *   //!   site site_pvalloc count=1 bytes=5000 live_count=1 live_bytes=5000
 *   //!   total count=29 bytes=16802 live_count=11 live_bytes=9449
 *   //!   env LD_AUDIT=PROGRAMS/libtrap_audit.so
 *   //! run jemalloc_below foreign
 *   //!   needs file /usr/lib/x86_64-linux-gnu/libjemalloc.so.2
 *   //!   preload M,/usr/lib/x86_64-linux-gnu/libjemalloc.so.2
 *   //!   no-oracle
 *   //!   no-overhead
 *   //! run tcmalloc_below foreign
 *   //!   needs file /usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4
 *   //!   preload M,/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4
 *   //!   no-oracle
 *   //!   no-overhead
 *   //! run mimalloc_below foreign
 *   //!   needs file /usr/lib/x86_64-linux-gnu/libmimalloc.so.2
 *   //!   preload M,/usr/lib/x86_64-linux-gnu/libmimalloc.so.2
 *   //!   no-oracle
 *   //!   no-overhead
 *   //! run jemalloc_above foreign
 *   //!   needs file /usr/lib/x86_64-linux-gnu/libjemalloc.so.2
 *   //!   preload /usr/lib/x86_64-linux-gnu/libjemalloc.so.2,M
 *   //!   no-oracle
 *   //!   unchecked
 *   //! run tcmalloc_above foreign
 *   //!   needs file /usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4
 *   //!   preload /usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4,M
 *   //!   no-oracle
 *   //!   unchecked
 *   //! run mimalloc_above foreign
 *   //!   needs file /usr/lib/x86_64-linux-gnu/libmimalloc.so.2
 *   //!   preload /usr/lib/x86_64-linux-gnu/libmimalloc.so.2,M
 *   //!   no-oracle
 *   //!   unchecked
 */
#include "trap.h"

static int foreign;
#undef ERRNO_KEPT
#define ERRNO_KEPT(statement)                                                                      \
    do {                                                                                           \
        errno = 4711;                                                                              \
        statement;                                                                                 \
        CHECK(errno == 4711 || foreign);                                                           \
    } while (0)

static void *blocks[10];

SITE static void site_malloc(void)
{
    for (size_t i = 0; i < 10; i++) {
        ERRNO_KEPT(blocks[i] = malloc(100 * (i + 1)));
        CHECK(blocks[i] && malloc_usable_size(blocks[i]) >= 100 * (i + 1));
        memset(blocks[i], 1, 100 * (i + 1));
    }
    for (size_t i = 0; i < 6; i++)
        ERRNO_KEPT(free(blocks[i]));
    ERRNO_KEPT(free(NULL));
}

SITE static void site_calloc(void)
{
    for (int i = 0; i < 5; i++) {
        char *p;

        ERRNO_KEPT(p = calloc(3, 7));
        for (int j = 0; j < 21; j++)
            CHECK(p[j] == 0);
        memset(p, 0xff, 21);
        ERRNO_KEPT(free(p));
    }
}

SITE static void site_realloc(void)
{
    static const size_t sizes[] = {10, 20, 5000, 100};
    char *p = NULL;

    for (int i = 0; i < 4; i++) {
        ERRNO_KEPT(p = realloc(p, sizes[i]));
        CHECK(p && (i == 0 || p[9] == 'x'));
        p[9] = 'x';
    }
    keep(p);
}

SITE static void site_reallocarray(void)
{
    char *p;

    ERRNO_KEPT(p = reallocarray(NULL, 4, 25));
    p[99] = 'y';
    ERRNO_KEPT(p = reallocarray(p, 10, 25));
    CHECK(p[99] == 'y');
    keep(p);
}

SITE static void site_aligned(void)
{
    void *p = NULL;

    ERRNO_KEPT(p = memalign(64, 100));
    CHECK(p && (uintptr_t)p % 64 == 0);
    ERRNO_KEPT(p = aligned_alloc(128, 256));
    CHECK(p && (uintptr_t)p % 128 == 0);
    ERRNO_KEPT(CHECK(posix_memalign(&p, 4096, 333) == 0));
    CHECK(p && (uintptr_t)p % 4096 == 0);
    ERRNO_KEPT(p = valloc(10));
    CHECK(p && (uintptr_t)p % 4096 == 0);
}

SITE static void site_pvalloc(void)
{
    void *p;

    ERRNO_KEPT(p = pvalloc(5000));
    CHECK(p && (uintptr_t)p % 4096 == 0 && malloc_usable_size(p) >= 8192);
}

SITE static void site_strdup(void) /* malloc called by libc itself */
{
    for (int i = 0; i < 3; i++) {
        char *p = strdup("hello");

        CHECK(p && strcmp(p, "hello") == 0);
        free(p);
    }
}

/* "foreign": another allocator, that may lack pvalloc and touch errno as it likes. */
int main(int argc, char **argv)
{
    foreign = argc > 1 && !strcmp(argv[1], "foreign");
    ERRNO_KEPT(CHECK(malloc_usable_size(NULL) == 0));
    site_malloc();
    site_calloc();
    site_realloc();
    site_reallocarray();
    site_aligned();
    if (!foreign)
        site_pvalloc();
    site_strdup();
    tell(1, "all well\n");
    return 0;
}
