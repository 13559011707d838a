// SPDX-License-Identifier: Apache-2.0
/*
 * flame: the call tree of a selection. Shapes come from the cache (flame_cache.h); with a focus a
 * shape of its own is made of the stacks that pass it. The process is held while figures are summed
 * and written.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "web/flame_cache.h"
#include "web/flame_json.h"
#include "web/label_columns.h"
#include "web/query.h"
#include "web/selection_values.h"

enum { LIMIT_LEAST = 2, LIMIT_DEFAULT = 4000, LIMIT_MAX = 250000 };

typedef struct FlameRequest {
    Selection selection;
    bool inverted;
    uint64_t limit;
    uint32_t focus; /* FLAME_ROOT: none */
} FlameRequest;

static bool parse_focus(const ApiQuery *query, ApiReply *reply, FlameRequest *request)
{
    request->focus = FLAME_ROOT;
    return !api_query_get(query, "focus") || (query_id(query, reply, "focus", &request->focus) &&
                                              query_direction(query, reply, &request->inverted));
}

static bool parse(const ApiQuery *query, ApiReply *reply, FlameRequest *request)
{
    return selection_parse(query, reply, &request->selection) &&
           query_flag(query, reply, "inverted", &request->inverted) &&
           query_number(query, reply, "limit", LIMIT_LEAST, LIMIT_MAX, LIMIT_DEFAULT,
                        &request->limit) &&
           parse_focus(query, reply, request);
}

/* ---- writing -------------------------------------------------------------------------------- */

static void write_time(JsonOut *out, const char *key, uint64_t time_ns)
{
    if (time_ns)
        json_out_integer(out, key, (int64_t)(time_ns / 1000));
    else
        json_out_value(out, key, json_null());
}

static const char *unit_of(Metric metric)
{
    return metric == METRIC_LIVE_BYTES || metric == METRIC_TOTAL_BYTES || metric == METRIC_OVERHEAD
               ? "bytes"
               : "count";
}

static void write_head(JsonOut *out, const HubProcess *process, const FlameRequest *request,
                       const SelectionValues *v)
{
    json_out_integer(out, "id", process->id);
    json_out_text(out, "mode", selection_mode_name(request->selection.mode));
    json_out_text(out, "metric", metric_name(request->selection.metric));
    json_out_text(out, "unit", unit_of(request->selection.metric));
    write_time(out, "at", v->at_ns);
    write_time(out, "from", v->from_ns);
    write_time(out, "to", v->to_ns);
    json_out_open(out, "sides", '[');
    for (unsigned s = 0; s < v->values.sides; s++)
        json_out_text(out, NULL, selection_side_name(v, s));
    json_out_close(out, ']');
    if (v->between) {
        json_out_open(out, "state", '{');
        json_out_metrics(out, "from", &v->from);
        json_out_metrics(out, "to", &v->to);
        json_out_close(out, '}');
    }
}

static int64_t position_of(LabelColumns *columns, uint32_t label)
{
    if (label >= FLAME_LOST)
        return (int32_t)label; /* -5 to -1 */
    return label_columns_put(columns, label);
}

static int write_nodes(JsonOut *out, const HubProcess *process, const FlameRequest *request,
                       const FlameTree *tree, unsigned sides)
{
    LabelColumns columns = {0};
    int64_t *position = malloc((tree->count + 1) * sizeof(*position));
    int r = label_columns_init(&columns, process->labels[request->selection.granularity]);
    if (!position)
        r = -ENOMEM;
    for (size_t i = 0; r == 0 && i < tree->count; i++)
        position[i] = position_of(&columns, tree->label[i]);
    if (r == 0) {
        label_columns_write(&columns, out);
        r = flame_json_nodes(out, tree, sides, request->selection.metric, position);
    }
    label_columns_done(&columns);
    free(position);
    return r;
}

static int write_all(const HubProcess *process, const FlameRequest *request,
                     const SelectionValues *v, const FlameTree *tree, ApiReply *reply)
{
    JsonOut out = {0};
    Values totals[FLAME_SIDES];
    for (unsigned s = 0; s < v->values.sides; s++)
        totals[s] = tree->total[s][0];
    json_out_open(&out, NULL, '{');
    write_head(&out, process, request, v);
    flame_json_totals(&out, totals, v->values.sides);
    out.failed |= write_nodes(&out, process, request, tree, v->values.sides) < 0;
    json_out_integer(&out, "stacks", (int64_t)tree->stack_count);
    json_out_integer(&out, "node_count", (int64_t)tree->all_count);
    json_out_open(&out, "symbols", '{');
    json_out_integer(&out, "done", process->symbols_done);
    json_out_integer(&out, "total", process->symbols_all);
    json_out_close(&out, '}');
    json_out_close(&out, '}');
    return json_out_reply(&out, reply);
}

/* ---- the tree ------------------------------------------------------------------------------- */

static int sum_tree(HubProcess *process, const FlameRequest *request, const SelectionValues *v,
                    FlameTree *ret_tree)
{
    const Selection *selection = &request->selection;
    FlameIndex own = {0};
    const FlameIndex *index = &own;
    int r;
    if (request->focus == FLAME_ROOT) {
        r = flame_cache_index(process, selection->granularity, request->inverted, &index);
    } else {
        r = flame_index_stacks(&own, process->profile, process->labels[selection->granularity],
                               request->inverted, request->focus, 0);
        if (r == 0)
            r = flame_index_build(&own);
    }
    if (r == 0)
        r = flame_sum(index, &v->values, selection->metric, request->limit, ret_tree);
    flame_index_done(&own);
    return r;
}

static int answer(HubProcess *process, const FlameRequest *request, ApiReply *reply)
{
    SelectionValues v;
    FlameTree tree;
    if (request->focus != FLAME_ROOT &&
        request->focus >= labels_count(process->labels[request->selection.granularity])) {
        api_fail(reply, 404, "not-found", "focus: no label %u", request->focus);
        return 0;
    }
    if (!selection_values(&request->selection, process, reply, &v))
        return 0;
    int r = sum_tree(process, request, &v, &tree);
    if (r == 0) {
        r = write_all(process, request, &v, &tree, reply);
        flame_tree_done(&tree);
    }
    selection_values_done(&v);
    return r;
}

int api_flame(Hub *hub, const ApiQuery *query, ApiReply *ret_reply)
{
    FlameRequest request = {0};
    if (!parse(query, ret_reply, &request))
        return 0;
    HubProcess *process = query_acquire(hub, query, ret_reply, "id");
    if (!process)
        return 0;
    int r = answer(process, &request, ret_reply);
    hub_release(hub, process);
    return r;
}
