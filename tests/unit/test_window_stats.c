// SPDX-License-Identifier: Apache-2.0
/* Statistics over iterations, against figures computed by hand and against plain lists. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "profile/window_stats.h"

static WindowValues values(uint64_t allocations, uint64_t bytes, uint64_t frees, uint64_t freed)
{
    return (WindowValues){allocations, bytes, frees, freed, 0};
}

/*
 * 10 iterations:   stack 0          stack 1
 *   1 x warm-up    50 (5000 B)      2 (64 B)
 *   6 x            7  (700 B)       -
 *   3 x            7  (700 B)       1 (32 B, freed)
 */
static void make_window(ProfileWindow *window, WindowShapeRow rows[5], ProfileWindowShape shapes[3])
{
    rows[0] = (WindowShapeRow){0, values(50, 5000, 0, 0)};
    rows[1] = (WindowShapeRow){1, values(2, 64, 0, 0)};
    rows[2] = (WindowShapeRow){0, values(7, 700, 7, 700)};
    rows[3] = (WindowShapeRow){0, values(7, 700, 7, 700)};
    rows[4] = (WindowShapeRow){1, values(1, 32, 1, 32)};
    shapes[0] = (ProfileWindowShape){rows, 2, 1, 100, 5064, 5064};
    shapes[1] = (ProfileWindowShape){rows + 2, 1, 6, 60, 300, 100};
    shapes[2] = (ProfileWindowShape){rows + 3, 2, 3, 33, 332, 132};
    *window = (ProfileWindow){
        .name = "w", .shapes = shapes, .shape_count = 3, .iterations = 10, .begun = 11};
}

static void test_each_stack(void **state)
{
    (void)state;
    ProfileWindow window;
    WindowShapeRow rows[5];
    ProfileWindowShape shapes[3];
    WindowStats stats[2];
    make_window(&window, rows, shapes);
    assert_int_equal(window_stats(&window, NULL, 2, 2, stats), 0);

    assert_int_equal(stats[0].total.v[WINDOW_ALLOCATIONS], 50 + 9 * 7);
    assert_int_equal(stats[0].min.v[WINDOW_ALLOCATIONS], 7);
    assert_int_equal(stats[0].median.v[WINDOW_ALLOCATIONS], 7);
    assert_int_equal(stats[0].max.v[WINDOW_ALLOCATIONS], 50);
    assert_int_equal(stats[0].iterations, 10);
    assert_int_equal(stats[0].total.v[WINDOW_LIVE_BYTES], 5000);

    /* stack 1: absent in 6 of 10, so 0 0 0 0 0 0 1 1 1 2 */
    assert_int_equal(stats[1].iterations, 4);
    assert_int_equal(stats[1].total.v[WINDOW_ALLOCATIONS], 5);
    assert_int_equal(stats[1].min.v[WINDOW_ALLOCATIONS], 0);
    assert_int_equal(stats[1].median.v[WINDOW_ALLOCATIONS], 0);
    assert_int_equal(stats[1].max.v[WINDOW_ALLOCATIONS], 2);
    assert_int_equal(stats[1].max.v[WINDOW_LIVE_BYTES], 64);
}

static void test_all_is_sum_before_median(void **state)
{
    (void)state;
    ProfileWindow window;
    WindowShapeRow rows[5];
    ProfileWindowShape shapes[3];
    WindowStats all;
    make_window(&window, rows, shapes);
    assert_int_equal(window_stats_all(&window, &all), 0);
    assert_int_equal(all.min.v[WINDOW_ALLOCATIONS], 7);
    assert_int_equal(all.median.v[WINDOW_ALLOCATIONS], 7);
    assert_int_equal(all.max.v[WINDOW_ALLOCATIONS], 52);
    assert_int_equal(all.total.v[WINDOW_ALLOCATIONS], 118);
    assert_int_equal(all.total.v[WINDOW_BYTES], 5064 + 6 * 700 + 3 * 732);
    assert_int_equal(all.total.v[WINDOW_FREED_BYTES], 6 * 700 + 3 * 732);
    assert_int_equal(all.iterations, 10);
    assert_int_equal(window_duration_ns(&window), 193);
    assert_int_equal(window_unfinished(&window), 1);

    WindowPeaks peaks;
    assert_int_equal(window_peaks(&window, &peaks), 0);
    assert_int_equal(peaks.min_bytes, 100);
    assert_int_equal(peaks.median_bytes, 300);
    assert_int_equal(peaks.max_bytes, 5064);
}

