// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"

/*
 * Block address -> {stack, requested size}: a radix of two levels over the address space.
 *
 *   address  46        26 25          shift
 *           | root index |  leaf index |  |      leaf: 64 MiB of addresses, 8 bytes a granule
 *
 *   entry    63      40 39    32 31           0
 *           | stack id | thread | size in bytes |   0: no block.  size LIVEMAP_HUGE: see big table
 *
 * An entry belongs to whoever owns the block: plain (relaxed) stores, cleared before the real free,
 * set after the real allocation. Leaves are mapped on first use and stay. Address bits above 46
 * (top-byte tags) are ignored. glibc's blocks start at least 32 bytes apart: shift 5; other
 * allocators have 8-byte classes: shift 3.
 */
enum {
    LIVEMAP_LEAF_BITS = 26,
    LIVEMAP_ROOT_BITS = 47 - LIVEMAP_LEAF_BITS,
};
#define LIVEMAP_HUGE UINT32_MAX

typedef _Atomic uint64_t LiveEntry;

typedef struct LiveMap {
    _Atomic(LiveEntry *) *root; /* 1 << LIVEMAP_ROOT_BITS; NULL before livemap_init */
    unsigned shift;
} LiveMap;

/* 0 (also when done before), or -ENOMEM. */
int livemap_init(LiveMap *map, unsigned shift);

/* NULL: no block was ever recorded near. */
static inline LiveEntry *livemap_find(const LiveMap *map, const void *block)
{
    uintptr_t address = (uintptr_t)block;
    size_t top = (address >> LIVEMAP_LEAF_BITS) & ((UINT64_C(1) << LIVEMAP_ROOT_BITS) - 1);
    LiveEntry *leaf = atomic_load_explicit(&map->root[top], memory_order_acquire);
    if (UNLIKELY(!leaf))
        return NULL;
    return leaf + ((address & ((UINT64_C(1) << LIVEMAP_LEAF_BITS) - 1)) >> map->shift);
}

/* The same, mapping the leaf when missing; NULL: no memory. Cold. */
LiveEntry *livemap_make(LiveMap *map, const void *block);

/* Sizes from LIVEMAP_HUGE up live in a small side table. put: false when it is full. */
bool livemap_big_put(const void *block, uint64_t bytes);
uint64_t livemap_big_take(const void *block);

/* Resident bytes of the map, by mincore(); cold, for the collector. */
uint64_t livemap_resident_bytes(const LiveMap *map);
