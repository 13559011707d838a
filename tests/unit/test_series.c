// SPDX-License-Identifier: Apache-2.0
/*
 * Compact series against the obvious implementation: an array with the values after each snapshot.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "profile/series.h"

enum { SNAPSHOTS = 3000 };

static Values truth[SNAPSHOTS];
static MemoryBudget budget;

static uint64_t random_next(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* A number of a random size, from 1 to all 64 bits, either sign. */
static int64_t random_number(uint64_t *seed)
{
    uint64_t bits = random_next(seed) % 64;

    return (int64_t)(random_next(seed) >> bits);
}

/* Fills truth[] and *series; on average one of SPARSE snapshots brings a change. */
static void fill(Series *series, Pool *pool, uint64_t seed, unsigned sparse)
{
    Values now = {0};

    memset(series, 0, sizeof *series);
    for (uint32_t s = 0; s < SNAPSHOTS; s++) {
        if (random_next(&seed) % sparse == 0) {
            unsigned mask = random_next(&seed) & 63;
            for (int m = 0; m < METRIC_MAX; m++) {
                if (mask >> m & 1)
                    now.v[m] = random_number(&seed);
            }
            assert_int_equal(series_put(series, pool, s, &now), 0);
        }
        truth[s] = now;
    }
}

static void test_states(void **state)
{
    static const unsigned sparse[] = {1, 2, 10, 100, 1000, 5000};

    (void)state;
    for (size_t i = 0; i < sizeof sparse / sizeof *sparse; i++) {
        Pool pool = {.budget = &budget};
        Series series;
        Values values;

        fill(&series, &pool, 7 + i, sparse[i]);
        for (int64_t s = 0; s < SNAPSHOTS; s++) {
            series_at(&series, s, &values);
            assert_memory_equal(&values, &truth[s], sizeof values);
        }
        series_at(&series, -1, &values);
        assert_memory_equal(&values, &(Values){0}, sizeof values);
        series_at(&series, INT64_MAX, &values);
        assert_memory_equal(&values, &truth[SNAPSHOTS - 1], sizeof values);
        pool_done(&pool);
    }
}

static void check_changes(const Series *series, Metric metric, uint32_t first, uint32_t last)
{
    static int64_t deltas[SNAPSHOTS];
    int64_t value;

    memset(deltas, 0, sizeof deltas);
    value = series_add_changes(series, metric, first, last, deltas);
    assert_int_equal(value, first ? truth[first - 1].v[metric] : 0);
    for (uint32_t s = first; s <= last; s++) {
        value = wrap_add(value, deltas[s - first]);
        assert_int_equal(value, truth[s].v[metric]);
    }
    assert_int_equal(last + 1 - first < SNAPSHOTS ? deltas[last + 1 - first] : 0, 0);
}

/* Together as one by one, which test_states() checks: dense, sparse and empty ones, at all ends. */
static void test_states_at_once(void **state)
{
    static const int64_t moments[] = {-1, 0, 1, 77, SNAPSHOTS / 2, SNAPSHOTS - 1, INT64_MAX};
    Series series[SERIES_AT_ONCE] = {0};
    const Series *asked[SERIES_AT_ONCE];
    Values values[SERIES_AT_ONCE], single, *rooms[SERIES_AT_ONCE];
    Pool pool = {.budget = &budget};

    (void)state;
    for (unsigned i = 0; i < SERIES_AT_ONCE; i++) {
        if (i % 7 != 3)
            fill(&series[i], &pool, 1000 + i, 1 + i * i * 3);
        asked[i] = &series[i];
        rooms[SERIES_AT_ONCE - 1 - i] = &values[i];
    }
    for (size_t m = 0; m < sizeof moments / sizeof *moments; m++) {
        memset(values, 0xee, sizeof values);
        series_at_each(asked, SERIES_AT_ONCE, moments[m], rooms);
        for (unsigned i = 0; i < SERIES_AT_ONCE; i++) {
            series_at(&series[i], moments[m], &single);
            assert_memory_equal(rooms[i], &single, sizeof single);
        }
    }
    memset(values, 0xee, sizeof values);
    series_at_each(asked, 1, SNAPSHOTS / 2, rooms);
    memset(&single, 0xee, sizeof single);
    assert_memory_equal(rooms[1], &single, sizeof single); /* only what was asked for */
    pool_done(&pool);
}

static void test_changes(void **state)
{
    static const unsigned sparse[] = {1, 3, 50, 4000};
    uint64_t seed = 99;

    (void)state;
    for (size_t i = 0; i < sizeof sparse / sizeof *sparse; i++) {
        Pool pool = {.budget = &budget};
        Series series;

        fill(&series, &pool, 70 + i, sparse[i]);
        for (int m = 0; m < METRIC_MAX; m++) {
            check_changes(&series, (Metric)m, 0, SNAPSHOTS - 1);
            check_changes(&series, (Metric)m, 0, 0);
            check_changes(&series, (Metric)m, SNAPSHOTS - 1, SNAPSHOTS - 1);
            for (int k = 0; k < 200; k++) {
                uint32_t a = (uint32_t)(random_next(&seed) % SNAPSHOTS);
                uint32_t b = (uint32_t)(random_next(&seed) % SNAPSHOTS);
                check_changes(&series, (Metric)m, a < b ? a : b, a < b ? b : a);
            }
        }
        pool_done(&pool);
    }
}

