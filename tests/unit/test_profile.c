// SPDX-License-Identifier: Apache-2.0
/*
 * Questions to a profile, with answers computed by hand from the tables at the top of
 * tests/golden/published.txt and v1.txt; and opening and following of files that grow, shrink, are
 * replaced, or are no profiles.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/bits.h"
#include "profile_fixture.h"

#define S(seconds) ((uint64_t)((seconds)*10) * UINT64_C(100000000)) /* tenths are exact */
#define START      UINT64_C(1700000000000000000)

static Profile *open_golden(const char *name)
{
    ProfileError error = {0};
    Profile *profile;
    char path[512];

    snprintf(path, sizeof path, "%s/%s.binpb", GOLDEN_DIR, name);
    if (profile_open(path, &profile, &error) < 0)
        fail_msg("%s: %s", path, error.message);
    return profile;
}

#define assert_values(values, live, count, total, times, temporary, over)                          \
    do {                                                                                           \
        assert_int_equal((values).v[METRIC_LIVE_BYTES], live);                                     \
        assert_int_equal((values).v[METRIC_LIVE_COUNT], count);                                    \
        assert_int_equal((values).v[METRIC_TOTAL_BYTES], total);                                   \
        assert_int_equal((values).v[METRIC_TOTAL_COUNT], times);                                   \
        assert_int_equal((values).v[METRIC_TEMPORARY], temporary);                                 \
        assert_int_equal((values).v[METRIC_OVERHEAD], over);                                       \
    } while (0)

/* ---- questions ------------------------------------------------------------------------------ */

static void test_metric_names(void **state)
{
    static const char *const names[METRIC_MAX] = {"live-bytes",  "live-count", "total-bytes",
                                                  "total-count", "temporary",  "overhead"};
    Metric metric;

    (void)state;
    for (int m = 0; m < METRIC_MAX; m++) {
        assert_string_equal(metric_name((Metric)m), names[m]);
        assert_int_equal(metric_find(names[m], &metric), 0);
        assert_int_equal(metric, m);
    }
    assert_int_equal(metric_find("live", &metric), -EINVAL);
    assert_int_equal(metric_find("", &metric), -EINVAL);
}

static void test_state(void **state)
{
    Profile *profile = open_golden("published");
    Values v[2];

    (void)state;
    assert_int_equal(profile_stack_count(profile), 2);
    assert_int_equal(profile_state(profile, TIME_LAST, v), 0);
    assert_values(v[0], 200, 2, 6000, 60, 0, 48);
    assert_values(v[1], 48, 2, 48, 2, 0, 0);
    profile_state(profile, START + S(2), v);
    assert_values(v[0], 5000, 50, 5000, 50, 0, 1200);
    assert_values(v[1], 24, 1, 24, 1, 0, 0);
    profile_state(profile, START + S(3) - 1, v);
    assert_values(v[0], 5000, 50, 5000, 50, 0, 1200);
    profile_state(profile, START + S(1), v);
    assert_values(v[0], 1000, 10, 1000, 10, 0, 240);
    profile_state(profile, START + S(1) - 1, v);
    assert_values(v[0], 0, 0, 0, 0, 0, 0);
    profile_state(profile, TIME_FIRST, v);
    assert_values(v[1], 0, 0, 0, 0, 0, 0);
    profile_stack_state(profile, 1, START + S(3), &v[0]);
    assert_values(v[0], 48, 2, 48, 2, 0, 0);
    profile_close(profile);
}

