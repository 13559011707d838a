// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "web/flame_index.h"
#include "web/hub.h"

/*
 * What is remembered of a process between requests: shapes of call trees, states of some snapshots,
 * the last filter. All is made when it is asked for, is guarded by the process's lock, and goes
 * with the process. What functions return is valid until the next of the same kind, states until
 * the next but one. 0, -ENOMEM or -EOVERFLOW.
 */
typedef struct FlameCache FlameCache;

int flame_cache_index(HubProcess *process, Granularity granularity, bool inverted,
                      const FlameIndex **ret_index);
/* Per stack: the values after SNAPSHOT (an index; -1: before the first, all 0). */
int flame_cache_state(HubProcess *process, int64_t snapshot, const Values **ret_values);
/* Per stack: whether a label of it matches FILTER, as in view_build(). -EINVAL: it is none;
 * -ETIME: it took longer than FILTER_LIMIT_NS. */
int flame_cache_filter(HubProcess *process, Granularity granularity, const char *filter,
                       const bool **ret_chosen);
void flame_cache_free(FlameCache *cache);
