// SPDX-License-Identifier: Apache-2.0
/*
 * Trees as columns of integers, which compress well and which the page reads without making an
 * object for each node. One column of room, filled and written again and again.
 */
#include "web/flame_json.h"

#include <errno.h>
#include <stdlib.h>

static void widen(const uint32_t *from, size_t count, int64_t *to)
{
    for (size_t i = 0; i < count; i++)
        to[i] = from[i];
}

static void write_totals(JsonOut *out, const char *key, const FlameTree *tree, unsigned sides,
                         Metric metric, int64_t *column)
{
    json_out_open(out, key, '[');
    for (unsigned s = 0; s < sides; s++) {
        for (size_t i = 0; i < tree->count; i++)
            column[i] = tree->total[s][i].v[metric];
        json_out_integers(out, NULL, column, tree->count);
    }
    json_out_close(out, ']');
}

int flame_json_nodes(JsonOut *out, const FlameTree *tree, unsigned sides, Metric metric,
                     const int64_t *position)
{
    int64_t *column = malloc((tree->count + 1) * sizeof(*column));
    if (!column)
        return -ENOMEM;
    json_out_open(out, "nodes", '{');
    json_out_integers(out, "label", position, tree->count);
    widen(tree->level, tree->count, column);
    json_out_integers(out, "level", column, tree->count);
    widen(tree->hidden, tree->count, column);
    json_out_integers(out, "hidden", column, tree->count);
    write_totals(out, "total", tree, sides, metric, column);
    json_out_open(out, "self", '[');
    for (unsigned s = 0; s < sides; s++)
        json_out_integers(out, NULL, tree->self[s], tree->count);
    json_out_close(out, ']');
    json_out_open(out, "metrics", '{');
    for (int m = 0; m < METRIC_MAX; m++)
        write_totals(out, metric_name((Metric)m), tree, sides, (Metric)m, column);
    json_out_close(out, '}');
    json_out_close(out, '}');
    free(column);
    return 0;
}

void flame_json_totals(JsonOut *out, const Values *totals, unsigned sides)
{
    json_out_open(out, "totals", '{');
    for (int m = 0; m < METRIC_MAX; m++) {
        json_out_open(out, metric_name((Metric)m), '[');
        for (unsigned s = 0; s < sides; s++)
            json_out_integer(out, NULL, totals[s].v[m]);
        json_out_close(out, ']');
    }
    json_out_close(out, '}');
}
