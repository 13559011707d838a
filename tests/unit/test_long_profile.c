// SPDX-License-Identifier: Apache-2.0
/*
 * The profiles of bench/make_long_profile, by which the live page is measured: they load without
 * damage, and the model says of them what the generator counted by itself. Run on a small one;
 * MAKE_LONG_PROFILE is the program.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "profile/profile.h"

enum { SNAPSHOTS = 300, STACKS = 2000, MOMENTS = 3 };

typedef struct Moment {
    uint64_t time_ns;
    Values sums;
} Moment;

static Profile *profile;
static char path[] = "/tmp/memhawk-long-XXXXXX";
static uint64_t records, peaks, stacks, frames, peak_bytes, peak_ns, file_bytes;
static Moment moments[MOMENTS];
static int moment_count;

static void read_line(const char *line)
{
    static const struct {
        const char *name;
        uint64_t *value;
    } known[] = {{"records", &records},      {"peaks", &peaks},           {"stacks", &stacks},
                 {"frames", &frames},        {"peak_bytes", &peak_bytes}, {"peak_ns", &peak_ns},
                 {"file_bytes", &file_bytes}};
    Moment *m = &moments[moment_count];

    if (moment_count < MOMENTS &&
        sscanf(line,
               "moment=%" SCNu64 ":%" SCNd64 ":%" SCNd64 ":%" SCNd64 ":%" SCNd64 ":%" SCNd64
               ":%" SCNd64,
               &m->time_ns, &m->sums.v[METRIC_LIVE_BYTES], &m->sums.v[METRIC_LIVE_COUNT],
               &m->sums.v[METRIC_TOTAL_BYTES], &m->sums.v[METRIC_TOTAL_COUNT],
               &m->sums.v[METRIC_TEMPORARY], &m->sums.v[METRIC_OVERHEAD]) == 7)
        moment_count++;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t length = strlen(known[i].name);
        if (strncmp(line, known[i].name, length) == 0 && line[length] == '=')
            *known[i].value = strtoull(line + length + 1, NULL, 10);
    }
}

static int setup(void **state)
{
    ProfileError error = {0};
    char command[4096], line[512];

    (void)state;
    close(mkstemp(path));
    snprintf(command, sizeof command, "'%s' --snapshots %d --stacks %d --changes 50-200 -o %s",
             getenv("MAKE_LONG_PROFILE"), SNAPSHOTS, STACKS, path);
    FILE *output = popen(command, "r");
    assert_non_null(output);
    while (fgets(line, sizeof line, output))
        read_line(line);
    assert_int_equal(pclose(output), 0);
    if (profile_open(path, &profile, &error) < 0)
        fail_msg("%s", error.message);
    unlink(path);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    profile_close(profile);
    return 0;
}

static void test_whole(void **state)
{
    int status = -1;

    (void)state;
    assert_int_equal(profile_damage_count(profile), 0);
    assert_int_equal(profile_file_bytes(profile), file_bytes);
    assert_int_equal(records, 1 + SNAPSHOTS + peaks);
    assert_int_equal(profile_snapshot_count(profile), SNAPSHOTS + peaks);
    assert_int_equal(stacks, STACKS);
    assert_int_equal(profile_stack_count(profile), stacks);
    assert_int_equal(profile_frame_count(profile), frames);
    assert_int_equal(profile_module_count(profile), 2);
    assert_int_equal(profile_end(profile, &status), END_EXIT);
    assert_int_equal(status, 0);
    assert_int_equal(profile_window_count(profile), 3);
    assert_int_equal(profile_mark_count(profile), 12);
    assert_true(peaks > 0);
}

static void test_totals(void **state)
{
    Values *values = calloc(STACKS, sizeof *values), sum;

    (void)state;
    assert_int_equal(moment_count, MOMENTS);
    for (int i = 0; i < MOMENTS; i++) {
        int64_t index = profile_snapshot_at(profile, moments[i].time_ns);
        assert_true(index >= 0);
        assert_memory_equal(&profile_snapshot(profile, (size_t)index)->total, &moments[i].sums,
                            sizeof sum);
        profile_state(profile, moments[i].time_ns, values);
        profile_sum(profile, values, &sum);
        assert_memory_equal(&sum, &moments[i].sums, sizeof sum);
    }
    free(values);
}

/* Sums over stacks are the totals at each snapshot, also where a peak was written. */
static void test_every_snapshot(void **state)
{
    SeriesPoint *points = calloc(SNAPSHOTS + peaks, sizeof *points);
    uint64_t time_ns, bytes;

    (void)state;
    for (int metric = 0; metric < METRIC_MAX; metric++) {
        assert_int_equal(profile_series(profile, (Metric)metric, NULL, 0, TIME_FIRST, TIME_LAST,
                                        points, SNAPSHOTS + peaks),
                         SNAPSHOTS + peaks);
        for (size_t i = 0; i < SNAPSHOTS + peaks; i++)
            assert_int_equal(points[i].value, profile_snapshot(profile, i)->total.v[metric]);
    }
    assert_int_equal(profile_peak(profile, &time_ns), peak_bytes);
    assert_int_equal(time_ns, peak_ns);
    assert_int_equal(profile_peak_between(profile, TIME_FIRST, TIME_LAST, &time_ns, &bytes), 0);
    assert_int_equal(bytes, peak_bytes);
    free(points);
}

/* Stacks are different ones, of 4 to 40 frames, and share their outer parts. */
static void test_shape(void **state)
{
    size_t deepest = 0, all = 0;

    (void)state;
    for (uint32_t i = 0; i < STACKS; i++) {
        const ProfileStack *stack = profile_stack(profile, i);
        assert_in_range(stack->depth, 4, 40);
        deepest = stack->depth > deepest ? stack->depth : deepest;
        all += stack->depth;
        for (size_t k = 0; k < stack->depth; k++)
            assert_true(profile_frame(profile, stack->frames[k])->module < 2);
    }
    assert_int_equal(deepest, 40);
    assert_true(all / STACKS > 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole),
        cmocka_unit_test(test_totals),
        cmocka_unit_test(test_every_snapshot),
        cmocka_unit_test(test_shape),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