static void test_between(void **state)
{
    Profile *profile = open_golden("published");
    Values added[2], removed[2];

    (void)state;
    assert_int_equal(profile_between(profile, START + S(2), START + S(3), added, removed), 0);
    assert_values(added[0], 0, 0, 1000, 10, 0, 0);
    assert_values(removed[0], 4800, 48, 0, 0, 0, 1152);
    assert_values(added[1], 24, 1, 24, 1, 0, 0);
    assert_values(removed[1], 0, 0, 0, 0, 0, 0);
    /* From the very beginning: all of it. */
    assert_int_equal(profile_between(profile, TIME_FIRST, START + S(2), added, NULL), 0);
    assert_values(added[0], 5000, 50, 5000, 50, 0, 1200);
    assert_int_equal(profile_between(profile, TIME_FIRST, TIME_LAST, NULL, removed), 0);
    assert_values(removed[0], 0, 0, 0, 0, 0, 0);
    assert_int_equal(profile_between(profile, START + S(2), START + S(2), added, removed), 0);
    assert_values(added[0], 0, 0, 0, 0, 0, 0);
    assert_int_equal(profile_between(profile, START + S(3), START + S(2), added, removed), -EINVAL);
    profile_close(profile);
}

static void test_peaks(void **state)
{
    Profile *profile = open_golden("v1");
    uint64_t time_ns, bytes;
    Values v[4];

    (void)state;
    /* The peak was between two ticks; its composition is that of the snapshot made for it. */
    assert_int_equal(profile_peak(profile, &time_ns), 9550);
    assert_int_equal(time_ns, S(1.7));
    profile_state(profile, time_ns, v);
    assert_values(v[0], 9000, 90, 9000, 90, 3, 360);
    assert_values(v[1], 500, 5, 500, 5, 0, 20);
    assert_values(v[2], 0, 0, 0, 0, 0, 0);

    assert_int_equal(profile_peak_between(profile, S(2), S(4), &time_ns, &bytes), 0);
    assert_int_equal(bytes, 914);
    assert_int_equal(time_ns, S(3.5));
    assert_int_equal(profile_peak_between(profile, S(3.6), TIME_LAST, &time_ns, &bytes), 0);
    assert_int_equal(bytes, 114);
    assert_int_equal(profile_peak_between(profile, S(2.5), S(2.5), &time_ns, &bytes), 0);
    assert_int_equal(bytes, 614);
    assert_int_equal(profile_peak_between(profile, S(2.6), S(3.4), &time_ns, &bytes), -ENOENT);
    assert_int_equal(profile_peak_between(profile, TIME_FIRST, TIME_LAST, &time_ns, &bytes), 0);
    assert_int_equal(bytes, 9550);
    profile_close(profile);

    profile = open_golden("published");
    assert_int_equal(profile_peak(profile, &time_ns), 5024);
    assert_int_equal(time_ns, START + S(2));
    profile_close(profile);
}

/* The recorder saw the peak 4 ms before the tick that holds it, and told the time with the tick. */
static void test_peak_at_tick(void **state)
{
    Profile *profile = fixture_open(
        "memhawk",
        "=== ProcessInfo\npid: 1\nstartTimestamp: 1000000000\nformatVersion: 1\n"
        "=== Snapshot\ntimestamp: 2000000000\n"
        "changed { traceId: 1 actual { size: 10 active: 1 } } stacktraces { traceId: 1 }\n"
        "total { size: 10 } peakBytes: 12 peakTimestamp: 1990000000\n"
        "=== Snapshot\ntimestamp: 3000000000\n"
        "changed { traceId: 1 actual { size: 99 active: 1 } }\n"
        "total { size: 99 } peakBytes: 100 peakTimestamp: 2996000000\n"
        "=== Snapshot\ntimestamp: 4000000000\n"
        "changed { traceId: 1 actual { size: 5 active: 1 } }\n"
        "total { size: 5 } peakBytes: 100 peakTimestamp: 2996000000\n");
    uint64_t time_ns;
    Values v[1];

    (void)state;
    assert_int_equal(profile_peak(profile, &time_ns), 100);
    assert_int_equal(profile_peak_recorded_ns(profile), 2996000000);
    profile_state(profile, time_ns, v);
    assert_int_equal(v[0].v[METRIC_LIVE_BYTES], 99);
    assert_null(profile_damage(profile));
    profile_close(profile);
}

