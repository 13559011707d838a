// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "web/flame_sum.h"
#include "web/selection.h"

/* The figures of a selection, per stack, without a sort or a copy: what trees are summed from. */
typedef struct SelectionValues {
    FlameValues values; /* borrowed from the process's cache, or from `own` */
    Values *own[FLAME_SIDES];
    Values total[FLAME_SIDES]; /* over the chosen stacks */
    bool between;
    Values from, to; /* between: the chosen stacks' states then; to - from = added - removed */
    /* Times of the snapshots that were found, 0: none. Between, before the first one: the start. */
    uint64_t at_ns, from_ns, to_ns;
} SelectionValues;

/* False after the reply was made an error. Good while the process is held; ends by
 * selection_values_done(). */
bool selection_values(const Selection *selection, HubProcess *process, ApiReply *reply,
                      SelectionValues *ret_values);
void selection_values_done(SelectionValues *values);
/* "added", "removed"; "value". */
const char *selection_side_name(const SelectionValues *values, unsigned side);
