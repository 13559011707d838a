// SPDX-License-Identifier: Apache-2.0
/*
 * The cold side of the live map: mapping of leaves, blocks of 4 GiB and more, memory accounting.
 *
 * A leaf is published by compare-and-swap, so that two threads that need it at once agree. The big
 * table is an array of atomic cells claimed by compare-and-swap on the address; it is for the few
 * blocks whose size does not fit in an entry. Nothing here locks, so all of it is usable in signal
 * handlers and needs no care at fork.
 */
#include "runtime/livemap.h"

#include <errno.h>
#include <sys/mman.h>

#include "base/sys.h"

enum { BIG_CELLS = 1024, MINCORE_PAGES = 4096 };

_Atomic(LiveEntry *) livemap_heap_root[1 << LIVEMAP_ROOT_BITS];

static struct {
    _Atomic uintptr_t block;
    _Atomic uint64_t bytes;
} big[BIG_CELLS];

int livemap_init(LiveMap *map, unsigned shift)
{
    if (__atomic_load_n(&map->root, __ATOMIC_ACQUIRE))
        return 0;
    size_t bytes = sizeof(*map->root) << LIVEMAP_ROOT_BITS;
    void *fresh = sys_map(bytes), *expected = NULL;
    if (!fresh)
        return -ENOMEM;
    map->shift = shift;
    if (!__atomic_compare_exchange_n((void **)&map->root, &expected, fresh, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
        sys_unmap(fresh, bytes);
    return 0;
}

static size_t leaf_bytes(const LiveMap *map)
{
    return sizeof(LiveEntry) << (LIVEMAP_LEAF_BITS - map->shift);
}

LiveEntry *livemap_make(LiveMap *map, const void *block)
{
    LiveEntry *entry = livemap_find(map, block);
    if (entry)
        return entry;
    size_t top = LIVEMAP_TOP((uintptr_t)block);
    LiveEntry *fresh = sys_map(leaf_bytes(map));
    if (!fresh)
        return NULL;
    LiveEntry *expected = NULL;
    LiveEntry *biased = (LiveEntry *)((uintptr_t)fresh - top * leaf_bytes(map));
    if (!atomic_compare_exchange_strong(&map->root[top], &expected, biased))
        sys_unmap(fresh, leaf_bytes(map));
    return livemap_find(map, block);
}

bool livemap_big_put(const void *block, uint64_t bytes)
{
    size_t at = ((uintptr_t)block >> 12) % BIG_CELLS;
    for (size_t i = 0; i < BIG_CELLS; i++, at = (at + 1) % BIG_CELLS) {
        uintptr_t free_cell = 0;
        if (atomic_compare_exchange_strong(&big[at].block, &free_cell, (uintptr_t)block)) {
            atomic_store(&big[at].bytes, bytes);
            return true;
        }
    }
    return false;
}

uint64_t livemap_big_take(const void *block)
{
    size_t at = ((uintptr_t)block >> 12) % BIG_CELLS;
    for (size_t i = 0; i < BIG_CELLS; i++, at = (at + 1) % BIG_CELLS) {
        if (atomic_load(&big[at].block) != (uintptr_t)block)
            continue;
        uint64_t bytes = atomic_load(&big[at].bytes);
        atomic_store(&big[at].block, 0);
        return bytes;
    }
    return LIVEMAP_HUGE;
}

static uint64_t resident_in(void *memory, size_t bytes)
{
    unsigned char pages[MINCORE_PAGES];
    uint64_t resident = 0;
    for (size_t at = 0; at < bytes; at += (size_t)MINCORE_PAGES * 4096) {
        size_t span =
            bytes - at < (size_t)MINCORE_PAGES * 4096 ? bytes - at : (size_t)MINCORE_PAGES * 4096;
        if (sys_call(SYS_mincore, (char *)memory + at, span, pages) < 0)
            return resident;
        for (size_t page = 0; page < span / 4096; page++)
            resident += pages[page] & 1 ? 4096 : 0;
    }
    return resident;
}

uint64_t livemap_resident_bytes(const LiveMap *map)
{
    if (!map->root)
        return 0;
    uint64_t resident = 0;
    size_t roots = (size_t)1 << LIVEMAP_ROOT_BITS;
    /* Only root pages that are resident can hold leaves: do not fault the others in. */
    for (size_t page = 0; page < roots; page += 4096 / sizeof(map->root[0])) {
        if (!resident_in((void *)&map->root[page], 4096))
            continue;
        resident += 4096;
        for (size_t top = page; top < page + 4096 / sizeof(map->root[0]); top++) {
            LiveEntry *biased = atomic_load_explicit(&map->root[top], memory_order_acquire);
            if (biased)
                resident += resident_in((char *)biased + top * leaf_bytes(map), leaf_bytes(map));
        }
    }
    return resident;
}