/* A peak snapshot and a tick of the same nanosecond stay apart. */
static void test_equal_times(void **state)
{
    Profile *profile = fixture_open(
        "memhawk", "=== ProcessInfo\npid: 1\nstartTimestamp: 1000\nformatVersion: 1\n"
                   "=== Snapshot\ntimestamp: 2000\nkind: 1\npeakBytes: 70 peakTimestamp: 2000\n"
                   "changed { traceId: 1 actual { size: 70 } } stacktraces { traceId: 1 }\n"
                   "=== Snapshot\ntimestamp: 2000\n"
                   "changed { traceId: 1 actual { size: 7 } }\n");
    uint64_t time_ns;
    Values v[1];

    (void)state;
    assert_null(profile_damage(profile));
    assert_int_equal(profile_peak(profile, &time_ns), 70);
    profile_state(profile, time_ns, v);
    assert_int_equal(v[0].v[METRIC_LIVE_BYTES], 70);
    profile_state(profile, TIME_LAST, v);
    assert_int_equal(v[0].v[METRIC_LIVE_BYTES], 7);
    profile_close(profile);
}

static void check_series(const Profile *profile, Metric metric, const uint32_t *groups,
                         uint64_t from, uint64_t to, const int64_t *want, size_t count)
{
    SeriesPoint points[8];
    int64_t first = profile_snapshot_at(profile, from ? from - 1 : 0) + 1;

    assert_int_equal(profile_series(profile, metric, groups, 1, from, to, points, 8), count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(points[i].time_ns, profile_snapshot(profile, (size_t)first + i)->time_ns);
        assert_int_equal(points[i].value, want[i]);
    }
}

static void test_series(void **state)
{
    Profile *profile = open_golden("v1");
    static const uint32_t build[4] = {1, 0, 0, 1}, all[4] = {1, 1, 1, 1}, none[4] = {0};
    SeriesPoint points[3];

    (void)state;
    check_series(profile, METRIC_LIVE_BYTES, build, TIME_FIRST, TIME_LAST,
                 (int64_t[]){100, 9000, 0, 300, 0}, 5);
    check_series(profile, METRIC_LIVE_BYTES, all, TIME_FIRST, TIME_LAST,
                 (int64_t[]){100, 9500, 564, 864, 64}, 5);
    check_series(profile, METRIC_LIVE_BYTES, NULL, TIME_FIRST, TIME_LAST,
                 (int64_t[]){100, 9500, 564, 864, 64}, 5);
    check_series(profile, METRIC_LIVE_BYTES, all, S(1.7), S(3.5), (int64_t[]){9500, 564, 864}, 3);
    check_series(profile, METRIC_TOTAL_COUNT, all, S(1.8), TIME_LAST, (int64_t[]){101, 104, 104},
                 3);
    check_series(profile, METRIC_TEMPORARY, all, TIME_FIRST, TIME_LAST,
                 (int64_t[]){0, 3, 10, 10, 12}, 5);
    check_series(profile, METRIC_OVERHEAD, none, S(1.7), S(2.5), (int64_t[]){0, 0}, 2);
    check_series(profile, METRIC_LIVE_BYTES, all, S(2.6), S(3.4), NULL, 0);
    /* Too little room: the first ones, and how many there are. */
    points[2].value = 77;
    assert_int_equal(profile_series(profile, METRIC_LIVE_BYTES, all, 1, 0, TIME_LAST, points, 2),
                     5);
    assert_int_equal(points[1].value, 9500);
    assert_int_equal(points[2].value, 77);
    assert_int_equal(profile_series(profile, METRIC_LIVE_BYTES, all, 1, 0, TIME_LAST, NULL, 0), 5);
    profile_close(profile);
}

