// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "export/view.h"
#include "web/api.h"

/* What flame, functions and download are asked for: the section Selection of docs/API.md. */

/* CPU time that a filter may take over the labels of a process, which is locked meanwhile. */
#define FILTER_LIMIT_NS 2000000000ULL
#define FILTER_TOO_SLOW "filter: takes too long on these names: give a simpler one"

typedef enum SelectionMode {
    SELECTION_PEAK,
    SELECTION_MOMENT,
    SELECTION_BETWEEN,
    SELECTION_WINDOW,
} SelectionMode;

typedef struct Selection {
    SelectionMode mode;
    uint64_t at_ns; /* moment */
    /* between: both moments; peak: the span, its first microsecond included. TIME_FIRST and
     * TIME_LAST where not given */
    uint64_t from_ns, to_ns;
    Metric metric;
    Granularity granularity;
    const char *filter; /* NULL: none; owned by the query; is a regular expression */
    const char *window; /* window: its name, owned by the query */
} Selection;

/* False after the reply was made a 400: the handler returns 0. */
bool selection_parse(const ApiQuery *query, ApiReply *reply, Selection *ret_selection);
/* "peak", "moment", "between", "window". */
const char *selection_mode_name(SelectionMode mode);

/*
 * The view of it, as `memhawk report` would make it (view_done()). A peak within a span is the
 * highest snapshot there. False after the reply was made an error: no such window (404), no
 * snapshot in the span (404, "no-snapshot"), or out of memory (500).
 */
bool selection_view(const Selection *selection, const HubProcess *process, ApiReply *reply,
                    View *ret_view);
