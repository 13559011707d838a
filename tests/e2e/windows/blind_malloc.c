// SPDX-License-Identifier: Apache-2.0
/*
 * A program with a malloc of its own, as one that links another allocator statically: the recorder
 * sees none of it, so no figure of a window says anything. With an argument the malloc announces
 * its blocks, and then the figures are right again: 7 blocks of 10 bytes.
 */
#include <stdint.h>
#include <string.h>

#include "memhawk.h"

enum { HEAP_BYTES = 1 << 24, HEADER = 32 };

static char heap[HEAP_BYTES] __attribute__((aligned(64)));
static size_t used;
static int announces;
static void *volatile sink;

void *malloc(size_t size)
{
    size_t bytes = (size + HEADER + 31) & ~(size_t)31;
    size_t at = __atomic_fetch_add(&used, bytes, __ATOMIC_RELAXED);
    if (at + bytes > HEAP_BYTES)
        return NULL;
    memcpy(heap + at, &size, sizeof(size));
    if (announces)
        memhawk_alloc(heap + at + HEADER, size);
    return heap + at + HEADER;
}

void free(void *block)
{
    (void)block;
}

void *calloc(size_t count, size_t size)
{
    return malloc(count * size);
}

void *realloc(void *block, size_t size)
{
    size_t old = 0;
    void *fresh = malloc(size);
    if (block && fresh) {
        memcpy(&old, (char *)block - HEADER, sizeof(old));
        memcpy(fresh, block, old < size ? old : size);
    }
    return fresh;
}

int main(int argc, char **argv)
{
    static char buffer[1 << 12];
    struct memhawk_counts c;
    (void)argv;
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    announces = argc > 1;
    for (int i = 0; i < 2; i++) {
        memhawk_window w = memhawk_window_begin("own", MEMHAWK_THREAD);
        for (int k = 0; k < 7; k++)
            sink = malloc(10);
        int end = memhawk_window_end(w);
        int stats = memhawk_window_stats(&c);
        printf("active %d end %d stats %d allocations %lld bytes %lld\n", memhawk_active(), end,
               stats, (long long)c.allocations, (long long)c.bytes);
    }
    MEMHAWK_EXPECT_ALLOCATIONS(0)
    {
        sink = announces ? NULL : malloc(3);
    }
    return 0;
}