static void test_top(void **state)
{
    Profile *profile = open_golden("v1");
    uint32_t top[4] = {9, 9, 9, 9};
    Values v[4], sum;

    (void)state;
    profile_state(profile, TIME_LAST, v); /* total bytes 9500 500 64 300; live bytes 0 0 64 0 */
    assert_int_equal(profile_top(profile, v, METRIC_TOTAL_BYTES, top, 4), 4);
    assert_int_equal(top[0], 0);
    assert_int_equal(top[1], 1);
    assert_int_equal(top[2], 3);
    assert_int_equal(top[3], 2);
    assert_int_equal(profile_top(profile, v, METRIC_TEMPORARY, top, 2), 3); /* 10 1 0 1 */
    assert_int_equal(top[0], 0);
    assert_int_equal(top[1], 1); /* equal ones in order */
    assert_int_equal(top[2], 3); /* untouched */
    assert_int_equal(profile_top(profile, v, METRIC_LIVE_BYTES, top, 4), 1);
    assert_int_equal(top[0], 2);
    profile_sum(profile, v, &sum);
    assert_values(sum, 64, 1, 10364, 104, 12, 8);
    profile_close(profile);
}

static void test_facts(void **state)
{
    Profile *profile = open_golden("v1");
    const ProfileWindow *window = profile_window_find(profile, "parse");
    int status = 0;

    (void)state;
    assert_int_equal(profile_process(profile)->pid, 77);
    assert_int_equal(profile_first_ns(profile), S(1));
    assert_int_equal(profile_last_ns(profile), S(3.6));
    assert_true(profile_is_ended(profile));
    assert_int_equal(profile_end(profile, &status), END_SIGNAL);
    assert_int_equal(status, 11);
    assert_int_equal(profile_losses(profile)->windows_dropped, 8);
    assert_int_equal(profile_inherited(profile)->v[METRIC_LIVE_BYTES], 50);
    /* The same address in two libraries, one after the other. */
    assert_int_equal(profile_frame(profile, profile_stack(profile, 0)->frames[0])->module, 1);
    assert_int_equal(profile_frame(profile, profile_stack(profile, 3)->frames[0])->module, 2);
    assert_non_null(window);
    assert_int_equal(window->begun, 3);
    assert_int_equal(window->iterations, 3);
    assert_int_equal(window->shape_count, 2);
    assert_int_equal(window->shapes[0].rows[1].stack, 1);
    /* Begun in the first snapshot, open until that of 2.5 s. */
    assert_int_equal(window->span_count, 1);
    assert_int_equal(window->spans[0].from_ns, S(1));
    assert_int_equal(window->spans[0].to_ns, S(2.5));
    assert_null(profile_window_find(profile, "parser"));
    assert_null(profile_damage(profile));
    profile_close(profile);
}

/* Titles tell two windows of one name apart; names may look like titles. */
static void test_window_titles(void **state)
{
    Profile *profile = fixture_open(
        "memhawk", "=== ProcessInfo\nprocessShortName: \"p\" pid: 1 startTimestamp: 5\n"
                   "=== Snapshot\ntimestamp: 10\n"
                   "window { windowId: 1 name: \"w\" scope: 0 begun: 1 }\n"
                   "window { windowId: 2 name: \"w\" scope: 1 begun: 2 }\n"
                   "window { windowId: 3 name: \"v\" scope: 1 begun: 3 }\n"
                   "window { windowId: 4 name: \"v (thread)\" scope: 1 begun: 4 }\n");
    static const struct {
        const char *text;
        uint64_t begun; /* 0: none */
    } rows[] = {{"w", 1},           {"w (thread)", 1},  {"w (process)", 2},
                {"v", 3},           {"v (process)", 3}, {"v (thread)", 4},
                {"w (threads)", 0}, {"w ", 0},          {"", 0}};
    static const char *const titles[] = {"w (thread)", "w (process)", "v", "v (thread)"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const ProfileWindow *window = profile_window_find(profile, rows[i].text);
        assert_int_equal(window ? window->begun : 0, rows[i].begun);
    }
    for (size_t i = 0; i < ARRAY_SIZE(titles); i++) {
        char *title = profile_window_title(profile, profile_window(profile, i));
        assert_string_equal(title, titles[i]);
        free(title);
    }
    char **all = profile_window_titles(profile);
    assert_non_null(all);
    for (size_t i = 0; i < ARRAY_SIZE(titles); i++)
        assert_string_equal(all[i], titles[i]);
    profile_window_titles_free(profile, all);
    profile_close(profile);
}

