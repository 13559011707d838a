// SPDX-License-Identifier: Apache-2.0
/*
 * A long run of a large program: 100,000 stacks, 1,000 of which change at each tick. The truth is
 * kept beside for all stacks at a few moments and for some stacks at all moments. Bounds are on
 * memory, which does not depend on how busy the machine is: ten hours (36,000 ticks) must fit well
 * below 1 GiB, so a change may cost 20 bytes. MEMHAWK_SCALE_TICKS=36000 runs all ten hours.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "profile/model.h"

enum { STACKS = 100000, DIRTY = 1000, WATCHED = 50, MOMENTS = 3 };

static Profile *profile;
static DecodedSnapshot record;
static Values *now, *kept[MOMENTS];
static int64_t *watched; /* live bytes of stacks 0..WATCHED-1 summed, per tick */
static uint32_t ticks = 600;
static uint64_t seed = 88172645463325252;

static uint64_t random_next(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

static void define_stacks(void)
{
    MemoryBudget *budget = &profile->budget;

    for (uint32_t i = 0; i < STACKS; i++) {
        *vector_put(&record.frames, budget) = (DecodedFrame){.address = i * 16u, .ptr_id = i + 1};
        *vector_put(&record.stacks, budget) =
            (DecodedStack){.first = record.ptr_ids.count, .depth = 24, .trace_id = i + 1};
        for (uint32_t k = 0; k < 24; k++)
            *vector_put(&record.ptr_ids, budget) = (i + k * 997) % STACKS + 1;
    }
}

/* What a busy stack does: some allocations of one size, and now and then half of them go. */
static void change_stack(uint32_t stack)
{
    Values *v = &now[stack];
    int64_t count = 1 + (int64_t)(random_next() % 20), size = 16 + stack % 500;

    v->v[METRIC_TOTAL_COUNT] += count;
    v->v[METRIC_TOTAL_BYTES] += count * size;
    v->v[METRIC_TEMPORARY] += count / 3;
    if (random_next() & 1)
        v->v[METRIC_LIVE_COUNT] += count;
    else
        v->v[METRIC_LIVE_COUNT] /= 2;
    v->v[METRIC_LIVE_BYTES] = v->v[METRIC_LIVE_COUNT] * size;
    v->v[METRIC_OVERHEAD] = v->v[METRIC_LIVE_COUNT] * 8;
    *vector_put(&record.changes, &profile->budget) =
        (DecodedChange){stack + 1,
                        {v->v[METRIC_LIVE_BYTES], v->v[METRIC_LIVE_COUNT], v->v[METRIC_OVERHEAD],
                         (uint64_t)v->v[METRIC_TOTAL_COUNT], (uint64_t)v->v[METRIC_TOTAL_BYTES],
                         (uint64_t)v->v[METRIC_TEMPORARY]}};
}

static void run_tick(uint32_t tick)
{
    record.changes.count = 0;
    record.time_ns = UINT64_C(1000000000) * (tick + 1);
    if (tick == 0) {
        for (uint32_t i = 0; i < STACKS; i++)
            change_stack(i);
    } else {
        record.frames.count = record.stacks.count = 0;
        for (int i = 0; i < DIRTY; i++)
            change_stack(random_next() % STACKS);
    }
    assert_int_equal(model_put_snapshot(profile, &record, 0), 0);
    for (uint32_t i = 0; i < WATCHED; i++)
        watched[tick] += now[i].v[METRIC_LIVE_BYTES];
}

static uint32_t moment_tick(int moment)
{
    return moment * (ticks - 1) / (MOMENTS - 1);
}

static int setup(void **state)
{
    const char *wanted = getenv("MEMHAWK_SCALE_TICKS");
    uint64_t before;

    (void)state;
    ticks = wanted ? (uint32_t)atoi(wanted) : ticks;
    now = calloc(STACKS, sizeof *now);
    watched = calloc(ticks, sizeof *watched);
    assert_int_equal(model_new(MODEL_MEMORY_MAX, &profile), 0);
    define_stacks();
    before = profile_memory_bytes(profile);
    for (uint32_t tick = 0; tick < ticks; tick++) {
        run_tick(tick);
        for (int k = 0; k < MOMENTS; k++) {
            if (tick == moment_tick(k)) {
                kept[k] = malloc(STACKS * sizeof **kept);
                memcpy(kept[k], now, STACKS * sizeof **kept);
            }
        }
    }
    printf("%u ticks: %llu MiB, %.1f bytes a change\n", ticks,
           (unsigned long long)profile_memory_bytes(profile) >> 20,
           (double)(profile_memory_bytes(profile) - before) / (STACKS + (double)ticks * DIRTY));
    return 0;
}

static int teardown(void **state)
{
    MemoryBudget *budget = &profile->budget;

    (void)state;
    vector_done(&record.frames, budget);
    vector_done(&record.stacks, budget);
    vector_done(&record.ptr_ids, budget);
    vector_done(&record.changes, budget);
    profile_close(profile);
    for (int k = 0; k < MOMENTS; k++)
        free(kept[k]);
    free(now);
    free(watched);
    return 0;
}

static void test_states(void **state)
{
    Values *values = malloc(STACKS * sizeof *values);

    (void)state;
    for (int k = 0; k < MOMENTS; k++) {
        profile_state(profile, UINT64_C(1000000000) * (moment_tick(k) + 1), values);
        assert_memory_equal(values, kept[k], STACKS * sizeof *values);
    }
    profile_state(profile, TIME_LAST, values);
    assert_memory_equal(values, now, STACKS * sizeof *values);
    free(values);
}

static void test_series(void **state)
{
    uint32_t *groups = calloc(STACKS, sizeof *groups);
    SeriesPoint *points = malloc(ticks * sizeof *points);

    (void)state;
    for (uint32_t i = 0; i < WATCHED; i++)
        groups[i] = 3;
    assert_int_equal(
        profile_series(profile, METRIC_LIVE_BYTES, groups, 3, TIME_FIRST, TIME_LAST, points, ticks),
        ticks);
    for (uint32_t tick = 0; tick < ticks; tick++)
        assert_int_equal(points[tick].value, watched[tick]);
    /* Over all stacks it is what the snapshots' sums say. */
    profile_series(profile, METRIC_LIVE_BYTES, NULL, 0, TIME_FIRST, TIME_LAST, points, ticks);
    for (uint32_t tick = 0; tick < ticks; tick++)
        assert_int_equal(points[tick].value,
                         profile_snapshot(profile, tick)->total.v[METRIC_LIVE_BYTES]);
    free(points);
    free(groups);
}

static void test_memory(void **state)
{
    uint64_t stacks = STACKS * UINT64_C(700); /* frames, ids, first chunk, this test's record */
    uint64_t changes = (uint64_t)ticks * DIRTY * 20;

    (void)state;
    assert_true(profile_memory_bytes(profile) < stacks + changes);
    assert_true(stacks + UINT64_C(36000) * DIRTY * 20 < UINT64_C(800) << 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_states),
        cmocka_unit_test(test_series),
        cmocka_unit_test(test_memory),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
