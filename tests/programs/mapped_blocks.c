// SPDX-License-Identifier: Apache-2.0
/*
 * Blocks that glibc maps one by one, with so little room to spare that only the chunk's header
 * tells: such a block's usable size is eight bytes less than the header of another says. And large
 * blocks of the heap; both also after a realloc that failed. Each site keeps one block.
 *
 *   //! site site_mapped count=400 live_count=1 live_bytes=12225
 *   //! site site_large count=40 live_count=1 live_bytes=65561
 *   //! site site_filler live_count=0
 *   //! total live_count=2 live_bytes=77786
 */
#include "trap.h"

#include <malloc.h>
#include <stdbool.h>

static void *refuse(void *block) /* a realloc that must fail */
{
    volatile size_t most = (size_t)1 << 50;
    void *moved = realloc(block, most);

    return moved ? moved : block;
}

static __attribute__((noinline)) bool is_mapped(const void *block)
{
    return ((const size_t *)block)[-1] & 2;
}

/* glibc maps a block only when the heap's top has no room for it. */
SITE static int site_filler(void **filler, int most)
{
    int count = 1;

    /* A high peak, so that what follows is little beside it: the recorder's short ways are open. */
    filler[0] = malloc((size_t)64 << 20);
    while (count < most && !is_mapped(filler[count++] = malloc(12000)))
        ;
    return count;
}

SITE static void site_mapped(void)
{
    for (int i = 0; i < 400; i++) {
        void *block = malloc((size_t)(3 * 4096 - 24 - i % 40));

        keep(block);
        if (!is_mapped(block))
            abort();
        if (i % 3 == 0)
            block = refuse(block);
        if (i < 399)
            free(block);
    }
}

SITE static void site_large(void)
{
    for (int i = 0; i < 40; i++) {
        void *block = malloc((size_t)(65600 - i));

        keep(block);
        if (i % 3 == 0)
            block = refuse(block);
        if (i < 39)
            free(block);
    }
}

int main(void)
{
    void *filler[100];

    if (!mallopt(M_MMAP_THRESHOLD, 8192))
        return 1;
    int count = site_filler(filler, 100);
    site_mapped();
    while (count > 0)
        free(filler[--count]);
    if (!mallopt(M_MMAP_THRESHOLD, 1 << 20))
        return 1;
    site_large();
    return 0;
}