/* At work between 10 and 20, open from there to 40, not between 40 and 50, again until 60. */
static void test_window_spans(void **state)
{
    Profile *profile = fixture_open(
        "memhawk", "=== ProcessInfo\nprocessShortName: \"p\" pid: 1 startTimestamp: 5\n"
                   "=== Snapshot\ntimestamp: 10\n=== Snapshot\ntimestamp: 20\n"
                   "window { windowId: 1 name: \"w\" begun: 1 }\n"
                   "=== Snapshot\ntimestamp: 30\n=== Snapshot\ntimestamp: 40\n"
                   "windowShape { windowId: 1 shapeId: 1 }\n"
                   "windowIterations { windowId: 1 shapeId: 1 iterations: 1 }\n"
                   "=== Snapshot\ntimestamp: 50\n=== Snapshot\ntimestamp: 60\n"
                   "window { windowId: 1 name: \"w\" begun: 2 }\n"
                   "windowIterations { windowId: 1 shapeId: 1 iterations: 2 }\n");
    const ProfileWindow *window = profile_window_find(profile, "w");

    (void)state;
    assert_non_null(window);
    assert_int_equal(window->span_count, 2);
    assert_int_equal(window->spans[0].from_ns, 10);
    assert_int_equal(window->spans[0].to_ns, 40);
    assert_int_equal(window->spans[1].from_ns, 50);
    assert_int_equal(window->spans[1].to_ns, 60);
    profile_close(profile);
}

/* ---- modules by address ---------------------------------------------------------------------- */

/* dlclose, then another library there, then the first one again: told of last wins. */
static void test_modules_by_address(void **state)
{
    Profile *profile = fixture_open(
        "published", "=== ProcessInfo\nprocessShortName: \"p\" pid: 1 startTimestamp: 1\n"
                     "=== Snapshot\ntimestamp: 2\n"
                     "loadedSo { filename: \"a\" addr: 4096 segment { addr: 0 size: 4096 } }\n"
                     "ptrIds { ptrId: 1 ptrAddr: 5000 } ptrIds { ptrId: 2 ptrAddr: 8192 }\n"
                     "ptrIds { ptrId: 3 ptrAddr: 8193 } ptrIds { ptrId: 4 ptrAddr: 4096 }\n"
                     "=== Snapshot\ntimestamp: 3\n"
                     "loadedSo { filename: \"b\" addr: 0 segment { addr: 4096 size: 4096 } }\n"
                     "ptrIds { ptrId: 5 ptrAddr: 5000 }\n"
                     "=== Snapshot\ntimestamp: 4\n"
                     "loadedSo { filename: \"a\" addr: 4096 segment { addr: 0 size: 4096 } }\n"
                     "ptrIds { ptrId: 6 ptrAddr: 5000 }\n"
                     "=== Snapshot\ntimestamp: 5\n"
                     "loadedSo { filename: \"a\" addr: 65536 segment { addr: 0 size: 4096 } }\n"
                     "ptrIds { ptrId: 7 ptrAddr: 66000 } ptrIds { ptrId: 8 ptrAddr: 5000 }\n");
    static const uint32_t want[] = {0, 0, ID_NONE, ID_NONE, 1, 0, 2, 0};

    (void)state;
    assert_int_equal(profile_module_count(profile), 3);
    assert_int_equal(profile_frame_count(profile), 8);
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(profile_frame(profile, i)->module, want[i]);
    profile_close(profile);
}

/* ---- files ---------------------------------------------------------------------------------- */

static char *read_bytes(const char *path, size_t *ret_bytes)
{
    FILE *file = fopen(path, "rb");
    char *data = malloc(1 << 16);

    assert_non_null(file);
    *ret_bytes = fread(data, 1, 1 << 16, file);
    fclose(file);
    return data;
}

static void write_bytes(const char *path, const char *mode, const void *data, size_t bytes)
{
    FILE *file = fopen(path, mode);

    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    fclose(file);
}

