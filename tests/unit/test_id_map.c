// SPDX-License-Identifier: Apache-2.0
/* Ids to indexes: dense, wild and mixed ids, against the order in which they were put. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "profile/id_map.h"

static void test_dense(void **state)
{
    MemoryBudget budget = {.limit_bytes = 64 << 20};
    IdMap map = {.budget = &budget};

    (void)state;
    assert_int_equal(id_map_find(&map, 0), ID_MAP_NONE);
    for (uint32_t i = 0; i < 100000; i++)
        assert_int_equal(id_map_put(&map, i, i ^ 1), 0);
    for (uint32_t i = 0; i < 100000; i++)
        assert_int_equal(id_map_find(&map, i), i ^ 1);
    assert_int_equal(id_map_find(&map, 100000), ID_MAP_NONE);
    assert_int_equal(id_map_find(&map, UINT64_MAX), ID_MAP_NONE);
    assert_null(map.hash);
    assert_true(budget.used_bytes < 100000 * 8 + 8192);
    id_map_done(&map);
    assert_int_equal(budget.used_bytes, 0);
}

/* Ids all over 64 bits, among them neighbours and multiples of big powers of two. */
static uint64_t wild(uint32_t i)
{
    return i % 3 == 0 ? (uint64_t)i << 40 : i % 3 == 1 ? UINT64_MAX - i : (uint64_t)i * 1000003;
}

static void test_wild(void **state)
{
    MemoryBudget budget = {.limit_bytes = 64 << 20};
    IdMap map = {.budget = &budget};

    (void)state;
    for (uint32_t i = 1; i < 50000; i++)
        assert_int_equal(id_map_put(&map, wild(i), i), 0);
    for (uint32_t i = 1; i < 50000; i++)
        assert_int_equal(id_map_find(&map, wild(i)), i);
    assert_int_equal(id_map_find(&map, 5), ID_MAP_NONE);
    id_map_done(&map);
    assert_int_equal(budget.used_bytes, 0);
}

/* An id that went to the hash while the table was small stays findable when the table outgrows it.
 */
static void test_table_overtakes(void **state)
{
    MemoryBudget budget = {.limit_bytes = 64 << 20};
    IdMap map = {.budget = &budget};

    (void)state;
    assert_int_equal(id_map_put(&map, 50000, 7), 0);
    for (uint32_t i = 0; i < 60000; i++) {
        if (i != 50000)
            assert_int_equal(id_map_put(&map, i, i + 100), 0);
    }
    assert_true(map.capacity > 50000);
    assert_int_equal(id_map_find(&map, 50000), 7);
    assert_int_equal(id_map_find(&map, 50001), 50101);
    id_map_done(&map);
}

static void test_budget(void **state)
{
    MemoryBudget budget = {.limit_bytes = 1 << 20};
    IdMap map = {.budget = &budget};
    uint32_t i = 1;

    (void)state;
    while (id_map_put(&map, wild(i), i) == 0) {
        i++;
        assert_true(i < 1000000);
    }
    assert_true(budget.used_bytes <= budget.limit_bytes);
    for (uint32_t k = 1; k < i; k++)
        assert_int_equal(id_map_find(&map, wild(k)), k);
    id_map_done(&map);
    assert_int_equal(budget.used_bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dense),
        cmocka_unit_test(test_wild),
        cmocka_unit_test(test_table_overtakes),
        cmocka_unit_test(test_budget),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
