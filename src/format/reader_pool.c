// SPDX-License-Identifier: Apache-2.0
/*
 * Counted memory for the reading side. Blocks of 4 KiB to 2 MiB, each twice the one before, so a
 * tiny profile stays tiny and a large one needs few blocks; a request above that gets a block of
 * its own. Everything counts against the MemoryBudget before malloc is asked, so the budget also
 * bounds what is wasted at the ends of blocks. O(1) per request.
 *
 * Blocks of 2 MiB are huge pages, where the kernel gives them: histories of stacks are written all
 * over the pool, and the processor's table of pages is too small for hundreds of MiB of small ones.
 */
#include "format/reader_pool.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    BLOCK_MIN_BYTES = 4096,
    BLOCK_MAX_BYTES = 1 << 20,
    BLOCK_KEEP_BYTES = 1 << 18,
    HUGE_PAGE_BYTES = 2 << 20, /* header and all */
};

struct PoolBlock {
    PoolBlock *next;
    size_t used;
    size_t size;
    char data[];
};

static bool budget_take(MemoryBudget *budget, uint64_t bytes)
{
    if (bytes > budget->limit_bytes - budget->used_bytes)
        return false;
    budget->used_bytes += bytes;
    return true;
}

static void *memory_get(size_t bytes)
{
    if (bytes != HUGE_PAGE_BYTES)
        return malloc(bytes);
    void *memory = aligned_alloc(HUGE_PAGE_BYTES, HUGE_PAGE_BYTES);
    if (memory)
        (void)madvise(memory, HUGE_PAGE_BYTES, MADV_HUGEPAGE);
    return memory;
}

static PoolBlock *block_new(Pool *pool, size_t least)
{
    size_t size = pool->blocks ? pool->blocks->size * 2 : BLOCK_MIN_BYTES;
    PoolBlock *block;

    if (size > BLOCK_MAX_BYTES)
        size = HUGE_PAGE_BYTES - sizeof(PoolBlock);
    if (size < least)
        size = least;
    if (!budget_take(pool->budget, sizeof(PoolBlock) + size))
        return NULL;
    block = memory_get(sizeof(PoolBlock) + size);
    if (!block) {
        pool->budget->used_bytes -= sizeof(PoolBlock) + size;
        return NULL;
    }
    block->next = pool->blocks;
    block->used = 0;
    block->size = size;
    pool->blocks = block;
    return block;
}

void *pool_take(Pool *pool, size_t bytes)
{
    PoolBlock *block = pool->blocks;
    void *memory;

    if (bytes > SIZE_MAX / 2)
        return NULL;
    bytes = (bytes + 7) & ~(size_t)7;
    if (!block || bytes > block->size - block->used) {
        block = block_new(pool, bytes);
        if (!block)
            return NULL;
    }
    memory = block->data + block->used;
    block->used += bytes;
    return memory;
}

char *pool_text(Pool *pool, const char *text, size_t bytes)
{
    char *copy = pool_take(pool, bytes + 1);

    if (!copy)
        return NULL;
    if (bytes)
        memcpy(copy, text, bytes);
    copy[bytes] = 0;
    return copy;
}

static void block_free(Pool *pool, PoolBlock *block)
{
    pool->budget->used_bytes -= sizeof(PoolBlock) + block->size;
    free(block);
}

void pool_reset(Pool *pool)
{
    PoolBlock *keep = NULL;

    while (pool->blocks) {
        PoolBlock *block = pool->blocks;
        pool->blocks = block->next;
        if (!keep && block->size <= BLOCK_KEEP_BYTES)
            keep = block;
        else
            block_free(pool, block);
    }
    if (keep) {
        keep->next = NULL;
        keep->used = 0;
        pool->blocks = keep;
    }
}

void pool_done(Pool *pool)
{
    while (pool->blocks) {
        PoolBlock *block = pool->blocks;
        pool->blocks = block->next;
        block_free(pool, block);
    }
}

void *vector_grow(MemoryBudget *budget, void *items, size_t *capacity, size_t need,
                  size_t item_bytes)
{
    size_t next = *capacity ? *capacity * 2 : 16;
    uint64_t more;
    void *grown;

    if (next < need)
        next = need;
    if (next > SIZE_MAX / 4 / item_bytes)
        return NULL;
    more = (uint64_t)(next - *capacity) * item_bytes;
    if (!budget_take(budget, more))
        return NULL;
    grown = realloc(items, next * item_bytes);
    if (!grown) {
        budget->used_bytes -= more;
        return NULL;
    }
    *capacity = next;
    return grown;
}

void vector_release(MemoryBudget *budget, void *items, size_t capacity, size_t item_bytes)
{
    budget->used_bytes -= (uint64_t)capacity * item_bytes;
    free(items);
}