static char *golden_bytes(const char *name, size_t *ret_bytes)
{
    char path[512];

    snprintf(path, sizeof path, "%s/%s.binpb", GOLDEN_DIR, name);
    return read_bytes(path, ret_bytes);
}

/* Byte by byte: every record is taken when its last byte is there, not before, and never twice. */
static void test_grows(void **state)
{
    char path[] = "/tmp/memhawk-test-XXXXXX";
    ProfileError error = {0};
    Profile *profile = NULL;
    size_t bytes, snapshots = 0;
    char *data = golden_bytes("v1", &bytes);
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    for (size_t have = 0; have <= bytes; have++) {
        if (!profile) {
            int ret = profile_open(path, &profile, &error);
            if (ret < 0)
                assert_int_equal(ret, -ENODATA);
        } else {
            int taken = profile_advance(profile, &error);
            assert_true(taken >= 0);
            snapshots += (size_t)taken;
            assert_int_equal(profile_snapshot_count(profile), snapshots);
            assert_true(profile_file_bytes(profile) <= have);
            assert_int_equal(profile_is_ended(profile), have == bytes);
            assert_null(profile_damage(profile));
        }
        if (have < bytes)
            assert_int_equal(write(fd, data + have, 1), 1);
    }
    assert_int_equal(snapshots, 5);
    assert_int_equal(profile_file_bytes(profile), bytes);
    assert_int_equal(profile_advance(profile, &error), 0);

    /* Something behind the end of the run that is no whole record is damage. */
    assert_int_equal(write(fd, data, 20), 20);
    assert_int_equal(profile_advance(profile, &error), 0);
    assert_non_null(profile_damage(profile));
    assert_int_equal(profile_damage(profile)->offset, bytes);
    profile_close(profile);
    close(fd);
    unlink(path);
    free(data);
}

/* A whole record behind the end of the run is taken, though what reads was put away by then. */
static void test_grows_after_the_end(void **state)
{
    char path[] = "/tmp/memhawk-test-XXXXXX";
    ProfileError error = {0};
    Profile *profile;
    size_t bytes, last = 0, next = 0;
    char *data = golden_bytes("v1", &bytes);

    (void)state;
    close(mkstemp(path));
    write_bytes(path, "wb", data, bytes);
    while (next < bytes) {
        uint64_t payload;
        memcpy(&payload, data + next, sizeof payload);
        last = next;
        next += sizeof payload + be64toh(payload);
    }
    assert_int_equal(next, bytes);
    assert_int_equal(profile_open(path, &profile, &error), 0);
    assert_true(profile_is_ended(profile));
    for (size_t more = 1; more <= 2; more++) {
        write_bytes(path, "ab", data + last, bytes - last);
        assert_int_equal(profile_advance(profile, &error), 1);
        assert_int_equal(profile_snapshot_count(profile), 5 + more);
        assert_int_equal(profile_advance(profile, &error), 0);
    }
    profile_close(profile);
    unlink(path);
    free(data);
}

/* Cut at every length: the records before are shown, and a cut run without an end is no damage. */
static void test_cut(void **state)
{
    char path[] = "/tmp/memhawk-test-XXXXXX";
    ProfileError error;
    size_t bytes;
    char *data = golden_bytes("v1", &bytes);
    size_t last = 0;

    (void)state;
    close(mkstemp(path));
    for (size_t cut = 0; cut <= bytes; cut++) {
        Profile *profile;
        write_bytes(path, "wb", data, cut);
        if (profile_open(path, &profile, &error) < 0) {
            assert_int_equal(last, 0);
            continue;
        }
        assert_true(profile_snapshot_count(profile) >= last);
        last = profile_snapshot_count(profile);
        assert_null(profile_damage(profile));
        profile_close(profile);
    }
    assert_int_equal(last, 5);
    unlink(path);
    free(data);
}

