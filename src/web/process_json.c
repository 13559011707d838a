// SPDX-License-Identifier: Apache-2.0
/*
 * One process in JSON, and who is whose child. Pids come again: a parent is the process of that pid
 * that was there when the child began; of several (exec leaves one file for each image) the one
 * that began last. The sparkline costs a pass over the snapshots. No state.
 */
#include "web/process_json.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bits.h"
#include "export/json_piece.h"
#include "profile/liveness.h"

enum { NS_PER_US = 1000, SPARKS = 60 };
#define END_TOLERANCE_NS                                                                           \
    UINT64_C(5000000000) /* a parent's last snapshot may be older than a child */

static void place_fill(Hub *hub, uint32_t id, ProcessPlace *ret_place)
{
    ProcessPlace place = {.id = id, .broken = true};
    HubProcess *process = hub_glance(hub, id);
    if (process && process->profile) {
        const ProfileProcess *about = profile_process(process->profile);
        place = (ProcessPlace){.id = id,
                               .pid = about->pid,
                               .parent_pid = about->parent_pid,
                               .start_ns = about->start_ns,
                               .last_ns = profile_last_ns(process->profile),
                               .ended = profile_is_ended(process->profile)};
    }
    if (process)
        hub_release(hub, process);
    *ret_place = place;
}

int process_places(Hub *hub, ProcessPlace **ret_places, size_t *ret_count)
{
    size_t count = hub_list(hub, NULL, 0);
    uint32_t *ids = calloc(count + 1, sizeof(*ids));
    ProcessPlace *places = calloc(count + 1, sizeof(*places));
    if (!ids || !places) {
        free(ids);
        free(places);
        return -ENOMEM;
    }
    size_t now = hub_list(hub, ids, count);
    count = now < count ? now : count;
    for (size_t i = 0; i < count; i++)
        place_fill(hub, ids[i], &places[i]);
    free(ids);
    *ret_places = places;
    *ret_count = count;
    return 0;
}

static const ProcessPlace *place_find(const ProcessPlace *places, size_t count, uint32_t id)
{
    for (size_t i = 0; i < count; i++)
        if (places[i].id == id)
            return &places[i];
    return NULL;
}

uint32_t process_parent(const ProcessPlace *places, size_t count, uint32_t id)
{
    const ProcessPlace *child = place_find(places, count, id), *best = NULL;
    if (!child || child->broken || !child->parent_pid)
        return 0;
    for (size_t i = 0; i < count; i++) {
        const ProcessPlace *place = &places[i];
        if (place->broken || place->pid != child->parent_pid || place->id == id ||
            place->start_ns > child->start_ns ||
            (place->ended && place->last_ns + END_TOLERANCE_NS < child->start_ns))
            continue;
        if (!best || place->start_ns >= best->start_ns)
            best = place;
    }
    return best ? best->id : 0;
}

json_t *process_json_time(uint64_t time_ns)
{
    return json_integer((json_int_t)(time_ns / NS_PER_US));
}

json_t *process_json_losses(const Profile *profile)
{
    const ProfileLosses *losses = profile_losses(profile);
    const struct {
        const char *name;
        uint64_t count;
    } rows[] = {
        {"stack_table_full", losses->stack_table_full},
        {"live_map_full", losses->live_map_full},
        {"missed_frees", losses->missed_frees},
        {"write_failed", losses->write_failed},
        {"reentrant_skipped", losses->reentrant_skipped},
        {"depth_cut", losses->depth_cut},
        {"unwind_ended", losses->unwind_ended},
        {"windows_dropped", losses->windows_dropped},
    };
    json_t *object = json_object();
    for (size_t i = 0; object && i < ARRAY_SIZE(rows); i++)
        if (rows[i].count)
            json_object_set_new(object, rows[i].name, json_integer((json_int_t)rows[i].count));
    return object;
}

/* The highest of each of SPARKS equal spans, or what it was before where nothing was written. */
static json_t *sparkline(const Profile *profile)
{
    size_t count = profile_snapshot_count(profile), next = 0;
    size_t sparks = count ? SPARKS : 0;
    uint64_t first_ns = profile_first_ns(profile), last_ns = profile_last_ns(profile);
    double span = last_ns > first_ns ? (double)(last_ns - first_ns) : 0;
    int64_t value = 0;
    json_t *array = json_array();
    for (size_t i = 0; array && i < sparks; i++) {
        uint64_t end_ns = first_ns + (uint64_t)(span * (double)(i + 1) / (double)sparks);
        bool any = false;
        for (; next < count; next++) {
            const ProfileSnapshot *snapshot = profile_snapshot(profile, next);
            int64_t live = snapshot->total.v[METRIC_LIVE_BYTES];
            if (snapshot->time_ns > end_ns && i + 1 < sparks)
                break;
            value = !any || live > value ? live : value;
            any = true;
        }
        json_array_append_new(array, json_integer(value));
    }
    return array;
}

/* "state" and "end". */
static void set_state(json_t *object, const HubProcess *process)
{
    static const char *const words[] = {
        [LIVENESS_RUNNING] = "running", [LIVENESS_GONE] = "gone", [LIVENESS_UNKNOWN] = "unknown"};
    char end[256];
    bool ended = profile_is_ended(process->profile);
    Liveness liveness = liveness_of(process->profile);
    liveness_end_text(process->profile, end, sizeof(end));
    json_object_set_new(object, "state", json_string(ended ? "ended" : words[liveness]));
    json_object_set_new(object, "end",
                        ended || liveness == LIVENESS_GONE ? json_name(end) : json_null());
}

json_t *process_json(const HubProcess *process, uint32_t parent_id)
{
    const Profile *profile = process->profile;
    const ProfileProcess *about = profile_process(profile);
    size_t count = profile_snapshot_count(profile);
    int64_t live = count ? profile_snapshot(profile, count - 1)->total.v[METRIC_LIVE_BYTES] : 0;
    uint64_t peak_ns;
    json_t *losses = process_json_losses(profile), *object = json_object();
    json_object_set_new(object, "id", json_integer(process->id));
    json_object_set_new(object, "name", json_name(about->short_name));
    json_object_set_new(object, "pid", json_integer(about->pid));
    json_object_set_new(object, "parent", json_integer(about->parent_pid));
    json_object_set_new(object, "parent_id", parent_id ? json_integer(parent_id) : json_null());
    json_object_set_new(object, "path", json_name(process->path));
    json_object_set_new(object, "start", process_json_time(profile_first_ns(profile)));
    json_object_set_new(object, "last", process_json_time(profile_last_ns(profile)));
    set_state(object, process);
    json_object_set_new(object, "live_bytes", json_integer(live));
    json_object_set_new(object, "peak_bytes",
                        json_integer((json_int_t)profile_peak(profile, &peak_ns)));
    json_object_set_new(object, "snapshots", json_integer((json_int_t)count));
    json_object_set_new(object, "loaded", json_real(process->loaded));
    json_object_set_new(object, "damaged", json_boolean(profile_damage(profile) != NULL));
    json_object_set_new(object, "file_deleted", json_boolean(process->file_deleted));
    json_object_set_new(object, "lossy", json_boolean(json_object_size(losses) > 0));
    json_object_set_new(object, "sparkline", sparkline(profile));
    json_decref(losses);
    return object;
}
