// SPDX-License-Identifier: Apache-2.0
/* What events say, in the words of docs/API.md. No state. */
#include "web/event_data.h"

#include <jansson.h>
#include <stdlib.h>

#include "export/json_piece.h"
#include "profile/liveness.h"

enum { NS_PER_US = 1000 };

static char *dump(json_t *value)
{
    char *text = value ? json_dumps(value, JSON_COMPACT) : NULL;
    json_decref(value);
    return text;
}

char *event_data_snapshot(const HubProcess *process)
{
    size_t count = process->profile ? profile_snapshot_count(process->profile) : 0;
    if (!count)
        return NULL;
    const ProfileSnapshot *last = profile_snapshot(process->profile, count - 1);
    json_t *object =
        json_pack("{s:I, s:I, s:I}", "id", (json_int_t)process->id, "time",
                  (json_int_t)(last->time_ns / NS_PER_US), "kind", (json_int_t)last->kind);
    for (int m = 0; object && m < METRIC_MAX; m++)
        json_object_set_new(object, json_metric_key((Metric)m), json_integer(last->total.v[m]));
    json_object_set_new(object, "rss_bytes", json_integer((json_int_t)last->rss_bytes));
    json_object_set_new(object, "own_bytes", json_integer((json_int_t)last->own_bytes));
    json_object_set_new(object, "threads", json_integer(last->threads));
    json_object_set_new(object, "snapshots", json_integer((json_int_t)count));
    return dump(object);
}

char *event_data_symbols(const HubProcess *process)
{
    return dump(json_pack("{s:I, s:I, s:I}", "id", (json_int_t)process->id, "done",
                          (json_int_t)process->symbols_done, "total",
                          (json_int_t)process->symbols_all));
}

char *event_data_ended(const HubProcess *process)
{
    char text[256];
    if (!process->profile)
        return NULL;
    liveness_end_text(process->profile, text, sizeof(text));
    return dump(json_pack("{s:I, s:o}", "id", (json_int_t)process->id, "end", json_name(text)));
}

char *event_data_trouble(uint32_t id, const char *message)
{
    return dump(json_pack("{s:I, s:o}", "id", (json_int_t)id, "message",
                          json_name(message ? message : "")));
}