static void test_stale(void **state)
{
    char path[] = "/tmp/memhawk-test-XXXXXX", other[64];
    ProfileError error = {0};
    Profile *profile;
    size_t bytes;
    char *data = golden_bytes("v1", &bytes);

    (void)state;
    close(mkstemp(path));
    snprintf(other, sizeof other, "%s-2", path);
    write_bytes(path, "wb", data, bytes);
    assert_int_equal(profile_open(path, &profile, &error), 0);

    assert_int_equal(rename(path, other), 0); /* gone from its path: still ours to read */
    assert_int_equal(profile_advance(profile, &error), 0);
    write_bytes(path, "wb", data, bytes);
    assert_int_equal(profile_advance(profile, &error), -ESTALE);
    assert_non_null(strstr(error.message, "another file"));
    assert_int_equal(rename(other, path), 0);
    assert_int_equal(profile_advance(profile, &error), 0);

    assert_int_equal(truncate(path, 100), 0);
    assert_int_equal(profile_advance(profile, &error), -ESTALE);
    assert_non_null(strstr(error.message, "shorter"));
    assert_int_equal(profile_snapshot_count(profile), 5); /* the model stays */
    profile_close(profile);
    unlink(path);
    free(data);
}

static void expect_open_fails(const char *path, int code, const char *part)
{
    ProfileError error = {0};
    Profile *profile;

    assert_int_equal(profile_open(path, &profile, &error), code);
    assert_int_equal(error.code, code);
    if (!strstr(error.message, part))
        fail_msg("\"%s\" does not say \"%s\"", error.message, part);
}

static void test_not_profiles(void **state)
{
    char path[64], missing[80];

    (void)state;
    fixture_make("memhawk", "", path);
    snprintf(missing, sizeof missing, "%s.missing", path);
    expect_open_fails(missing, -ENOENT, "No such file");
    expect_open_fails("/tmp", -EINVAL, "not a regular file");
    expect_open_fails("/dev/null", -EINVAL, "not a regular file");
    assert_int_equal(mkfifo(missing, 0600), 0);
    expect_open_fails(missing, -EINVAL, "not a regular file"); /* and no waiting for a writer */
    unlink(missing);
    expect_open_fails(path, -ENODATA, "empty");
    write_bytes(path, "wb", "\0\0", 2);
    expect_open_fails(path, -ENODATA, "not a profile");
    write_bytes(path, "wb", "#!/bin/sh\necho hello\n", 21);
    expect_open_fails(path, -EBADMSG, "not a profile");
    unlink(path);
    fixture_make("memhawk", "=== Snapshot\ntimestamp: 5\n", path);
    expect_open_fails(path, -EBADMSG, "not a profile");
    unlink(path);
    fixture_make("memhawk", "=== packed\n\n", path);
    expect_open_fails(path, -EBADMSG, "does not name a process");
    unlink(path);
    fixture_make("memhawk", "=== zeros 100000000\n", path);
    expect_open_fails(path, -EBADMSG, "not a profile");
    unlink(path);
    fixture_make("memhawk", "=== ProcessInfo flip 20\npid: 5\nprocessShortName: \"abc\"\n", path);
    expect_open_fails(path, -EBADMSG, "zstd");
    unlink(path);
}

/* Only a process: a run that has just begun. */
static void test_no_snapshot(void **state)
{
    Profile *profile = fixture_open(
        "memhawk", "=== ProcessInfo\nprocessShortName: \"p\" pid: 1 startTimestamp: 50\n");
    uint64_t time_ns, bytes;
    Values v[1];

    (void)state;
    assert_int_equal(profile_first_ns(profile), 50);
    assert_int_equal(profile_last_ns(profile), 50);
    assert_int_equal(profile_peak(profile, &time_ns), 0);
    assert_int_equal(profile_peak_between(profile, 0, TIME_LAST, &time_ns, &bytes), -ENOENT);
    assert_int_equal(profile_state(profile, TIME_LAST, v), 0);
    assert_int_equal(profile_series(profile, METRIC_LIVE_BYTES, NULL, 0, 0, TIME_LAST, NULL, 0), 0);
    assert_int_equal(profile_snapshot_at(profile, TIME_LAST), -1);
    assert_false(profile_is_ended(profile));
    profile_close(profile);
}

