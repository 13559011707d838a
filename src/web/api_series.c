// SPDX-License-Identifier: Apache-2.0
/*
 * series: the top labels over time (top_series.h), at the times of the timeline. With by=self the
 * rows and `other` are the whole; with by=total they overlap.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/series.h"
#include "web/json_out.h"
#include "web/label_columns.h"
#include "web/query.h"
#include "web/top_series.h"

enum { TOP_DEFAULT = 10, TOP_MAX = 100, PINS_MAX = 50, POINTS_DEFAULT = 1000, POINTS_MAX = 20000 };

typedef struct SeriesRequest {
    TopSeriesOptions options;
    Granularity granularity;
    uint64_t from_ns, to_ns, points;
    uint32_t pins[PINS_MAX];
} SeriesRequest;

static bool parse_by(const ApiQuery *query, ApiReply *reply, SeriesRequest *request)
{
    const char *by = api_query_get(query, "by");
    request->options.self = !by || strcmp(by, "self") == 0;
    if (request->options.self || strcmp(by, "total") == 0)
        return true;
    api_fail(reply, 400, "bad-request", "by: give self or total");
    return false;
}

static bool parse_pins(const ApiQuery *query, ApiReply *reply, SeriesRequest *request)
{
    const char *at = api_query_get(query, "pin");
    size_t count = 0;
    while (at && *at && count < PINS_MAX) {
        char *end;
        if (*at < '0' || *at > '9')
            break;
        errno = 0;
        unsigned long long pin = strtoull(at, &end, 10);
        if (errno || pin >= UINT32_MAX || (*end && *end != ','))
            break;
        request->pins[count++] = (uint32_t)pin;
        at = *end ? end + 1 : end;
    }
    if (at && *at) {
        api_fail(reply, 400, "bad-request", "pin: give at most %d labels, with commas between",
                 PINS_MAX);
        return false;
    }
    request->options.pins = request->pins;
    request->options.pin_count = count;
    return true;
}

static bool parse(const ApiQuery *query, ApiReply *reply, SeriesRequest *request)
{
    uint64_t top;
    if (!query_metric(query, reply, &request->options.metric) ||
        !query_granularity(query, reply, &request->granularity) ||
        !query_span(query, reply, &request->from_ns, &request->to_ns) ||
        !query_number(query, reply, "points", 1, POINTS_MAX, POINTS_DEFAULT, &request->points) ||
        !query_number(query, reply, "top", 0, TOP_MAX, TOP_DEFAULT, &top) ||
        !parse_by(query, reply, request) || !parse_pins(query, reply, request))
        return false;
    request->options.top = top;
    return true;
}

/* ---- writing -------------------------------------------------------------------------------- */

static void write_rows(const TopSeries *series, size_t columns, const int64_t *positions,
                       JsonOut *out)
{
    json_out_open(out, "series", '[');
    for (size_t i = 0; i < series->count; i++) {
        json_out_open(out, NULL, '{');
        json_out_integer(out, "label", positions[i]);
        json_out_value(out, "pinned", json_boolean(series->rows[i].pinned));
        json_out_integers(out, "value", series->rows[i].values, columns);
        json_out_close(out, '}');
    }
    json_out_close(out, ']');
}

/* What the rows leave of the total. COLUMN is room. */
static void write_other(const TopSeries *series, size_t columns, int64_t *column, JsonOut *out)
{
    if (columns)
        memcpy(column, series->total, columns * sizeof(*column));
    for (size_t i = 0; i < series->count; i++)
        for (size_t k = 0; k < columns; k++)
            column[k] = wrap_sub(column[k], series->rows[i].values[k]);
    json_out_integers(out, "other", column, columns);
}

static int write_series(const HubProcess *process, const SeriesRequest *request,
                        const Timeline *timeline, const TopSeries *series, JsonOut *out)
{
    LabelColumns labels;
    size_t columns = timeline->count;
    int64_t *column = malloc((columns + series->count + 1) * sizeof(*column));
    int r = label_columns_init(&labels, process->labels[request->granularity]);
    if (r == 0 && column) {
        for (size_t i = 0; i < columns; i++)
            column[i] =
                (int64_t)(profile_snapshot(process->profile, timeline->columns[i])->time_ns / 1000);
        json_out_integers(out, "time", column, columns);
        for (size_t i = 0; i < series->count; i++)
            column[i] = label_columns_put(&labels, series->rows[i].label);
        label_columns_write(&labels, out);
        write_rows(series, columns, column, out);
        if (request->options.self)
            write_other(series, columns, column, out);
        else
            json_out_value(out, "other", json_null());
        json_out_integers(out, "total", series->total, columns);
    }
    label_columns_done(&labels);
    free(column);
    return column ? r : -ENOMEM;
}

static bool pins_exist(const HubProcess *process, const SeriesRequest *request, ApiReply *reply)
{
    size_t count = labels_count(process->labels[request->granularity]);
    for (size_t i = 0; i < request->options.pin_count; i++) {
        if (request->pins[i] < count)
            continue;
        api_fail(reply, 404, "not-found", "pin: no label %u", request->pins[i]);
        return false;
    }
    return true;
}

static int answer(const HubProcess *process, const SeriesRequest *request, ApiReply *reply)
{
    Timeline timeline;
    TopSeries series = {0};
    JsonOut out = {0};
    if (!pins_exist(process, request, reply))
        return 0;
    int r = timeline_make(process->profile, request->from_ns, request->to_ns, request->points,
                          &timeline);
    if (r < 0)
        return r;
    if (timeline.count)
        r = top_series_make(process->profile, process->labels[request->granularity], &timeline,
                            &request->options, &series);
    json_out_open(&out, NULL, '{');
    json_out_integer(&out, "id", process->id);
    json_out_text(&out, "by", request->options.self ? "self" : "total");
    json_out_text(&out, "metric", metric_name(request->options.metric));
    if (r == 0)
        r = write_series(process, request, &timeline, &series, &out);
    json_out_close(&out, '}');
    out.failed |= r < 0;
    top_series_done(&series);
    timeline_done(&timeline);
    return json_out_reply(&out, reply);
}

int api_series(Hub *hub, const ApiQuery *query, ApiReply *ret_reply)
{
    SeriesRequest request = {0};
    if (!parse(query, ret_reply, &request))
        return 0;
    HubProcess *process = query_acquire(hub, query, ret_reply, "id");
    if (!process)
        return 0;
    int r = answer(process, &request, ret_reply);
    hub_release(hub, process);
    return r;
}
