// SPDX-License-Identifier: Apache-2.0
/*
 * /api/v1/windows: one row for each measurement window of a profile, from the same statistics as
 * `memhawk report --per-iteration`. Costs a pass over the rows of all windows. No state.
 */
#include <errno.h>
#include <stdlib.h>

#include "export/json_piece.h"
#include "profile/window_stats.h"
#include "web/api.h"
#include "web/query.h"

/* [min, median, max] */
static json_t *per_iteration(const WindowStats *stats, WindowFigure figure)
{
    return json_pack("[I, I, I]", (json_int_t)stats->min.v[figure],
                     (json_int_t)stats->median.v[figure], (json_int_t)stats->max.v[figure]);
}

/* Sets what is seen of each stack that occurs in any iteration; how many it was not so before. */
static int mark_stacks(const ProfileWindow *window, bool *seen, bool value)
{
    int count = 0;
    for (size_t i = 0; i < window->shape_count; i++) {
        const ProfileWindowShape *shape = &window->shapes[i];
        for (size_t k = 0; k < shape->row_count; k++) {
            uint32_t stack = shape->rows[k].stack;
            count += seen[stack] != value;
            seen[stack] = value;
        }
    }
    return count;
}

/* [[from, to]...]; one that is still open goes on to the last snapshot. */
static json_t *spans(const Profile *profile, const ProfileWindow *window)
{
    json_t *list = json_array();
    for (size_t i = 0; i < window->span_count; i++) {
        uint64_t to_ns = window->spans[i].to_ns;
        if (i + 1 == window->span_count && window_unfinished(window))
            to_ns = profile_last_ns(profile);
        json_array_append_new(list,
                              json_pack("[I, I]", (json_int_t)(window->spans[i].from_ns / 1000),
                                        (json_int_t)(to_ns / 1000)));
    }
    return list;
}

/* SEEN: of each stack, false before and after. */
static json_t *window_object(const Profile *profile, const ProfileWindow *window, const char *title,
                             bool *seen)
{
    WindowStats stats;
    WindowPeaks peaks;
    int stacks = mark_stacks(window, seen, true);
    mark_stacks(window, seen, false);
    if (window_stats_all(window, &stats) < 0 || window_peaks(window, &peaks) < 0)
        return NULL;
    const int64_t *total = stats.total.v;
    return json_pack(
        "{s:o, s:o, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:{s:o, s:o, s:o}, s:i, s:o}",
        "name", json_name(window->name), "title", json_name(title), "scope",
        window->process_scope ? "process" : "thread", "iterations", (json_int_t)window->iterations,
        "unfinished", (json_int_t)window_unfinished(window), "duration_ns",
        (json_int_t)window_duration_ns(window), "allocations",
        (json_int_t)total[WINDOW_ALLOCATIONS], "bytes", (json_int_t)total[WINDOW_BYTES], "frees",
        (json_int_t)total[WINDOW_FREES], "freed_bytes", (json_int_t)total[WINDOW_FREED_BYTES],
        "temporary", (json_int_t)total[WINDOW_TEMPORARY], "peak_bytes", (json_int_t)peaks.max_bytes,
        "per_iteration", "allocations", per_iteration(&stats, WINDOW_ALLOCATIONS), "bytes",
        per_iteration(&stats, WINDOW_BYTES), "temporary", per_iteration(&stats, WINDOW_TEMPORARY),
        "stacks", stacks, "spans", spans(profile, window));
}

int api_windows(Hub *hub, const ApiQuery *query, ApiReply *reply)
{
    HubProcess *process = query_acquire(hub, query, reply, "id");
    if (!process)
        return 0;
    size_t count = profile_window_count(process->profile);
    char **titles = profile_window_titles(process->profile);
    bool *seen = calloc(profile_stack_count(process->profile) + 1, sizeof(*seen));
    json_t *windows = json_array();
    int r = titles && seen ? 0 : -ENOMEM;
    for (size_t i = 0; i < count && r == 0; i++) {
        json_t *object =
            window_object(process->profile, profile_window(process->profile, i), titles[i], seen);
        r = object && json_array_append_new(windows, object) == 0 ? 0 : -ENOMEM;
    }
    free(seen);
    profile_window_titles_free(process->profile, titles);
    hub_release(hub, process);
    if (r == 0)
        return api_reply_json(reply, json_pack("{s:o}", "windows", windows));
    json_decref(windows);
    return r;
}
