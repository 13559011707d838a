// SPDX-License-Identifier: Apache-2.0
/*
 * A heap below 64 MiB, as in a program at fixed addresses: there the leaf of the live map that
 * covers NULL is in use, and allocations that fail (NULL) must find nobody's entry in it. They
 * count for nothing and fail as without us.
 *
 *   //! fixed-addresses
 *   //! site site_low count=10 bytes=1000 live_count=10 live_bytes=1000
 *   //! site site_fails count=0 bytes=0
 *   //! site site_mixed count=42 bytes=1680 live_count=42
 *   //! site site_keeps count=1 bytes=70 live_count=0 temporary=1
 *   //! site site_after count=5 bytes=250 live_count=5 live_bytes=250
 *   //! total count=58 bytes=3000 live_count=57 live_bytes=2930 temporary=1
 */
#include "trap.h"

static volatile size_t huge = SIZE_MAX / 2; /* refused by its size */
static volatile size_t large = 1ull << 46;  /* refused by mmap: half of all addresses */

SITE static void site_low(void)
{
    for (int i = 0; i < 10; i++) {
        uintptr_t block = (uintptr_t)malloc(100);

        if (block >= 64 << 20) {
            tell(1, "the heap is at %#lx: addresses cannot be fixed here", (unsigned long)block);
            _exit(77);
        }
    }
}

#define FAILS(call)                                                                                \
    do {                                                                                           \
        errno = 0;                                                                                 \
        CHECK(!(call));                                                                            \
        CHECK(errno == ENOMEM);                                                                    \
    } while (0)

SITE static void site_fails(void)
{
    void *untouched = (void *)0x1234, *p = untouched;

    for (int i = 0; i < 3; i++) {
        FAILS(malloc(huge));
        FAILS(malloc(large));
        FAILS(calloc(huge, 4));
        FAILS(calloc(large / 8, 8));
        FAILS(realloc(NULL, large));
        FAILS(reallocarray(NULL, huge, 4));
        FAILS(memalign(64, large));
        FAILS(aligned_alloc(64, large));
        FAILS(valloc(large));
        ERRNO_KEPT(CHECK(posix_memalign(&p, 24, 10) == EINVAL));
        CHECK(posix_memalign(&p, 64, large) == ENOMEM);
        CHECK(p == untouched);
    }
    free(NULL);
}

static volatile size_t in_turn[] = {40, 40, 40, 1ull << 46, SIZE_MAX / 2};

/* One call instruction that succeeds and fails in turn: its stack is known when it fails. */
#define IN_TURN(call)                                                                              \
    for (int i = 0; i < 10; i++) {                                                                 \
        size_t size = in_turn[i % 5];                                                              \
        void *block;                                                                               \
                                                                                                   \
        errno = 0;                                                                                 \
        block = (call);                                                                            \
        CHECK(!block == (i % 5 >= 3));                                                             \
        CHECK(errno == (block ? 0 : ENOMEM));                                                      \
    }

SITE static void site_mixed(void)
{
    IN_TURN(malloc(size));
    IN_TURN(calloc(size, 1));
    IN_TURN(realloc(NULL, size));
    IN_TURN(reallocarray(NULL, 1, size));
    IN_TURN(memalign(64, size));
    IN_TURN(aligned_alloc(64, size));
    IN_TURN(valloc(size));
}

SITE static void site_keeps(void)
{
    char *p = malloc(70);

    memcpy(p, "still here", 11);
    FAILS(realloc(p, large));
    FAILS(realloc(p, huge));
    CHECK(strcmp(p, "still here") == 0);
    free(p);
}

SITE static void site_after(void)
{
    for (int i = 0; i < 5; i++)
        keep(malloc(50));
}

int main(void)
{
    site_low();
    site_fails();
    site_mixed();
    site_keeps();
    site_after();
    tell(1, "done\n");
    return 0;
}
