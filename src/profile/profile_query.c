// SPDX-License-Identifier: Apache-2.0
/*
 * Questions to the model. A moment is first turned into the index of a snapshot (binary search over
 * the times, which rise strictly); the rest are sums over the stacks' series. Costs, with S stacks:
 * a state at the end is S copies; at any other time S look-ups of a few hundred nanoseconds; a
 * series reads the changes of its stacks inside the span once and makes running sums of them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/model.h"

enum { BEFORE_FIRST = -1 };

/* ---- moments -------------------------------------------------------------------------------- */

int64_t profile_snapshot_at(const Profile *profile, uint64_t time_ns)
{
    size_t low = 0, high = profile->snapshots.count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (profile->snapshots.items[middle].time_ns <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return (int64_t)low - 1;
}

/* Index of the first snapshot at or after TIME. */
static size_t snapshot_from(const Profile *profile, uint64_t time_ns)
{
    return time_ns == 0 ? 0 : (size_t)(profile_snapshot_at(profile, time_ns - 1) + 1);
}

uint64_t profile_first_ns(const Profile *profile)
{
    uint64_t start = profile->process.start_ns;

    if (profile->snapshots.count && (!start || start > profile->snapshots.items[0].time_ns))
        return profile->snapshots.items[0].time_ns;
    return start;
}

uint64_t profile_last_ns(const Profile *profile)
{
    if (!profile->snapshots.count)
        return profile_first_ns(profile);
    return profile->snapshots.items[profile->snapshots.count - 1].time_ns;
}

/* ---- peaks ---------------------------------------------------------------------------------- */

static int64_t live_bytes(const Profile *profile, size_t snapshot)
{
    return profile->snapshots.items[snapshot].total.v[METRIC_LIVE_BYTES];
}

uint64_t profile_peak(const Profile *profile, uint64_t *ret_time_ns)
{
    uint64_t time_ns = profile_first_ns(profile);
    uint64_t highest = 0;

    if (profile->snapshots.count) {
        int64_t live = live_bytes(profile, profile->peak_snapshot);
        highest = live > 0 ? (uint64_t)live : 0;
        time_ns = profile->snapshots.items[profile->peak_snapshot].time_ns;
    }
    if (ret_time_ns)
        *ret_time_ns = time_ns;
    return profile->peak_bytes > highest ? profile->peak_bytes : highest;
}

uint64_t profile_peak_recorded_ns(const Profile *profile)
{
    uint64_t time_ns;

    if (profile->peak_bytes)
        return profile->peak_time_ns;
    profile_peak(profile, &time_ns);
    return time_ns;
}

int profile_peak_between(const Profile *profile, uint64_t from_ns, uint64_t to_ns,
                         uint64_t *ret_time_ns, uint64_t *ret_bytes)
{
    size_t first = snapshot_from(profile, from_ns);
    int64_t last = profile_snapshot_at(profile, to_ns);
    size_t best = first;

    if ((int64_t)first > last)
        return -ENOENT;
    for (size_t i = first; i <= (size_t)last; i++) {
        if (live_bytes(profile, i) > live_bytes(profile, best))
            best = i;
    }
    *ret_time_ns = profile->snapshots.items[best].time_ns;
    *ret_bytes = live_bytes(profile, best) < 0 ? 0 : (uint64_t)live_bytes(profile, best);
    return 0;
}

/* ---- states --------------------------------------------------------------------------------- */

/* Values of COUNT stacks from FIRST on, at most SERIES_AT_ONCE, after SNAPSHOT. */
static void states_at(const Profile *profile, size_t first, size_t count, int64_t snapshot,
                      Values *ret_values)
{
    const Series *series[SERIES_AT_ONCE];
    Values *values[SERIES_AT_ONCE];

    for (size_t i = 0; i < count; i++) {
        series[i] = model_series(profile, (uint32_t)(first + i));
        values[i] = &ret_values[i];
    }
    series_at_each(series, count, snapshot, values);
}

static size_t at_once(const Profile *profile, size_t first)
{
    size_t left = profile->stacks.count - first;
    return left < SERIES_AT_ONCE ? left : SERIES_AT_ONCE;
}

int profile_state(const Profile *profile, uint64_t time_ns, Values *ret_values)
{
    int64_t snapshot = profile_snapshot_at(profile, time_ns);

    for (size_t i = 0; i < profile->stacks.count; i += SERIES_AT_ONCE)
        states_at(profile, i, at_once(profile, i), snapshot, &ret_values[i]);
    return 0;
}

void profile_stack_state(const Profile *profile, uint32_t stack, uint64_t time_ns,
                         Values *ret_values)
{
    series_at(model_series(profile, stack), profile_snapshot_at(profile, time_ns), ret_values);
}

static bool is_cumulative(int metric)
{
    return metric == METRIC_TOTAL_BYTES || metric == METRIC_TOTAL_COUNT ||
           metric == METRIC_TEMPORARY;
}

void profile_split(const Values *before, const Values *after, Values *ret_added,
                   Values *ret_removed)
{
    for (int m = 0; m < METRIC_MAX; m++) {
        int64_t change = wrap_sub(after->v[m], before->v[m]);
        if (is_cumulative(m) && change < 0)
            change = 0; /* a file may lie; what was added is never less than nothing */
        if (ret_added)
            ret_added->v[m] = change > 0 ? change : 0;
        if (ret_removed)
            ret_removed->v[m] = change < 0 ? wrap_sub(0, change) : 0;
    }
}

int profile_between(const Profile *profile, uint64_t from_ns, uint64_t to_ns, Values *ret_added,
                    Values *ret_removed)
{
    int64_t from = from_ns == TIME_FIRST ? BEFORE_FIRST : profile_snapshot_at(profile, from_ns);
    int64_t to = profile_snapshot_at(profile, to_ns);

    if (from_ns > to_ns)
        return -EINVAL;
    for (size_t first = 0; first < profile->stacks.count; first += SERIES_AT_ONCE) {
        Values before[SERIES_AT_ONCE], after[SERIES_AT_ONCE];
        size_t count = at_once(profile, first);
        states_at(profile, first, count, from, before);
        states_at(profile, first, count, to, after);
        for (size_t i = 0; i < count; i++)
            profile_split(&before[i], &after[i], ret_added ? &ret_added[first + i] : NULL,
                          ret_removed ? &ret_removed[first + i] : NULL);
    }
    return 0;
}

/* ---- series --------------------------------------------------------------------------------- */

int profile_series(const Profile *profile, Metric metric, const uint32_t *groups, uint32_t group,
                   uint64_t from_ns, uint64_t to_ns, SeriesPoint *ret_points, size_t capacity)
{
    size_t first = snapshot_from(profile, from_ns);
    int64_t last = profile_snapshot_at(profile, to_ns);
    int64_t *deltas, value = 0;
    size_t count;

    if ((int64_t)first > last)
        return 0;
    count = (size_t)last - first + 1;
    if (capacity == 0)
        return (int)count;
    deltas = calloc(count, sizeof *deltas);
    if (!deltas)
        return -ENOMEM;
    for (size_t i = 0; i < profile->stacks.count; i++) {
        if (groups && groups[i] != group)
            continue;
        value = wrap_add(value, series_add_changes(model_series(profile, (uint32_t)i), metric,
                                                   (uint32_t)first, (uint32_t)last, deltas));
    }
    for (size_t i = 0; i < count && i < capacity; i++) {
        value = wrap_add(value, deltas[i]);
        ret_points[i] = (SeriesPoint){profile->snapshots.items[first + i].time_ns, value};
    }
    free(deltas);
    return (int)count;
}

/* ---- sums and top lists --------------------------------------------------------------------- */

size_t profile_stack_changes(const Profile *profile, uint32_t stack, Metric metric, uint32_t first,
                             uint32_t last, ProfileChange *room, const ProfileChange **ret_changes,
                             int64_t *ret_before)
{
    return series_changes(model_series(profile, stack), metric, first, last, room, ret_changes,
                          ret_before);
}

void profile_sum(const Profile *profile, const Values *values, Values *ret_sum)
{
    *ret_sum = (Values){0};
    for (size_t i = 0; i < profile->stacks.count; i++)
        values_add(ret_sum, &values[i]);
}

typedef struct TopOrder {
    const Values *values;
    Metric metric;
} TopOrder;

static int compare_top(const void *left, const void *right, void *context)
{
    const TopOrder *order = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    int64_t va = order->values[a].v[order->metric], vb = order->values[b].v[order->metric];

    if (va != vb)
        return va > vb ? -1 : 1;
    return a < b ? -1 : a > b;
}

int profile_top(const Profile *profile, const Values *values, Metric metric, uint32_t *ret_stacks,
                size_t capacity)
{
    TopOrder order = {values, metric};
    uint32_t *stacks = malloc((profile->stacks.count + 1) * sizeof *stacks);
    size_t count = 0;

    if (!stacks)
        return -ENOMEM;
    for (size_t i = 0; i < profile->stacks.count; i++) {
        if (values[i].v[metric] != 0)
            stacks[count++] = (uint32_t)i;
    }
    qsort_r(stacks, count, sizeof *stacks, compare_top, &order);
    memcpy(ret_stacks, stacks, (count < capacity ? count : capacity) * sizeof *stacks);
    free(stacks);
    return (int)count;
}
