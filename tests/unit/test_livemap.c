// SPDX-License-Identifier: Apache-2.0
/* The live map: which entry belongs to which address, computed by hand; leaves, memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "runtime/livemap.h"
#include "vm_flags.h"

#define AT(address) ((const void *)(uintptr_t)(address))

/* 0x7f0000000000 is a multiple of 64 MiB, hence the start of a leaf: number 0x1fc000. */
#define LEAF UINT64_C(0x7f0000000000)
enum { LEAF_TOP = 0x1fc000 };

static void test_shift_5(void **state)
{
    LiveMap map = {0};

    (void)state;
    assert_int_equal(livemap_init(&map, 5), 0);
    assert_null(livemap_find(&map, AT(LEAF)));
    LiveEntry *first = livemap_make(&map, AT(LEAF + 0x1234560));
    assert_non_null(first);
    first -= 0x91a2b; /* 0x1234560 / 32 */
    assert_ptr_equal(livemap_find(&map, AT(LEAF)), first);
    assert_ptr_equal(livemap_make(&map, AT(LEAF)), first);
    assert_int_equal((uintptr_t)first % 4096, 0);
    assert_ptr_equal(livemap_find(&map, AT(LEAF + 16)), first); /* same granule */
    assert_ptr_equal(livemap_find(&map, AT(LEAF + 31)), first);
    assert_ptr_equal(livemap_find(&map, AT(LEAF + 32)), first + 1);
    assert_ptr_equal(livemap_find(&map, AT(LEAF + 0x3ffffe0)), first + 0x1fffff); /* the last */
    assert_null(livemap_find(&map, AT(LEAF + 0x4000000)));
    assert_null(livemap_find(&map, AT(LEAF - 16)));
    /* The root's cell is biased by the granules below the leaf: 0x7f0000000000 / 32. */
    assert_int_equal((uintptr_t)map.root[LEAF_TOP] + UINT64_C(0x3f800000000) * sizeof(LiveEntry),
                     (uintptr_t)first);
    atomic_store(first + 0x1fffff, 77);
    assert_int_equal(atomic_load(livemap_find(&map, AT(LEAF + 0x3fffff0))), 77);
}

static void test_shift_3(void **state)
{
    LiveMap map = {0};

    (void)state;
    assert_int_equal(livemap_init(&map, 3), 0);
    LiveEntry *first = livemap_make(&map, AT(LEAF));
    assert_ptr_equal(livemap_find(&map, AT(LEAF + 7)), first);
    assert_ptr_equal(livemap_find(&map, AT(LEAF + 8)), first + 1);
    assert_ptr_equal(livemap_find(&map, AT(LEAF + 0x20)), first + 4);
    assert_ptr_equal(livemap_find(&map, AT(LEAF + 0x3fffff8)), first + 0x7fffff);
    atomic_store(first + 0x7fffff, 5); /* the leaf is as large as that */
    assert_null(livemap_find(&map, AT(LEAF + 0x4000000)));
}

/* Bits 47 and up, where tags stand, do not matter. */
static void test_tags(void **state)
{
    LiveMap map = {0};

    (void)state;
    livemap_init(&map, 5);
    LiveEntry *entry = livemap_make(&map, AT(UINT64_C(0x5a007f0000000040)));
    assert_ptr_equal(livemap_find(&map, AT(LEAF + 64)), entry);
    assert_ptr_equal(livemap_find(&map, AT(UINT64_C(0xff80000000000000) | (LEAF + 64))), entry);
}

static void test_ends(void **state)
{
    LiveMap map = {0};

    (void)state;
    livemap_init(&map, 5);
    assert_null(livemap_find(&map, NULL));
    LiveEntry *low = livemap_make(&map, AT(32));
    assert_ptr_equal(livemap_find(&map, AT(0)), low - 1);
    LiveEntry *high = livemap_make(&map, AT(UINT64_C(0x7fffffffffff)));
    assert_ptr_equal(livemap_find(&map, AT(UINT64_C(0x7ffffc000000))), high - 0x1fffff);
    assert_non_null(map.root[0]);
    assert_non_null(map.root[0x1fffff]);
    assert_ptr_not_equal(low, high);
}