static void test_groups_and_left_out(void **state)
{
    (void)state;
    ProfileWindow window;
    WindowShapeRow rows[5];
    ProfileWindowShape shapes[3];
    WindowStats stats[2];
    const uint32_t both[2] = {1, 1}, one[2] = {ID_NONE, 0}, wild[2] = {7, 0};
    make_window(&window, rows, shapes);
    assert_int_equal(window_stats(&window, both, 2, 2, stats), 0);
    assert_int_equal(stats[0].iterations, 0);
    assert_int_equal(stats[1].max.v[WINDOW_ALLOCATIONS], 52);
    assert_int_equal(stats[1].iterations, 10); /* not 14: a shape counts once */
    assert_int_equal(window_stats(&window, one, 2, 2, stats), 0);
    assert_int_equal(stats[0].max.v[WINDOW_ALLOCATIONS], 2);
    assert_int_equal(window_stats(&window, wild, 2, 2, stats), 0);
    assert_int_equal(stats[0].total.v[WINDOW_ALLOCATIONS], 5);
    /* rows beyond the stacks of a damaged file */
    assert_int_equal(window_stats(&window, NULL, 1, 1, stats), 0);
    assert_int_equal(stats[0].total.v[WINDOW_ALLOCATIONS], 113);
}

static void test_negative_growth(void **state)
{
    (void)state;
    WindowShapeRow row = {0, values(0, 0, 3, 300)};
    ProfileWindowShape shape = {&row, 1, 2, 0, 0, 0};
    ProfileWindow window = {.name = "w", .shapes = &shape, .shape_count = 1, .iterations = 2};
    WindowStats all;
    assert_int_equal(window_stats_all(&window, &all), 0);
    assert_int_equal(all.max.v[WINDOW_LIVE_BYTES], -300);
    assert_int_equal(all.total.v[WINDOW_LIVE_BYTES], -600);
    assert_int_equal(all.min.v[WINDOW_LIVE_COUNT], -3);
}

static void test_nothing(void **state)
{
    (void)state;
    ProfileWindowShape shape = {NULL, 0, 5, 10, 0, 0};
    ProfileWindow window = {.name = "w", .shapes = &shape, .shape_count = 1, .iterations = 5};
    ProfileWindow empty = {.name = "e", .begun = 1};
    WindowStats all;
    WindowPeaks peaks;
    assert_int_equal(window_stats_all(&window, &all), 0);
    assert_int_equal(all.max.v[WINDOW_ALLOCATIONS], 0);
    assert_int_equal(all.iterations, 0);
    assert_int_equal(window_stats_all(&empty, &all), 0);
    assert_int_equal(window_peaks(&empty, &peaks), 0);
    assert_int_equal(peaks.min_bytes, 0);
    assert_int_equal(window_unfinished(&empty), 1);
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Random windows against the definition: write every iteration out, sort, pick. */
static void test_against_plain_lists(void **state)
{
    (void)state;
    uint64_t random = 42;
    for (int round = 0; round < 300; round++) {
        WindowShapeRow rows[4] = {{0}};
        ProfileWindowShape shapes[4];
        int64_t list[64];
        size_t n = 0;
        ProfileWindow window = {.name = "w", .shapes = shapes};
        window.shape_count = 1 + (random = hash_mix(random, 1)) % 4;
        for (size_t s = 0; s < window.shape_count; s++) {
            uint64_t times = 1 + (random = hash_mix(random, 2)) % 9;
            uint64_t count = (random = hash_mix(random, 3)) % 6;
            rows[s] = (WindowShapeRow){0, values(count, 0, 0, 0)};
            shapes[s] = (ProfileWindowShape){&rows[s], count > 0, times, 0, 0, 0};
            window.iterations += times;
            for (uint64_t i = 0; i < times; i++)
                list[n++] = (int64_t)count;
        }
        WindowStats stats;
        qsort(list, n, sizeof *list, compare);
        assert_int_equal(window_stats(&window, NULL, 1, 1, &stats), 0);
        if (list[n - 1] == 0)
            continue; /* no row at all: zeros */
        assert_int_equal(stats.min.v[WINDOW_ALLOCATIONS], list[0]);
        assert_int_equal(stats.median.v[WINDOW_ALLOCATIONS], list[(n - 1) / 2]);
        assert_int_equal(stats.max.v[WINDOW_ALLOCATIONS], list[n - 1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_stack),
        cmocka_unit_test(test_all_is_sum_before_median),
        cmocka_unit_test(test_groups_and_left_out),
        cmocka_unit_test(test_negative_growth),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_against_plain_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
