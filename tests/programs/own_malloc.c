// SPDX-License-Identifier: Apache-2.0
/*
 * A program that defines malloc itself: under LD_PRELOAD no call reaches us.
 * Nothing breaks, and the profile says why it is empty.
 *
 *   //! no-oracle
 *   //! warning malloc
 *   //! site site_work count=0
 */
#include "trap.h"

static _Alignas(16) char pool[1 << 24];
static size_t used;

void *malloc(size_t size)
{
    size_t at = __atomic_fetch_add(&used, (size + 31) & ~(size_t)15, __ATOMIC_RELAXED);

    if (at + size + 32 > sizeof(pool)) {
        errno = ENOMEM;
        return NULL;
    }
    *(size_t *)(pool + at) = size;
    return pool + at + 16;
}

void free(void *pointer)
{
    (void)pointer;
}

void *calloc(size_t count, size_t size)
{
    return malloc(count * size);
}

void *realloc(void *pointer, size_t size)
{
    void *moved = malloc(size);

    if (moved && pointer) {
        size_t old = ((size_t *)pointer)[-2];

        memcpy(moved, pointer, old < size ? old : size);
    }
    return moved;
}

SITE static void site_work(void)
{
    for (int i = 0; i < 1000; i++)
        free(malloc(100));
}

int main(void)
{
    site_work();
    CHECK(used > 100000);
    printf("done\n");
    return 0;
}
