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
 *           | root index |  leaf index |  |      leaf: 64 MiB of addresses, 4 bytes a granule
 *
 *   entry    31                     6 5            0
 *           | slot address bits 6..31 | overhead    |   0: no block
 *
 * The overhead is usable minus requested size, so the size follows from what malloc_usable_size
 * says; LIVE_ESCAPE stands for more than 62, which is then in the next entry: a block with so much
 * spans more than two granules, as does any other that is to be marked so. Four bytes matter: the
 * map's memory is the larger part of what recording costs a program that allocates fresh memory.
 *
 * An entry belongs to whoever owns the block: plain (relaxed) stores, cleared before the real free,
 * set after the real allocation. Leaves are mapped on first use and stay. Address bits above 46
 * (top-byte tags) are ignored. glibc's blocks start at least 32 bytes apart: shift 5; other
 * allocators have 8-byte classes: shift 3.
 */
enum {
    LIVEMAP_LEAF_BITS = 26,
    LIVEMAP_ROOT_BITS = 47 - LIVEMAP_LEAF_BITS,
    LIVE_ESCAPE = 63,
};

typedef _Atomic uint32_t LiveEntry;

/* Root cells hold the leaf's address less the offset of its first granule, so that an entry is at
 * cell + (address >> shift) * 4 without masking. */
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

/* Stores slot bits (the low 32 of its address) and, behind LIVE_ESCAPE whatever it is, overhead. */
static inline void live_put_escaped(LiveEntry *entry, uint32_t slot_bits, uint64_t overhead)
{
    atomic_store_explicit(&entry[1], (uint32_t)overhead, memory_order_relaxed);
    atomic_store_explicit(entry, slot_bits | LIVE_ESCAPE, memory_order_relaxed);
}

/* The same, escaped only where need be. */
static inline void live_put(LiveEntry *entry, uint32_t slot_bits, uint64_t overhead)
{
    if (UNLIKELY(overhead >= LIVE_ESCAPE))
        live_put_escaped(entry, slot_bits, overhead);
    else
        atomic_store_explicit(entry, slot_bits | (uint32_t)overhead, memory_order_relaxed);
}

/* Takes an entry out: 0 when there is none; else the slot bits, and the overhead. */
static inline uint32_t live_take(LiveEntry *entry, uint64_t *ret_overhead)
{
    uint32_t value = atomic_exchange_explicit(entry, 0, memory_order_relaxed);
    *ret_overhead = value & LIVE_ESCAPE;
    if (UNLIKELY(*ret_overhead == LIVE_ESCAPE))
        *ret_overhead = atomic_exchange_explicit(&entry[1], 0, memory_order_relaxed);
    return value & ~(uint32_t)LIVE_ESCAPE;
}

/*
 * Called now and then while a thread's live bytes grow, with its newest block: where blocks follow
 * each other upwards, as in fresh heap, maps the map's pages for the next ones in one system call,
 * which costs half of what their faults would; once for each place. Above a heap that is dense
 * those are huge pages (huge.h). *last: the block of the thread's last call.
 */
void livemap_warm(LiveMap *map, uintptr_t block, uintptr_t *last);

/* Resident bytes of the map, by mincore(); cold, for the collector. */
uint64_t livemap_resident_bytes(const LiveMap *map);
