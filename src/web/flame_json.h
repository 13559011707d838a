// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "web/flame_sum.h"
#include "web/json_out.h"

/* Writes "nodes" of a tree. POSITION: per node, what stands in its column "label". 0 or -ENOMEM. */
int flame_json_nodes(JsonOut *out, const FlameTree *tree, unsigned sides, Metric metric,
                     const int64_t *position);
/* Writes "totals": {"live-bytes": [n a side], ...}. */
void flame_json_totals(JsonOut *out, const Values *totals, unsigned sides);
