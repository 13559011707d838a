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
 *   entry    63        32 31           0
 *           | slot index | size in bytes |   0: no block.  size LIVEMAP_HUGE: see big table
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

/* Root cells hold the leaf's address less the offset of its first granule, so that an entry is at
 * cell + (address >> shift) * 8 without masking. */
typedef struct LiveMap {
    _Atomic(LiveEntry *) *root; /* 1 << LIVEMAP_ROOT_BITS; NULL before livemap_init */
    unsigned shift;
} LiveMap;

#define LIVEMAP_TOP(address)                                                                       \
    (((address) >> LIVEMAP_LEAF_BITS) & ((UINT64_C(1) << LIVEMAP_ROOT_BITS) - 1))

/* Root of the malloc map with glibc (else empty, so that the fast path fails): static, so that its
 * address is a constant. */
extern HIDDEN _Atomic(LiveEntry *) livemap_heap_root[1 << LIVEMAP_ROOT_BITS];

/* 0 (also when done before), or -ENOMEM. */
int livemap_init(LiveMap *map, unsigned shift);

/* NULL: no block was ever recorded near. */
static inline LiveEntry *livemap_find(const LiveMap *map, const void *block)
{
    uintptr_t address = (uintptr_t)block & ((UINT64_C(1) << 47) - 1);
    LiveEntry *biased =
        atomic_load_explicit(&map->root[LIVEMAP_TOP(address)], memory_order_acquire);
    if (UNLIKELY(!biased))
        return NULL;
    return (LiveEntry *)((uintptr_t)biased + (address >> map->shift) * sizeof(LiveEntry));
}

/* The same, mapping the leaf when missing; NULL: no memory. Cold. */
LiveEntry *livemap_make(LiveMap *map, const void *block);

/* Sizes from LIVEMAP_HUGE up live in a small side table. put: false when it is full. */
bool livemap_big_put(const void *block, uint64_t bytes);
uint64_t livemap_big_take(const void *block);

/* Resident bytes of the map, by mincore(); cold, for the collector. */
uint64_t livemap_resident_bytes(const LiveMap *map);
