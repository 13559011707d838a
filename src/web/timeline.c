// SPDX-License-Identifier: Apache-2.0
/*
 * Chooses snapshots for columns. One pass: the share of a snapshot is found by a division, and a
 * share's best so far is kept until the next share begins. No state.
 */
#include "web/timeline.h"

#include <errno.h>
#include <stdlib.h>

static int64_t live_at(const Profile *profile, size_t snapshot)
{
    return profile_snapshot(profile, snapshot)->total.v[METRIC_LIVE_BYTES];
}

static void put(Timeline *timeline, size_t snapshot)
{
    if (timeline->count == 0 || timeline->columns[timeline->count - 1] != snapshot)
        timeline->columns[timeline->count++] = (uint32_t)snapshot;
}

static void choose(const Profile *profile, size_t points, Timeline *timeline)
{
    uint64_t start = profile_snapshot(profile, timeline->first)->time_ns;
    uint64_t last = profile_snapshot(profile, timeline->end - 1)->time_ns;
    double share = (double)(last - start + 1) / (double)points;
    size_t best = timeline->first, open = 0;
    put(timeline, timeline->first);
    for (size_t i = timeline->first; i < timeline->end; i++) {
        size_t at = (size_t)((double)(profile_snapshot(profile, i)->time_ns - start) / share);
        if (at != open) {
            put(timeline, best);
            open = at;
            best = i;
        } else if (live_at(profile, i) > live_at(profile, best)) {
            best = i;
        }
    }
    put(timeline, best);
    put(timeline, timeline->end - 1);
}

int timeline_make(const Profile *profile, uint64_t from_ns, uint64_t to_ns, size_t points,
                  Timeline *ret_timeline)
{
    Timeline made = {0};
    if (from_ns > 0)
        made.first = (size_t)(profile_snapshot_at(profile, from_ns - 1) + 1);
    made.end = (size_t)(profile_snapshot_at(profile, to_ns) + 1);
    if (made.first >= made.end) {
        made.end = made.first;
        *ret_timeline = made;
        return 0;
    }
    size_t span = made.end - made.first;
    made.columns = calloc((span < points ? span : points) + 3, sizeof(*made.columns));
    if (!made.columns)
        return -ENOMEM;
    if (span <= points)
        for (size_t i = made.first; i < made.end; i++)
            put(&made, i);
    else
        choose(profile, points, &made);
    *ret_timeline = made;
    return 0;
}

void timeline_done(Timeline *timeline)
{
    free(timeline->columns);
    *timeline = (Timeline){0};
}
