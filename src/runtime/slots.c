// SPDX-License-Identifier: Apache-2.0
/*
 * Where slots lie: see stacks.h. Chunks are mapped one after the other at fixed places inside the
 * window, with MAP_FIXED_NOREPLACE, so that nothing of the program's is ever in the way; a place
 * that is taken is left out. The window lies where neither programs, the heap, nor mmap's own
 * choices come in practice; under valgrind, which keeps to lower addresses, a second one serves.
 */
#include <stdatomic.h>
#include <sys/mman.h>

#include "base/bits.h"
#include "base/sys.h"
#include "runtime/arena.h"
#include "runtime/stacks.h"

enum { CHUNK_SLOTS = 2048, CHUNK_BYTES = CHUNK_SLOTS << SLOT_SHIFT };

#ifndef SLOT_WINDOW /* tests under ThreadSanitizer: it allows few addresses */
#define SLOT_WINDOW 0x3a0000000000
#endif

uintptr_t slot_base;

static _Atomic uint64_t next_chunk; /* number of the next chunk to try */
static _Atomic uint64_t current;    /* chunk number + 1 << 32 | slots used in it */

/* FILLED: with all its pages, by one call instead of a fault for each. */
static bool map_chunk(uintptr_t address, int filled)
{
    long ret =
        sys_call(SYS_mmap, address, CHUNK_BYTES, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE | filled, -1, 0);
    if ((uintptr_t)ret == address)
        return true;
    if (ret > 0) /* a kernel before 4.17 takes it as a hint */
        sys_call(SYS_munmap, ret, CHUNK_BYTES);
    return false;
}

bool slots_init(void)
{
    static const uintptr_t candidates[] = {SLOT_WINDOW, UINT64_C(0x080000000000),
                                           UINT64_C(0x4a0000000000), UINT64_C(0x2a0000000000)};
    for (size_t i = 0; i < ARRAY_SIZE(candidates); i++) {
        if (!map_chunk(candidates[i], 0))
            continue;
        slot_base = candidates[i];
        slot_at(0)->stamp = UINT64_MAX; /* an address without an entry leads here: nobody's */
        arena_count(ARENA_THREADS, CHUNK_BYTES);
        atomic_store(&next_chunk, 1);
        atomic_store(&current, (UINT64_C(1) << 32) + 1); /* index 0 is never given */
        return true;
    }
    return false;
}

/* The number of a fresh chunk; 0: none. */
static uint64_t chunk_new(void)
{
    const uint64_t chunks = (UINT64_C(1) << SLOT_WINDOW_BITS) / CHUNK_BYTES;
    for (int tries = 0; tries < 64; tries++) {
        uint64_t number = atomic_fetch_add(&next_chunk, 1);
        if (number >= chunks)
            return 0;
        if (!map_chunk(slot_base + number * CHUNK_BYTES, MAP_POPULATE))
            continue;
        arena_count(ARENA_THREADS, CHUNK_BYTES);
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
        if (used + count <= CHUNK_SLOTS) {
            if (atomic_compare_exchange_weak(&current, &seen, seen + count))
                return (Slot *)(slot_base + number * CHUNK_BYTES) + used;
            continue;
        }
        uint64_t fresh = chunk_new();
        if (!fresh)
            return NULL;
        /* A loser leaves its chunk unused: 128 KiB of address space, no memory. */
        atomic_compare_exchange_strong(&current, &seen, (fresh + 1) << 32);
    }
}
