// SPDX-License-Identifier: Apache-2.0
/* Where slots lie: small chunks, large ones, places that are taken, threads that race. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "runtime/stacks.h"
#include "runtime_stub.h"
#include "vm_flags.h"

enum { BLOCK = 32, SMALL = 32768, TWO_MIB = 0x200000, THREADS = 4, EACH = 3000 };

static Slot *blocks[THREADS * EACH + 8192];
static size_t count;

static int compare(const void *a, const void *b)
{
    uintptr_t left = (uintptr_t) * (Slot *const *)a, right = (uintptr_t) * (Slot *const *)b;
    return left < right ? -1 : left > right;
}

static void check_block(const Slot *block)
{
    assert_true((uintptr_t)block >= slot_base);
    assert_true((uintptr_t)(block + BLOCK) - slot_base <= UINT64_C(1) << 32);
    assert_int_equal((uintptr_t)block % sizeof(Slot), 0);
    assert_ptr_equal(slot_at(slot_index(block)), block);
    assert_true(slot_index(block) > 0);
    for (int i = 0; i < BLOCK; i++) {
        assert_int_equal(block[i].stamp, 0);
        assert_int_equal(block[i].sums.alloc_count, 0);
    }
}

/* No two share a slot. */
static void check_distinct(void)
{
    qsort(blocks, count, sizeof(blocks[0]), compare);
    for (size_t i = 1; i < count; i++)
        assert_true(blocks[i] - blocks[i - 1] >= BLOCK);
}

static void take_until(uint32_t index)
{
    do {
        blocks[count] = slots_take(BLOCK);
        assert_non_null(blocks[count]);
        check_block(blocks[count]);
    } while (slot_index(blocks[count++]) < index);
}

/* The first 2 MiB in steps of 128 KiB; in chunks of 2048 slots less those that do not fit. */
static void test_small(void **state)
{
    (void)state;
    take_until(SMALL - BLOCK - 31);
    check_distinct();
    assert_in_range(count, SMALL / BLOCK - 32, SMALL / BLOCK);
    if (vm_knows_huge())
        assert_false(vm_has_flag(blocks[count - 1], "hg"));
}

/* Then 2 MiB at a time, each at a multiple of 2 MiB, where huge pages are wanted. */
static void test_large(void **state)
{
    (void)state;
    take_until(3 * SMALL - BLOCK);
    check_distinct();
    /* Nothing is left out: 2 MiB hold 1024 blocks. */
    assert_in_range(count, 3 * SMALL / BLOCK - 34, 3 * SMALL / BLOCK);
    if (!vm_knows_huge())
        skip();
    assert_true(vm_has_flag((void *)(slot_base + TWO_MIB), "hg"));
    assert_true(vm_has_flag((void *)(slot_base + 3 * TWO_MIB - 1), "hg"));
    assert_false(vm_has_flag((void *)(slot_base + TWO_MIB - 1), "hg"));
}

/* A mapping of the program's is in the way: that chunk is left out. */
static void test_taken_place(void **state)
{
    (void)state;
    void *place = (void *)(slot_base + 5 * TWO_MIB - 4096);
    void *taken = mmap(place, 4096, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    assert_ptr_equal(taken, place);
    take_until(5 * SMALL);
    check_distinct();
    for (size_t i = 0; i < count; i++)
        assert_false(slot_index(blocks[i]) / SMALL == 4);
    assert_int_equal(*(char *)taken, 0);
}

static void *take_many(void *into)
{
    Slot **mine = into;
    for (size_t i = 0; i < EACH; i++) {
        mine[i] = slots_take(BLOCK);
        for (int slot = 0; mine[i] && slot < BLOCK; slot++)
            mine[i][slot].stamp += 1;
    }
    return NULL;
}

static void test_race(void **state)
{
    pthread_t threads[THREADS];
    size_t first = count;
    (void)state;
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, take_many, blocks + first + i * EACH);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    count += THREADS * (size_t)EACH;
    for (size_t i = first; i < count; i++) {
        assert_non_null(blocks[i]);
        for (int slot = 0; slot < BLOCK; slot++)
            assert_int_equal(blocks[i][slot].stamp, 1);
    }
    check_distinct();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_taken_place),
        cmocka_unit_test(test_race),
    };
    stub_start();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
