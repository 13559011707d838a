// SPDX-License-Identifier: Apache-2.0
/* Address ranges against a plain search through all of them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "profile/module_map.h"
#include "profile/profile.h"

static uint64_t rank_index(const void *context, uint32_t module)
{
    (void)context;
    return module;
}

static uint64_t rank_reverse(const void *context, uint32_t module)
{
    (void)context;
    return 1000 - module;
}

static void test_edges(void **state)
{
    MemoryBudget budget = {.limit_bytes = 1 << 20};
    ModuleMap map = {0};

    (void)state;
    assert_int_equal(module_map_find(&map, 5, rank_index, NULL), ID_NONE);
    assert_int_equal(module_map_add(&map, &budget, 100, 50, 0), 0);
    assert_int_equal(module_map_add(&map, &budget, 150, 50, 1), 0);
    assert_int_equal(module_map_add(&map, &budget, 300, 0, 2), 0);              /* empty */
    assert_int_equal(module_map_add(&map, &budget, UINT64_MAX - 9, 100, 3), 0); /* runs over */
    assert_int_equal(module_map_find(&map, 99, rank_index, NULL), ID_NONE);
    assert_int_equal(module_map_find(&map, 100, rank_index, NULL), 0);
    assert_int_equal(module_map_find(&map, 149, rank_index, NULL), 0);
    assert_int_equal(module_map_find(&map, 150, rank_index, NULL), 1);
    assert_int_equal(module_map_find(&map, 200, rank_index, NULL), ID_NONE);
    assert_int_equal(module_map_find(&map, 300, rank_index, NULL), ID_NONE);
    assert_int_equal(module_map_find(&map, UINT64_MAX - 1, rank_index, NULL), 3);
    vector_done(&map.ranges, &budget);
    assert_int_equal(budget.used_bytes, 0);
}

static void test_overlaps(void **state)
{
    enum { COUNT = 60 };
    MemoryBudget budget = {.limit_bytes = 1 << 20};
    uint64_t starts[COUNT], sizes[COUNT];
    ModuleMap map = {0};

    (void)state;
    srand(3);
    for (uint32_t i = 0; i < COUNT; i++) {
        starts[i] = (uint64_t)(rand() % 1000);
        sizes[i] = (uint64_t)(rand() % (i % 10 ? 40 : 900)) + 1;
        assert_int_equal(module_map_add(&map, &budget, starts[i], sizes[i], i), 0);
    }
    for (uint64_t address = 0; address < 2000; address++) {
        uint32_t newest = ID_NONE, oldest = ID_NONE;
        for (uint32_t i = 0; i < COUNT; i++) {
            if (address < starts[i] || address - starts[i] >= sizes[i])
                continue;
            newest = i;
            oldest = oldest == ID_NONE ? i : oldest;
        }
        assert_int_equal(module_map_find(&map, address, rank_index, NULL), newest);
        assert_int_equal(module_map_find(&map, address, rank_reverse, NULL), oldest);
    }
    vector_done(&map.ranges, &budget);
}

static void test_limit(void **state)
{
    MemoryBudget budget = {.limit_bytes = 16 << 20};
    ModuleMap map = {0};

    (void)state;
    for (uint32_t i = 0; i < MODULE_RANGES_MAX; i++)
        assert_int_equal(module_map_add(&map, &budget, i * 10u, 10, i), 0);
    assert_int_equal(module_map_add(&map, &budget, 0, 10, 1), -E2BIG);
    assert_int_equal(module_map_find(&map, 81235, rank_index, NULL), 8123);
    vector_done(&map.ranges, &budget);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_edges),
        cmocka_unit_test(test_overlaps),
        cmocka_unit_test(test_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
