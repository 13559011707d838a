// SPDX-License-Identifier: Apache-2.0
/*
 * Where slots lie: see stacks.h. Chunks are mapped one after the other at fixed places inside the
 * window, with MAP_FIXED_NOREPLACE, so that nothing of the program's is ever in the way; a place
 * that is taken is left out. The first SMALL_CHUNKS fill one huge page's room together, each
 * further chunk has one of its own (huge.h). The window lies where neither programs, the heap, nor
 * mmap's own choices come in practice; under valgrind, which keeps to lower addresses, a second one
 * serves.
 */
#include <stdatomic.h>
#include <sys/mman.h>

#include "base/bits.h"
#include "base/sys.h"
#include "runtime/arena.h"
#include "runtime/huge.h"
#include "runtime/stacks.h"

enum { SMALL_CHUNKS = 16, LARGE_SLOTS = HUGE_BYTES >> SLOT_SHIFT };

#ifndef SLOT_WINDOW /* tests under ThreadSanitizer: it allows few addresses */
#define SLOT_WINDOW 0x3a0000000000
#endif

uintptr_t slot_base;

static _Atomic uint64_t next_chunk; /* number of the next chunk to try */
static _Atomic uint64_t current;    /* chunk number + 1 << 32 | slots used in it */

static bool is_small(uint64_t number)
{
    return number < SMALL_CHUNKS;
}

static uint32_t chunk_slots(uint64_t number)
{
    return is_small(number) ? LARGE_SLOTS / SMALL_CHUNKS : LARGE_SLOTS;
}

static size_t chunk_bytes(uint64_t number)
{
    return (size_t)chunk_slots(number) << SLOT_SHIFT;
}

static uintptr_t chunk_offset(uint64_t number)
{
    return (is_small(number) ? number : number - SMALL_CHUNKS + 1) * chunk_bytes(number);
}

static bool map_chunk(uintptr_t address, size_t bytes, int populate)
{
    long ret = sys_call(
        SYS_mmap, address, bytes, PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE | populate, -1, 0);
    if ((uintptr_t)ret == address)
        return true;
    if (ret > 0) /* a kernel before 4.17 takes it as a hint */
        sys_call(SYS_munmap, ret, bytes);
    return false;
}

bool slots_init(void)
{
    static const uintptr_t candidates[] = {SLOT_WINDOW, UINT64_C(0x080000000000),
                                           UINT64_C(0x4a0000000000), UINT64_C(0x2a0000000000)};
    for (size_t i = 0; i < ARRAY_SIZE(candidates); i++) {
        if (!map_chunk(candidates[i], chunk_bytes(0), 0))
            continue;
        slot_base = candidates[i];
        slot_at(0)->stamp = UINT64_MAX; /* an address without an entry leads here: nobody's */
        arena_count(ARENA_THREADS, chunk_bytes(0));
        atomic_store(&next_chunk, 1);
        atomic_store(&current, (UINT64_C(1) << 32) + 1); /* index 0 is never given */
        return true;
    }
    return false;
}

/* The number of a fresh chunk; 0: none. A small one comes with all its pages, by one call instead
 * of a fault for each. */
static uint64_t chunk_new(void)
{
    for (int tries = 0; tries < 64; tries++) {
        uint64_t number = atomic_fetch_add(&next_chunk, 1);
        if (chunk_offset(number) >> SLOT_WINDOW_BITS)
            return 0;
        uintptr_t address = slot_base + chunk_offset(number);
        if (!map_chunk(address, chunk_bytes(number), is_small(number) ? MAP_POPULATE : 0))
            continue;
        if (!is_small(number))
            huge_want((void *)address, HUGE_BYTES);
        return number;
    }
    return 0;
}

Slot *slots_take(uint32_t count)
{
    for (;;) {
        uint64_t seen = atomic_load(&current);
        uint32_t used = (uint32_t)seen;
        uint64_t number = (seen >> 32) - 1;
        if (used + count <= chunk_slots(number)) {
            if (atomic_compare_exchange_weak(&current, &seen, seen + count))
                return (Slot *)(slot_base + chunk_offset(number)) + used;
            continue;
        }
        uint64_t fresh = chunk_new();
        if (!fresh)
            return NULL;
        /* A loser leaves its chunk unused: 128 KiB, or 2 MiB of address space. */
        if (atomic_compare_exchange_strong(&current, &seen, (fresh + 1) << 32))
            arena_count(ARENA_THREADS, chunk_bytes(fresh));
    }
}
