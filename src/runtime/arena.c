// SPDX-License-Identifier: Apache-2.0
/*
 * See arena.h. Small blocks are cut from chunks of 64 KiB by an atomic add; whoever finds the chunk
 * used up maps the next one and publishes it by compare-and-swap (a loser unmaps its own). Nothing
 * small is ever given back: what the recorder keeps lives as long as the process.
 */
#include "runtime/arena.h"

#include <stdatomic.h>
#include <sys/mman.h>

#include "base/sys.h"
#include "runtime/huge.h"

enum { CHUNK_BYTES = 64 << 10, CHUNK_HEADER = 64 };

typedef struct Chunk {
    _Atomic size_t used;
} Chunk;

static _Atomic(Chunk *) current[ARENA_KINDS]; /* one a kind, so that cache lines are not shared */
static _Atomic uint64_t bytes_of[ARENA_KINDS];
static _Atomic unsigned fail_countdown;

/* A thread that fills pages one after the other has them mapped by one call, for a third of what
 * their faults would cost. What is large enough gets huge pages instead, which are few. */
static void *map_filled(size_t bytes)
{
    if (bytes >= HUGE_BYTES) {
        void *memory = huge_map(bytes);
        if (memory)
            huge_want(memory, bytes);
        return memory;
    }
    long ret = sys_call(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_POPULATE, -1, 0);
    return ret < 0 && ret > -4096 ? NULL : (void *)ret;
}

static void *map_pages(ArenaKind kind, size_t bytes, bool filled)
{
    if (atomic_load_explicit(&fail_countdown, memory_order_relaxed) &&
        atomic_fetch_sub(&fail_countdown, 1) == 1)
        return NULL;
    void *memory = filled ? map_filled(bytes) : sys_map(bytes);
    if (memory)
        atomic_fetch_add_explicit(&bytes_of[kind], bytes, memory_order_relaxed);
    return memory;
}

void *arena_map(ArenaKind kind, size_t bytes)
{
    return map_pages(kind, (bytes + 4095) & ~(size_t)4095, false);
}

void *arena_map_filled(ArenaKind kind, size_t bytes)
{
    return map_pages(kind, (bytes + 4095) & ~(size_t)4095, true);
}

void arena_unmap(ArenaKind kind, void *memory, size_t bytes)
{
    if (!memory)
        return;
    bytes = (bytes + 4095) & ~(size_t)4095;
    sys_unmap(memory, bytes);
    atomic_fetch_sub_explicit(&bytes_of[kind], bytes, memory_order_relaxed);
}

static void *chunk_cut(Chunk *chunk, size_t bytes)
{
    size_t at = atomic_fetch_add_explicit(&chunk->used, bytes, memory_order_relaxed);
    return at + bytes <= CHUNK_BYTES ? (char *)chunk + at : NULL;
}

void *arena_take(ArenaKind kind, size_t bytes)
{
    bytes = (bytes + 15) & ~(size_t)15;
    if (bytes > CHUNK_BYTES / 4)
        return arena_map(kind, bytes);
    for (;;) {
        Chunk *chunk = atomic_load_explicit(&current[kind], memory_order_acquire);
        void *block = chunk ? chunk_cut(chunk, bytes) : NULL;
        if (block)
            return block;
        Chunk *fresh = map_pages(kind, CHUNK_BYTES, chunk != NULL);
        if (!fresh)
            return NULL;
        atomic_store_explicit(&fresh->used, CHUNK_HEADER, memory_order_relaxed);
        if (!atomic_compare_exchange_strong_explicit(&current[kind], &chunk, fresh,
                                                     memory_order_acq_rel, memory_order_relaxed))
            arena_unmap(kind, fresh, CHUNK_BYTES);
    }
}

void *arena_for_unwinder(size_t bytes)
{
    return arena_map(ARENA_THREADS, bytes);
}

void arena_count(ArenaKind kind, size_t bytes)
{
    atomic_fetch_add_explicit(&bytes_of[kind], bytes, memory_order_relaxed);
}

uint64_t arena_bytes(void)
{
    uint64_t sum = 0;
    for (int kind = 0; kind < ARENA_KINDS; kind++)
        sum += atomic_load_explicit(&bytes_of[kind], memory_order_relaxed);
    return sum;
}

void arena_fail_at(unsigned nth)
{
    atomic_store(&fail_countdown, nth);
}
