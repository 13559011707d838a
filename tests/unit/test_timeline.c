// SPDX-License-Identifier: Apache-2.0
/*
 * Columns of the timeline on a model that is filled by hand, against the plain rule: each share of
 * the span shows its highest snapshot, and the first and the last are there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "profile/model.h"
#include "web/timeline.h"

enum { SNAPSHOTS = 2000 };

static uint32_t seed = 5;

static uint32_t draw(uint32_t below)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % below;
}

/* With bursts and gaps, and equal heights. */
static Profile *make(void)
{
    Profile *profile;
    uint64_t time_ns = 1000;
    assert_int_equal(model_new(64 << 20, &profile), 0);
    for (int i = 0; i < SNAPSHOTS; i++) {
        time_ns += 1 + draw(draw(20) ? 50 : 20000);
        DecodedSnapshot snapshot = {.time_ns = time_ns, .has_total = true};
        snapshot.total.live_bytes = draw(500);
        assert_int_equal(model_put_snapshot(profile, &snapshot, 0), 0);
    }
    return profile;
}

static int64_t live(const Profile *profile, size_t i)
{
    return profile_snapshot(profile, i)->total.v[METRIC_LIVE_BYTES];
}

static bool has(const Timeline *timeline, size_t snapshot)
{
    for (size_t i = 0; i < timeline->count; i++)
        if (timeline->columns[i] == snapshot)
            return true;
    return false;
}

/* The plain rule: whichever snapshot is the first highest of its share is a column. */
static void assert_rule(const Profile *profile, const Timeline *timeline, size_t points)
{
    uint64_t start = profile_snapshot(profile, timeline->first)->time_ns;
    uint64_t last = profile_snapshot(profile, timeline->end - 1)->time_ns;
    double share = (double)(last - start + 1) / (double)points;
    for (size_t i = timeline->first; i < timeline->end; i++) {
        size_t own = (size_t)((double)(profile_snapshot(profile, i)->time_ns - start) / share);
        bool best = true;
        for (size_t k = timeline->first; k < timeline->end && best; k++) {
            size_t other =
                (size_t)((double)(profile_snapshot(profile, k)->time_ns - start) / share);
            best = other != own || live(profile, k) < live(profile, i) ||
                   (live(profile, k) == live(profile, i) && k >= i);
        }
        bool end = i == timeline->first || i == timeline->end - 1;
        assert_int_equal(has(timeline, i), best || end);
    }
}

static void test_columns(void **state)
{
    (void)state;
    Profile *profile = make();
    for (int round = 0; round < 12; round++) {
        size_t a = draw(SNAPSHOTS), b = a + draw((uint32_t)(SNAPSHOTS - a));
        size_t points = 1 + draw(60);
        Timeline timeline;
        uint64_t from_ns = profile_snapshot(profile, a)->time_ns;
        uint64_t to_ns = profile_snapshot(profile, b)->time_ns;
        if (round == 0) {
            from_ns = TIME_FIRST;
            to_ns = TIME_LAST;
            a = 0;
            b = SNAPSHOTS - 1;
        }
        assert_int_equal(timeline_make(profile, from_ns, to_ns, points, &timeline), 0);
        assert_int_equal(timeline.first, a);
        assert_int_equal(timeline.end, b + 1);
        assert_true(timeline.count <= points + 2);
        for (size_t i = 1; i < timeline.count; i++)
            assert_true(timeline.columns[i] > timeline.columns[i - 1]);
        if (b - a + 1 > points)
            assert_rule(profile, &timeline, points);
        else
            assert_int_equal(timeline.count, b - a + 1);
        timeline_done(&timeline);
    }
    profile_close(profile);
}

static void test_nothing(void **state)
{
    (void)state;
    Profile *profile = make(), *empty;
    Timeline timeline;
    uint64_t last = profile_last_ns(profile);
    assert_int_equal(timeline_make(profile, last + 1, TIME_LAST, 10, &timeline), 0);
    assert_int_equal(timeline.count, 0);
    assert_int_equal(timeline.first, timeline.end);
    assert_int_equal(timeline_make(profile, 0, 500, 10, &timeline), 0);
    assert_int_equal(timeline.count, 0);
    profile_close(profile);
    assert_int_equal(model_new(1 << 20, &empty), 0);
    assert_int_equal(timeline_make(empty, TIME_FIRST, TIME_LAST, 10, &timeline), 0);
    assert_int_equal(timeline.count, 0);
    profile_close(empty);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
