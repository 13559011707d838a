// SPDX-License-Identifier: Apache-2.0
/*
 * The cold side of the live map: mapping of leaves, memory accounting.
 *
 * A leaf is published by compare-and-swap, so that two threads that need it at once agree. Nothing
 * here locks, so all of it is usable in signal handlers and needs no care at fork.
 */
#include "runtime/livemap.h"

#include <errno.h>
#include <sys/mman.h>

#include "base/sys.h"
#include "runtime/huge.h"

enum { MINCORE_PAGES = 4096, LEAF_SPARE = 4096 };
enum { WARM_BITS = 20, WARM_BYTES = 1 << WARM_BITS, WARM_LEAVES = 1024 };
enum { DENSE_STRETCHES = 8 };

_Atomic(LiveEntry *) livemap_heap_root[1 << LIVEMAP_ROOT_BITS];

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

/* Without the spare page behind it, where the overhead of a block in the last granule goes. */
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
    LiveEntry *fresh = huge_map(leaf_bytes(map) + LEAF_SPARE);
    if (!fresh)
        return NULL;
    huge_refuse(fresh, leaf_bytes(map) + LEAF_SPARE); /* until its heap is seen to be dense */
    LiveEntry *expected = NULL;
    /* Programs at fixed addresses have blocks in the lowest leaf, where NULL lies too: there it has
     * an entry of slot 0, nobody's, so that the fast path fails before it reads a header. */
    if (!top && map->root == livemap_heap_root)
        fresh[0] = LIVE_ESCAPE;
    LiveEntry *biased = (LiveEntry *)((uintptr_t)fresh - top * leaf_bytes(map));
    if (!atomic_compare_exchange_strong(&map->root[top], &expected, biased))
        sys_unmap(fresh, leaf_bytes(map) + LEAF_SPARE);
    return livemap_find(map, block);
}

/* Linux 5.14; older kernels refuse, and nothing is lost. */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/*
 * Which stretches of WARM_BYTES were mapped ahead: a bit each, a word a leaf. Leaves WARM_LEAVES
 * apart share a word, and then a stretch may be left to its faults. A hint: no order needed.
 */
static _Atomic uint64_t warmed[WARM_LEAVES];
_Static_assert(LIVEMAP_LEAF_BITS - WARM_BITS == 6, "stretches of a leaf fill a word");

/* Whether the caller is the first who asks for the stretch at that address. */
static bool warm_claim(uintptr_t address)
{
    _Atomic uint64_t *word = &warmed[LIVEMAP_TOP(address) % WARM_LEAVES];
    uint64_t bit = UINT64_C(1) << (address >> WARM_BITS & 63);
    return !(atomic_load_explicit(word, memory_order_relaxed) & bit) &&
           !(atomic_fetch_or_explicit(word, bit, memory_order_relaxed) & bit);
}

/* Whether the DENSE_STRETCHES below the one at that address were all claimed. */
static bool is_dense_below(uintptr_t address)
{
    uintptr_t newest = address - WARM_BYTES;
    unsigned at = newest >> WARM_BITS & 63;
    uint64_t word =
        atomic_load_explicit(&warmed[LIVEMAP_TOP(newest) % WARM_LEAVES], memory_order_relaxed);
    uint64_t bits = (UINT64_C(1) << DENSE_STRETCHES) - 1;
    return at + 1 >= DENSE_STRETCHES && (word >> (at + 1 - DENSE_STRETCHES) & bits) == bits;
}

/*
 * The entry of an address in a stretch that is to be mapped ahead; NULL: its leaf is not there.
 * Above a dense heap the leaf is made, and where a huge page begins it is asked for: so huge pages
 * take at most 8 bytes a granule of what is dense, and a last one of which little is used.
 */
static LiveEntry *warm_entry(LiveMap *map, uintptr_t address)
{
    const void *block = (const void *)address;
    LiveEntry *entry = livemap_find(map, block);
    if (address % WARM_BYTES != 0 || !is_dense_below(address))
        return entry;
    if (!entry)
        entry = livemap_make(map, block);
    if (entry && (uintptr_t)entry % HUGE_BYTES == 0)
        huge_want(entry, HUGE_BYTES);
    return entry;
}

void livemap_warm(LiveMap *map, uintptr_t block, uintptr_t *last)
{
    static _Atomic bool refused;
    uintptr_t ahead = block + WARM_BYTES / 4, stretch = ahead & ~((uintptr_t)WARM_BYTES - 1);
    bool follows = block - *last < WARM_BYTES;
    *last = block;
    if (!follows || !warm_claim(ahead) || atomic_load_explicit(&refused, memory_order_relaxed))
        return;
    uintptr_t from = block > stretch ? block : stretch;
    const LiveEntry *first = warm_entry(map, from);
    if (!first)
        return;
    uintptr_t start = ((uintptr_t)first + 4095) & ~(uintptr_t)4095;
    uintptr_t end = (uintptr_t)(first + ((stretch + WARM_BYTES - from) >> map->shift));
    if (start < end && sys_call(SYS_madvise, start, end - start, MADV_POPULATE_WRITE) == -EINVAL)
        atomic_store(&refused, true);
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

static uint64_t resident_leaves(const LiveMap *map, size_t from, size_t to)
{
    uint64_t resident = 0;
    for (size_t top = from; top < to; top++) {
        LiveEntry *biased = atomic_load_explicit(&map->root[top], memory_order_acquire);
        if (biased)
            resident += resident_in((char *)biased + top * leaf_bytes(map), leaf_bytes(map));
    }
    return resident;
}

uint64_t livemap_resident_bytes(const LiveMap *map)
{
    enum { ROOT_PAGES = (sizeof(map->root[0]) << LIVEMAP_ROOT_BITS) / 4096 };
    const size_t cells = 4096 / sizeof(map->root[0]);
    unsigned char pages[ROOT_PAGES + 1];
    uintptr_t start = (uintptr_t)map->root & ~(uintptr_t)4095;
    size_t before = ((uintptr_t)map->root - start) / sizeof(map->root[0]);
    size_t count = ROOT_PAGES + (before != 0);
    if (!map->root || sys_call(SYS_mincore, start, count * 4096, pages) < 0)
        return 0;
    uint64_t resident = 0;
    /* Only root pages that are resident can hold leaves: the others are not faulted in. */
    for (size_t page = 0; page < count; page++) {
        if (!(pages[page] & 1))
            continue;
        size_t from = page * cells, to = from + cells;
        from = from > before ? from - before : 0;
        to = to > before ? to - before : 0;
        if (to > (size_t)1 << LIVEMAP_ROOT_BITS)
            to = (size_t)1 << LIVEMAP_ROOT_BITS;
        resident += 4096 + resident_leaves(map, from, to);
    }
    return resident;
}