static void test_init_twice(void **state)
{
    LiveMap map = {0}, never = {0};

    (void)state;
    assert_int_equal(livemap_init(&map, 5), 0);
    void *root = map.root;
    assert_int_equal(livemap_init(&map, 3), 0);
    assert_ptr_equal(map.root, root);
    assert_int_equal(map.shift, 5);
    assert_int_equal(livemap_resident_bytes(&never), 0);
}

/* What was touched counts, and nothing else. */
static void test_resident(void **state)
{
    LiveMap map = {0};

    (void)state;
    livemap_init(&map, 5);
    assert_int_equal(livemap_resident_bytes(&map), 0);
    LiveEntry *first = livemap_make(&map, AT(LEAF));
    size_t a_page = 4096 / sizeof(LiveEntry);
    uint64_t root_only = livemap_resident_bytes(&map);
    assert_int_equal(root_only, 4096); /* the root's page */
    atomic_store(first, 1);
    atomic_store(first + 1, 1);
    atomic_store(first + 5 * a_page, 1);
    atomic_store(first + 0x1fffff, 1);
    assert_in_range(livemap_resident_bytes(&map), 4 * 4096, 4 * (2 << 20)); /* or huge pages */
}

/* Slot bits above, overhead below; from 63 on it stands in the next entry. */
static void test_entries(void **state)
{
    static const uint64_t overheads[] = {0, 1, 8, 62, 63, 64, 4096, UINT32_MAX};
    LiveMap map = {0};
    uint64_t overhead = 99;

    (void)state;
    livemap_init(&map, 5);
    LiveEntry *entry = livemap_make(&map, AT(LEAF));
    assert_int_equal(live_take(entry, &overhead), 0);
    for (size_t i = 0; i < sizeof(overheads) / sizeof(overheads[0]); i++) {
        live_put(entry, 0xabcdef40, overheads[i]);
        assert_int_equal(atomic_load(entry), 0xabcdef40 | (overheads[i] < 63 ? overheads[i] : 63));
        assert_int_equal(atomic_load(entry + 1), overheads[i] < 63 ? 0 : overheads[i]);
        assert_int_equal(live_take(entry, &overhead), 0xabcdef40);
        assert_int_equal(overhead, overheads[i]);
        assert_int_equal(atomic_load(entry), 0);
        assert_int_equal(atomic_load(entry + 1), 0); /* else the neighbour looks taken */
        assert_int_equal(live_take(entry, &overhead), 0);
    }
    /* The last granule of a leaf has room behind it. */
    entry = livemap_find(&map, AT(LEAF + 0x3ffffe0));
    live_put(entry, 0x40, 1000);
    assert_int_equal(live_take(entry, &overhead), 0x40);
    assert_int_equal(overhead, 1000);
}

/* Warming changes what is resident, never an entry. */
static void test_warm(void **state)
{
    LiveMap map = {0};
    uintptr_t last = 0;

    (void)state;
    livemap_init(&map, 5);
    livemap_warm(&map, LEAF, &last); /* no leaf yet: nothing happens */
    LiveEntry *first = livemap_make(&map, AT(LEAF));
    for (uint32_t i = 0; i < 0x200000; i += 1000)
        live_put(first + i, 0x40 + (i << 6), 7);
    for (uintptr_t block = LEAF; block < LEAF + 0x4000000; block += 0x10000)
        livemap_warm(&map, block, &last);
    for (uint32_t i = 0; i < 0x200000; i += 1000) {
        uint64_t overhead;
        assert_int_equal(live_take(first + i, &overhead), 0x40 + (i << 6));
        assert_int_equal(overhead, 7);
    }
}