/* The list of changes, added up, is truth[] at each snapshot; in order, one a snapshot. */
static void check_list(const Series *series, Metric metric, uint32_t first, uint32_t last)
{
    static ProfileChange room[SNAPSHOTS];
    const ProfileChange *changes;
    int64_t value;
    size_t count = series_changes(series, metric, first, last, room, &changes, &value), at = 0;

    assert_true(value == (first ? truth[first - 1].v[metric] : 0));
    for (uint32_t s = first; s <= last; s++) {
        if (at < count && changes[at].snapshot == s)
            value = wrap_add(value, changes[at++].delta);
        assert_true(value == truth[s].v[metric]);
    }
    assert_int_equal(at, count);
}

static void test_list_of_changes(void **state)
{
    static const unsigned sparse[] = {1, 3, 30, 1000, 5000};
    uint64_t seed = 99;

    (void)state;
    for (size_t i = 0; i < sizeof sparse / sizeof *sparse; i++) {
        Pool pool = {.budget = &budget};
        Series series;

        fill(&series, &pool, 70 + i, sparse[i]);
        for (int k = 0; k < 200; k++) {
            uint32_t first = (uint32_t)(random_next(&seed) % SNAPSHOTS);
            uint32_t last = first + (uint32_t)(random_next(&seed) % (SNAPSHOTS - first));
            check_list(&series, (Metric)(k % METRIC_MAX), first, last);
        }
        check_list(&series, METRIC_LIVE_BYTES, 0, SNAPSHOTS - 1);
        pool_done(&pool);
    }
}

static void test_extremes(void **state)
{
    static const int64_t numbers[] = {INT64_MAX, INT64_MIN, 0,  -1,  1,
                                      INT64_MIN, INT64_MAX, 63, -64, 64};
    Pool pool = {.budget = &budget};
    Series series = {0};
    Values values;

    (void)state;
    for (uint32_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        for (int m = 0; m < METRIC_MAX; m++)
            values.v[m] = numbers[i];
        assert_int_equal(series_put(&series, &pool, i * 400000000u, &values), 0);
    }
    for (uint32_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        series_at(&series, (int64_t)i * 400000000, &values);
        for (int m = 0; m < METRIC_MAX; m++)
            assert_int_equal(values.v[m], numbers[i]);
        if (i > 0) {
            series_at(&series, (int64_t)i * 400000000 - 1, &values);
            assert_int_equal(values.v[0], numbers[i - 1]);
        }
    }
    pool_done(&pool);
}

/* Twice at one snapshot: the last word counts, also when a chunk ends in between. */
static void test_twice(void **state)
{
    Pool pool = {.budget = &budget};
    Series series = {0};
    Values values;
    int64_t deltas[2] = {0, 0};

    (void)state;
    for (int i = 1; i <= 500; i++) {
        values = (Values){{i * 1000000007LL, i, 0, 0, 0, 0}};
        assert_int_equal(series_put(&series, &pool, 5, &values), 0);
    }
    series_at(&series, 4, &values);
    assert_int_equal(values.v[1], 0);
    series_at(&series, 5, &values);
    assert_int_equal(values.v[1], 500);
    assert_int_equal(series_add_changes(&series, METRIC_LIVE_COUNT, 5, 6, deltas), 0);
    const ProfileChange *changes;
    ProfileChange room[2];
    int64_t before;
    assert_int_equal(series_changes(&series, METRIC_LIVE_COUNT, 5, 6, room, &changes, &before), 1);
    assert_int_equal(before, 0);
    assert_int_equal(changes[0].snapshot, 5);
    assert_int_equal(changes[0].delta, deltas[0]);
    assert_int_equal(deltas[0], 500);
    assert_int_equal(deltas[1], 0);
    pool_done(&pool);
}

/* Steady small changes, the common case, must stay near 10 bytes each; no change costs nothing. */
static void test_size(void **state)
{
    enum { STEADY = 15000 };
    MemoryBudget counted = {.limit_bytes = 64 << 20};
    Pool pool = {.budget = &counted};
    Series series = {0};
    Values values = {0};
    Series before;

    (void)state;
    for (uint32_t s = 0; s < STEADY; s++) {
        values.v[METRIC_LIVE_BYTES] += s % 2 ? 3000 : -2000;
        values.v[METRIC_LIVE_COUNT] += s % 2 ? 30 : -20;
        values.v[METRIC_TOTAL_BYTES] += 3000;
        values.v[METRIC_TOTAL_COUNT] += 30;
        assert_int_equal(series_put(&series, &pool, s, &values), 0);
    }
    assert_true(counted.used_bytes < STEADY * 9); /* what is free of the last block too */
    before = series;
    assert_int_equal(series_put(&series, &pool, 30000, &values), 0);
    assert_memory_equal(&series, &before, sizeof before);
    assert_int_equal(series.last_snapshot, STEADY - 1);
    pool_done(&pool);
}

static void test_out_of_memory(void **state)
{
    MemoryBudget small = {.limit_bytes = 20000};
    Pool pool = {.budget = &small};
    Series series = {0};
    Values values = {0}, last = {0};
    int ret = 0;

    (void)state;
    for (uint32_t s = 0; ret == 0; s++) {
        assert_true(s < 20000);
        last = values;
        values.v[0] += INT64_C(1) << 40;
        ret = series_put(&series, &pool, s, &values);
    }
    assert_int_equal(ret, -ENOMEM);
    assert_memory_equal(&series.now, &last, sizeof last);
    pool_done(&pool);
    assert_int_equal(small.used_bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_states),   cmocka_unit_test(test_states_at_once),
        cmocka_unit_test(test_changes),  cmocka_unit_test(test_list_of_changes),
        cmocka_unit_test(test_extremes), cmocka_unit_test(test_twice),
        cmocka_unit_test(test_size),     cmocka_unit_test(test_out_of_memory),
    };

    budget.limit_bytes = 64 << 20;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
