// SPDX-License-Identifier: Apache-2.0
/*
 * From the SELECTION parameters of a request to a View. Combinations that make no sense are told,
 * not guessed. A filter is compiled once here to find its faults; what it may cost is limited
 * while it runs, as the process is locked then. No state.
 */
#include "web/selection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "web/query.h"

static const char *const mode_names[] = {
    [SELECTION_PEAK] = "peak",
    [SELECTION_MOMENT] = "moment",
    [SELECTION_BETWEEN] = "between",
    [SELECTION_WINDOW] = "window",
};

const char *selection_mode_name(SelectionMode mode)
{
    return mode_names[mode];
}

static bool parse_mode(const ApiQuery *query, ApiReply *reply, Selection *selection)
{
    const char *text = api_query_get(query, "mode");
    for (size_t i = 0; text && i < ARRAY_SIZE(mode_names); i++) {
        if (strcmp(text, mode_names[i]) == 0) {
            selection->mode = (SelectionMode)i;
            return true;
        }
    }
    if (text)
        api_fail(reply, 400, "bad-request", "mode: give moment, peak, between or window");
    return !text;
}

static bool parse_filter(const ApiQuery *query, ApiReply *reply, Selection *selection)
{
    char why[200];
    const char *filter = api_query_get(query, "filter");
    if (!filter || !*filter)
        return true;
    view_filter_error(filter, why, sizeof(why));
    if (*why) {
        api_fail(reply, 400, "bad-request", "filter: %s: give a regular expression", why);
        return false;
    }
    selection->filter = filter;
    return true;
}

static bool parse_times(const ApiQuery *query, ApiReply *reply, Selection *selection)
{
    switch (selection->mode) {
    case SELECTION_MOMENT:
        return query_time(query, reply, "at", QUERY_TIME_END, TIME_LAST, &selection->at_ns);
    case SELECTION_PEAK:
        return query_span(query, reply, &selection->from_ns, &selection->to_ns);
    case SELECTION_BETWEEN:
        if (!query_time(query, reply, "from", QUERY_TIME_END, TIME_FIRST, &selection->from_ns) ||
            !query_time(query, reply, "to", QUERY_TIME_END, TIME_LAST, &selection->to_ns))
            return false;
        if (selection->from_ns <= selection->to_ns)
            return true;
        api_fail(reply, 400, "bad-request", "from: lies after to");
        return false;
    case SELECTION_WINDOW:
        selection->window = api_query_get(query, "window");
        if (selection->window && selection->metric != METRIC_OVERHEAD)
            return true;
        if (!selection->window)
            api_fail(reply, 400, "bad-request", "window: is missing: name one");
        else
            api_fail(reply, 400, "bad-request", "metric: overhead is not recorded for windows");
        return false;
    }
    return false;
}

bool selection_parse(const ApiQuery *query, ApiReply *reply, Selection *ret_selection)
{
    Selection selection = {.at_ns = TIME_LAST, .from_ns = TIME_FIRST, .to_ns = TIME_LAST};
    if (!parse_mode(query, reply, &selection) || !query_metric(query, reply, &selection.metric) ||
        !query_granularity(query, reply, &selection.granularity) ||
        !parse_filter(query, reply, &selection) || !parse_times(query, reply, &selection))
        return false;
    *ret_selection = selection;
    return true;
}

/* The moment or span in the terms of a view; 0, -ENOENT: there is no snapshot. */
static int fill_moment(const Selection *selection, const Profile *profile, ViewOptions *options)
{
    uint64_t bytes;
    switch (selection->mode) {
    case SELECTION_PEAK:
        options->at_ns = VIEW_AT_PEAK;
        if (selection->from_ns == TIME_FIRST && selection->to_ns == TIME_LAST)
            return 0;
        return profile_peak_between(profile, selection->from_ns, selection->to_ns, &options->at_ns,
                                    &bytes);
    case SELECTION_MOMENT:
        options->at_ns = selection->at_ns;
        return 0;
    case SELECTION_BETWEEN:
        options->interval = true;
        options->from_ns = selection->from_ns;
        options->to_ns = selection->to_ns;
        return 0;
    case SELECTION_WINDOW:
        options->at_ns = TIME_LAST;
        return 0;
    }
    return 0;
}

static void explain(int code, ApiReply *reply)
{
    if (code == -ENOENT)
        api_fail(reply, 404, "no-snapshot", "there is no snapshot in this span yet");
    else if (code == -ETIME)
        api_fail(reply, 400, "bad-request", "%s", FILTER_TOO_SLOW);
    else
        api_fail(reply, 500, "internal", "%s", strerror(-code));
}

bool selection_view(const Selection *selection, const HubProcess *process, ApiReply *reply,
                    View *ret_view)
{
    ViewOptions options = {
        .symbolizer = process->symbolizer,
        .metric = selection->metric,
        .filter = selection->filter,
        .filter_limit_ns = FILTER_LIMIT_NS,
        .granularity = selection->granularity,
    };
    if (selection->window) {
        options.window = profile_window_find(process->profile, selection->window);
        if (!options.window) {
            api_fail(reply, 404, "not-found", "window: no window of this name");
            return false;
        }
    }
    int r = fill_moment(selection, process->profile, &options);
    if (r >= 0)
        r = view_build(process->profile, process->labels[selection->granularity], &options,
                       ret_view);
    if (r < 0)
        explain(r, reply);
    return r >= 0;
}