/* Mapped ahead once, where blocks follow each other. */
static void test_warm_once(void **state)
{
    (void)state;
    const uintptr_t region = LEAF + 0x40000000;
    LiveMap map = {0};
    uintptr_t last = 0;
    livemap_init(&map, 5);
    LiveEntry *first = livemap_make(&map, AT(region));
    uint64_t empty = livemap_resident_bytes(&map);
    livemap_warm(&map, region + 0x1000, &last); /* follows nothing */
    livemap_warm(&map, region + 0x200000, &last);
    livemap_warm(&map, region + 0x1000, &last); /* downwards */
    assert_int_equal(livemap_resident_bytes(&map), empty);
    livemap_warm(&map, region + 0x2000, &last);
    uint64_t warm = livemap_resident_bytes(&map);
    if (warm == empty)
        skip(); /* a kernel before 5.14 */
    /* The rest of this MiB: 4 bytes for each 32 of 0xfe000, whole pages. */
    assert_int_equal(warm - empty, 0x1f000);
    livemap_warm(&map, region + 0xbf000, &last); /* not near its end yet */
    assert_int_equal(livemap_resident_bytes(&map), warm);
    livemap_warm(&map, region + 0xc0000, &last);
    assert_int_equal(livemap_resident_bytes(&map) - warm, 0x20000);
    madvise((void *)first, 0x40000, MADV_DONTNEED);
    for (uintptr_t block = region; block < region + 0x1c0000; block += 0x4000)
        livemap_warm(&map, block, &last); /* again, as a heap does that is used anew */
    assert_int_equal(livemap_resident_bytes(&map), empty);
}

/* As a heap grows from FROM to TO. */
static void grow(LiveMap *map, uintptr_t from, uintptr_t to)
{
    uintptr_t last = 0;
    for (uintptr_t block = from; block < to; block += 0x10000) {
        assert_non_null(livemap_make(map, AT(block)));
        livemap_warm(map, block, &last);
    }
}

static bool wants_huge(const LiveMap *map, uintptr_t address)
{
    return vm_has_flag(livemap_find(map, AT(address)), "hg");
}

/* 2 MiB of the map are 16 MiB of heap: wanted where the 8 MiB below were used, else refused. */
static void test_huge(void **state)
{
    (void)state;
    const uintptr_t region = LEAF + 0x80000000, mib = 1 << 20;
    LiveMap map = {0};
    livemap_init(&map, 5);
    if (!vm_knows_huge())
        skip();
    LiveEntry *first = livemap_make(&map, AT(region));
    assert_int_equal((uintptr_t)first % 0x200000, 0);
    assert_true(vm_has_flag(first, "nh"));
    assert_true(vm_has_flag(first + 0x1fffff, "nh"));
    /* 7 MiB are not enough. */
    grow(&map, region + 9 * mib, region + 17 * mib);
    assert_false(wants_huge(&map, region));
    assert_false(wants_huge(&map, region + 16 * mib));
    grow(&map, region + 17 * mib, region + 31 * mib);
    assert_false(wants_huge(&map, region + 32 * mib)); /* nor before it is needed */
    grow(&map, region + 31 * mib, region + 32 * mib);
    assert_true(wants_huge(&map, region + 32 * mib));
    assert_true(wants_huge(&map, region + 48 * mib - 32));
    assert_false(wants_huge(&map, region + 48 * mib));
    assert_false(wants_huge(&map, region + 32 * mib - 32));
}

/* Above a dense heap the next leaf is there before its first block, with a huge page. */
static void test_next_leaf(void **state)
{
    (void)state;
    const uintptr_t region = LEAF + 0xc0000000, mib = 1 << 20;
    LiveMap map = {0}, sparse = {0};
    livemap_init(&map, 5);
    livemap_init(&sparse, 5);
    grow(&map, region + 56 * mib, region + 64 * mib);
    assert_non_null(livemap_find(&map, AT(region + 64 * mib)));
    assert_null(livemap_find(&map, AT(region + 128 * mib)));
    if (vm_knows_huge())
        assert_true(wants_huge(&map, region + 64 * mib));
    /* Not above a hole. */
    grow(&sparse, region + 128 * mib + 57 * mib, region + 192 * mib);
    assert_null(livemap_find(&sparse, AT(region + 192 * mib)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shift_5),    cmocka_unit_test(test_shift_3),
        cmocka_unit_test(test_tags),       cmocka_unit_test(test_ends),
        cmocka_unit_test(test_init_twice), cmocka_unit_test(test_resident),
        cmocka_unit_test(test_entries),    cmocka_unit_test(test_warm),
        cmocka_unit_test(test_warm_once),  cmocka_unit_test(test_huge),
        cmocka_unit_test(test_next_leaf),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