/* A bomb between good records: left out, named, and what follows is read. */
static void test_bomb_inside(void **state)
{
    Profile *profile = fixture_open(
        "memhawk", "=== ProcessInfo\npid: 1 startTimestamp: 1\n"
                   "=== zeros 200000000\n"
                   "=== Snapshot\ntimestamp: 2\nchanged { traceId: 1 actual { size: 8 } }\n"
                   "stacktraces { traceId: 1 }\n");

    (void)state;
    assert_int_equal(profile_snapshot_count(profile), 1);
    assert_int_equal(profile_damage_count(profile), 1);
    assert_int_equal(profile_damage(profile)->code, -EBADMSG); /* a tag of 0 shows at once */
    assert_non_null(profile_damage_at(profile, 0));
    assert_null(profile_damage_at(profile, 1));
    profile_close(profile);
}

/* A stack that is defined later than used fills its place. */
static void test_late_definition(void **state)
{
    Profile *profile = fixture_open(
        "memhawk", "=== ProcessInfo\npid: 1 startTimestamp: 1\n"
                   "=== Snapshot\ntimestamp: 2\nchanged { traceId: 6 actual { size: 8 } }\n"
                   "=== Snapshot\ntimestamp: 3\nptrIds { ptrId: 3 ptrAddr: 77 }\n"
                   "stacktraces { traceId: 6 ptrId: 3 flags: 2 }\n");

    (void)state;
    assert_int_equal(profile_stack_count(profile), 1);
    assert_int_equal(profile_stack(profile, 0)->depth, 1);
    assert_int_equal(profile_stack(profile, 0)->flags, STACK_ENDED_EARLY);
    assert_int_equal(profile_frame(profile, profile_stack(profile, 0)->frames[0])->address, 77);
    assert_int_equal(profile_damage_count(profile), 1);
    profile_close(profile);
}

/* A bad record with no record behind it: one damage, and reading ends there. */
static void test_bad_then_garbage(void **state)
{
    Profile *profile = fixture_open("memhawk", "=== ProcessInfo\npid: 1 startTimestamp: 1\n"
                                               "=== Snapshot flip 20\ntimestamp: 2\nkind: 3\n"
                                               "=== raw\ndeadbeefdeadbeefdeadbeef\n");

    (void)state;
    assert_int_equal(profile_damage_count(profile), 1);
    assert_non_null(strstr(profile_damage(profile)->message, "nothing can be read behind it"));
    assert_int_equal(profile_damage(profile)->offset, profile_file_bytes(profile));
    profile_close(profile);
}

/* Twice equally high: the first is the peak. */
static void test_equal_peaks(void **state)
{
    Profile *profile = fixture_open("memhawk", "=== ProcessInfo\npid: 1 startTimestamp: 1\n"
                                               "=== Snapshot\ntimestamp: 2\ntotal { size: 9 }\n"
                                               "=== Snapshot\ntimestamp: 3\ntotal { size: 9 }\n");
    uint64_t time_ns;

    (void)state;
    assert_int_equal(profile_peak(profile, &time_ns), 9);
    assert_int_equal(time_ns, 2);
    profile_close(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_metric_names),
        cmocka_unit_test(test_state),
        cmocka_unit_test(test_between),
        cmocka_unit_test(test_peaks),
        cmocka_unit_test(test_peak_at_tick),
        cmocka_unit_test(test_equal_times),
        cmocka_unit_test(test_series),
        cmocka_unit_test(test_top),
        cmocka_unit_test(test_facts),
        cmocka_unit_test(test_window_titles),
        cmocka_unit_test(test_window_spans),
        cmocka_unit_test(test_modules_by_address),
        cmocka_unit_test(test_grows),
        cmocka_unit_test(test_grows_after_the_end),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_stale),
        cmocka_unit_test(test_not_profiles),
        cmocka_unit_test(test_no_snapshot),
        cmocka_unit_test(test_bomb_inside),
        cmocka_unit_test(test_late_definition),
        cmocka_unit_test(test_bad_then_garbage),
        cmocka_unit_test(test_equal_peaks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
