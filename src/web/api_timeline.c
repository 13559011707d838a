// SPDX-License-Identifier: Apache-2.0
/*
 * timeline: the figures of the whole process over a span, in columns. The snapshots are in memory
 * one behind the other, so 24 hours of seconds are read in a millisecond.
 */
#include <errno.h>
#include <stdlib.h>

#include "web/json_out.h"
#include "web/query.h"
#include "web/timeline.h"

enum { POINTS_DEFAULT = 1000, POINTS_MAX = 100000 };

static int64_t kind_of(const ProfileSnapshot *s)
{
    return s->kind;
}

static int64_t time_of(const ProfileSnapshot *s)
{
    return (int64_t)(s->time_ns / 1000);
}

static int64_t rss_of(const ProfileSnapshot *s)
{
    return (int64_t)s->rss_bytes;
}

static int64_t own_of(const ProfileSnapshot *s)
{
    return (int64_t)s->own_bytes;
}

static int64_t threads_of(const ProfileSnapshot *s)
{
    return s->threads;
}

typedef struct Columns {
    const Profile *profile;
    const Timeline *timeline;
    int64_t *values; /* room for a column */
    JsonOut *out;
} Columns;

static void write_column(const Columns *c, const char *key, int64_t (*of)(const ProfileSnapshot *))
{
    for (size_t i = 0; i < c->timeline->count; i++)
        c->values[i] = of(profile_snapshot(c->profile, c->timeline->columns[i]));
    json_out_integers(c->out, key, c->values, c->timeline->count);
}

static void write_metric(const Columns *c, const char *key, Metric metric)
{
    for (size_t i = 0; i < c->timeline->count; i++)
        c->values[i] = profile_snapshot(c->profile, c->timeline->columns[i])->total.v[metric];
    json_out_integers(c->out, key, c->values, c->timeline->count);
}

static void write_columns(const Columns *c)
{
    write_column(c, "time", time_of);
    write_column(c, "kind", kind_of);
    write_metric(c, "live_bytes", METRIC_LIVE_BYTES);
    write_metric(c, "live_count", METRIC_LIVE_COUNT);
    write_metric(c, "total_bytes", METRIC_TOTAL_BYTES);
    write_metric(c, "total_count", METRIC_TOTAL_COUNT);
    write_metric(c, "temporary", METRIC_TEMPORARY);
    write_metric(c, "overhead", METRIC_OVERHEAD);
    write_column(c, "rss_bytes", rss_of);
    write_column(c, "own_bytes", own_of);
    write_column(c, "threads", threads_of);
}

static void write_peak(JsonOut *out, const Profile *profile, uint64_t from_ns, uint64_t to_ns)
{
    uint64_t time_ns, bytes;
    if (profile_peak_between(profile, from_ns, to_ns, &time_ns, &bytes) < 0) {
        json_out_value(out, "peak", json_null());
        return;
    }
    json_out_open(out, "peak", '{');
    json_out_integer(out, "time", (int64_t)(time_ns / 1000));
    json_out_integer(out, "live_bytes", (int64_t)bytes);
    json_out_close(out, '}');
}

static int write_all(const HubProcess *process, uint64_t from_ns, uint64_t to_ns, size_t points,
                     ApiReply *reply)
{
    const Profile *profile = process->profile;
    uint64_t first = profile_first_ns(profile), last = profile_last_ns(profile);
    Timeline timeline;
    JsonOut out = {0};
    int r = timeline_make(profile, from_ns, to_ns, points, &timeline);
    if (r < 0)
        return r;
    int64_t *values = calloc(timeline.count + 1, sizeof(*values));
    out.failed = !values;
    json_out_open(&out, NULL, '{');
    json_out_integer(&out, "id", process->id);
    json_out_integer(&out, "first", (int64_t)(first / 1000));
    json_out_integer(&out, "last", (int64_t)(last / 1000));
    json_out_integer(&out, "from", (int64_t)((from_ns == TIME_FIRST ? first : from_ns) / 1000));
    json_out_integer(&out, "to", (int64_t)((to_ns == TIME_LAST ? last : to_ns) / 1000));
    json_out_integer(&out, "snapshots", (int64_t)(timeline.end - timeline.first));
    write_peak(&out, profile, from_ns, to_ns);
    if (values)
        write_columns(&(Columns){profile, &timeline, values, &out});
    json_out_close(&out, '}');
    free(values);
    timeline_done(&timeline);
    return json_out_reply(&out, reply);
}

int api_timeline(Hub *hub, const ApiQuery *query, ApiReply *ret_reply)
{
    uint64_t from_ns, to_ns, points;
    if (!query_span(query, ret_reply, &from_ns, &to_ns) ||
        !query_number(query, ret_reply, "points", 1, POINTS_MAX, POINTS_DEFAULT, &points))
        return 0;
    HubProcess *process = query_acquire(hub, query, ret_reply, "id");
    if (!process)
        return 0;
    int r = write_all(process, from_ns, to_ns, points, ret_reply);
    hub_release(hub, process);
    return r;
}
