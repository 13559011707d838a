// SPDX-License-Identifier: Apache-2.0
/*
 * Figures of a selection. A moment is the state of one snapshot, which the cache has or makes;
 * what lies between two moments is two states and a subtraction. Windows are rare and small: they
 * go through the same view as `memhawk report`. The totals are what that says of the same
 * selection.
 */
#include "web/selection_values.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/series.h"
#include "web/flame_cache.h"

static uint64_t time_of(const Profile *profile, int64_t snapshot)
{
    return snapshot < 0 ? 0 : profile_snapshot(profile, (size_t)snapshot)->time_ns;
}

static int fill_moment(const Selection *selection, HubProcess *process, SelectionValues *v)
{
    const Profile *profile = process->profile;
    uint64_t at_ns = selection->at_ns, bytes;
    if (selection->mode == SELECTION_PEAK &&
        profile_peak_between(profile, selection->from_ns, selection->to_ns, &at_ns, &bytes) < 0)
        return -ENOENT;
    int64_t snapshot = profile_snapshot_at(profile, at_ns);
    v->values.sides = 1;
    v->at_ns = time_of(profile, snapshot);
    return flame_cache_state(process, snapshot, &v->values.stacks[0]);
}

static void add_chosen(const SelectionValues *v, const Values *values, size_t count, Values *sum)
{
    for (size_t i = 0; i < count; i++)
        if (!v->values.chosen || v->values.chosen[i])
            values_add(sum, &values[i]);
}

static int fill_between(const Selection *selection, HubProcess *process, SelectionValues *v)
{
    const Profile *profile = process->profile;
    size_t count = profile_stack_count(profile);
    int64_t from =
        selection->from_ns == TIME_FIRST ? -1 : profile_snapshot_at(profile, selection->from_ns);
    int64_t to = profile_snapshot_at(profile, selection->to_ns);
    const Values *before, *after;
    v->between = true;
    v->values.sides = 2;
    for (int s = 0; s < FLAME_SIDES; s++)
        if (!(v->own[s] = malloc((count + 1) * sizeof(*v->own[s]))))
            return -ENOMEM;
    if (flame_cache_state(process, from, &before) < 0 || flame_cache_state(process, to, &after) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        profile_split(&before[i], &after[i], &v->own[0][i], &v->own[1][i]);
    add_chosen(v, before, count, &v->from);
    add_chosen(v, after, count, &v->to);
    v->values.stacks[0] = v->own[0];
    v->values.stacks[1] = v->own[1];
    v->from_ns = from < 0 ? profile_first_ns(profile) : time_of(profile, from);
    v->to_ns = to < 0 ? profile_first_ns(profile) : time_of(profile, to);
    return 0;
}

static bool fill_window(const Selection *selection, HubProcess *process, ApiReply *reply,
                        SelectionValues *v)
{
    View view;
    if (!selection_view(selection, process, reply, &view))
        return false;
    v->values.sides = 1;
    v->values.stacks[0] = v->own[0] =
        calloc(profile_stack_count(process->profile) + 1, sizeof(*v->own[0]));
    for (size_t i = 0; v->own[0] && i < view.stack_count; i++)
        v->own[0][view.stacks[i].stack] = view.stacks[i].values;
    view_done(&view);
    if (!v->own[0])
        api_fail(reply, 500, "internal", "%s", strerror(ENOMEM));
    return v->own[0];
}

static bool explain(int code, ApiReply *reply)
{
    if (code == -ENOENT)
        api_fail(reply, 404, "no-snapshot", "there is no snapshot in this span yet");
    else if (code == -ETIME)
        api_fail(reply, 400, "bad-request", "%s", FILTER_TOO_SLOW);
    else if (code < 0)
        api_fail(reply, 500, "internal", "%s", strerror(-code));
    return code >= 0;
}

bool selection_values(const Selection *selection, HubProcess *process, ApiReply *reply,
                      SelectionValues *ret_values)
{
    SelectionValues v = {0};
    bool ok;
    int r = 0;
    if (selection->filter)
        r = flame_cache_filter(process, selection->granularity, selection->filter,
                               &v.values.chosen);
    if (r == 0 && profile_snapshot_count(process->profile) == 0)
        r = -ENOENT;
    if (r == 0 && selection->mode == SELECTION_WINDOW) {
        ok = fill_window(selection, process, reply, &v);
    } else {
        if (r == 0)
            r = selection->mode == SELECTION_BETWEEN ? fill_between(selection, process, &v)
                                                     : fill_moment(selection, process, &v);
        ok = explain(r, reply);
    }
    if (!ok) {
        selection_values_done(&v);
        return false;
    }
    for (unsigned s = 0; s < v.values.sides; s++)
        add_chosen(&v, v.values.stacks[s], profile_stack_count(process->profile), &v.total[s]);
    *ret_values = v;
    return true;
}

void selection_values_done(SelectionValues *values)
{
    for (int s = 0; s < FLAME_SIDES; s++)
        free(values->own[s]);
    *values = (SelectionValues){0};
}

const char *selection_side_name(const SelectionValues *values, unsigned side)
{
    return !values->between ? "value" : side == 0 ? "added" : "removed";
}
