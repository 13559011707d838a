// SPDX-License-Identifier: Apache-2.0
/*
 * Reads the common parameters of the API. Everything comes from a stranger's URL: numbers are taken
 * only when all of the text is one and it lies in its range; what is wrong is said in a sentence
 * that names the parameter. No state.
 */
#include "web/query.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { NS_PER_US = 1000 };
#define TIME_US_MAX (UINT64_MAX / NS_PER_US - 1)

static bool parse_number(const char *text, uint64_t *ret_value)
{
    char *end;
    if (*text < '0' || *text > '9')
        return false; /* strtoull() takes blanks and signs */
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (*end || errno)
        return false;
    *ret_value = value;
    return true;
}

bool query_number(const ApiQuery *query, ApiReply *reply, const char *name, uint64_t low,
                  uint64_t high, uint64_t fallback, uint64_t *ret_value)
{
    const char *text = api_query_get(query, name);
    uint64_t value = fallback;
    if (text && (!parse_number(text, &value) || value < low || value > high)) {
        api_fail(reply, 400, "bad-request", "%s: give a whole number from %" PRIu64 " to %" PRIu64,
                 name, low, high);
        return false;
    }
    *ret_value = value;
    return true;
}

bool query_flag(const ApiQuery *query, ApiReply *reply, const char *name, bool *ret_flag)
{
    uint64_t value;
    if (!query_number(query, reply, name, 0, 1, 0, &value))
        return false;
    *ret_flag = value != 0;
    return true;
}

bool query_direction(const ApiQuery *query, ApiReply *reply, bool *ret_inverted)
{
    const char *text = api_query_get(query, "direction");
    if (text && strcmp(text, "callers") != 0 && strcmp(text, "callees") != 0) {
        api_fail(reply, 400, "bad-request", "direction: give callers or callees");
        return false;
    }
    *ret_inverted = text && strcmp(text, "callers") == 0;
    return true;
}

bool query_id(const ApiQuery *query, ApiReply *reply, const char *name, uint32_t *ret_id)
{
    uint64_t value;
    if (!api_query_get(query, name)) {
        api_fail(reply, 400, "bad-request", "%s: is missing", name);
        return false;
    }
    if (!query_number(query, reply, name, 0, UINT32_MAX - 1, 0, &value))
        return false;
    *ret_id = (uint32_t)value;
    return true;
}

/* NULL is the fallback. */
static bool parse_time(const char *text, QueryTime side, uint64_t fallback_ns,
                       uint64_t *ret_time_ns)
{
    uint64_t us;
    if (!text)
        *ret_time_ns = fallback_ns;
    else if (strcmp(text, "start") == 0)
        *ret_time_ns = TIME_FIRST;
    else if (strcmp(text, "end") == 0)
        *ret_time_ns = TIME_LAST;
    else if (parse_number(text, &us) && us <= TIME_US_MAX)
        *ret_time_ns = us * NS_PER_US + (side == QUERY_TIME_END ? NS_PER_US - 1 : 0);
    else
        return false;
    return true;
}

bool query_time(const ApiQuery *query, ApiReply *reply, const char *name, QueryTime side,
                uint64_t fallback_ns, uint64_t *ret_time_ns)
{
    if (parse_time(api_query_get(query, name), side, fallback_ns, ret_time_ns))
        return true;
    api_fail(reply, 400, "bad-request",
             "%s: give whole microseconds since the Unix epoch, start or end", name);
    return false;
}

bool query_moment(const ApiQuery *query, ApiReply *reply, const char *name, bool *ret_peak,
                  uint64_t *ret_time_ns)
{
    const char *text = api_query_get(query, name);
    *ret_peak = text && strcmp(text, "peak") == 0;
    if (*ret_peak || parse_time(text, QUERY_TIME_END, TIME_LAST, ret_time_ns))
        return true;
    api_fail(reply, 400, "bad-request",
             "%s: give whole microseconds since the Unix epoch, start, peak or end", name);
    return false;
}

bool query_span(const ApiQuery *query, ApiReply *reply, uint64_t *ret_from_ns, uint64_t *ret_to_ns)
{
    uint64_t from_ns, to_ns;
    if (!query_time(query, reply, "from", QUERY_TIME_START, TIME_FIRST, &from_ns) ||
        !query_time(query, reply, "to", QUERY_TIME_END, TIME_LAST, &to_ns))
        return false;
    if (from_ns > to_ns) {
        api_fail(reply, 400, "bad-request", "from: lies after to");
        return false;
    }
    *ret_from_ns = from_ns;
    *ret_to_ns = to_ns;
    return true;
}

bool query_metric(const ApiQuery *query, ApiReply *reply, Metric *ret_metric)
{
    const char *text = api_query_get(query, "metric");
    Metric metric = METRIC_LIVE_BYTES;
    if (text && metric_find(text, &metric) < 0) {
        api_fail(reply, 400, "bad-request",
                 "metric: no such metric: give live-bytes, live-count, total-bytes, total-count, "
                 "temporary or overhead");
        return false;
    }
    *ret_metric = metric;
    return true;
}

bool query_granularity(const ApiQuery *query, ApiReply *reply, Granularity *ret_granularity)
{
    const char *text = api_query_get(query, "granularity");
    if (text && strcmp(text, "function") != 0 && strcmp(text, "line") != 0) {
        api_fail(reply, 400, "bad-request", "granularity: give function or line");
        return false;
    }
    *ret_granularity = text && text[0] == 'l' ? GRANULARITY_LINE : GRANULARITY_FUNCTION;
    return true;
}

HubProcess *query_acquire(Hub *hub, const ApiQuery *query, ApiReply *reply, const char *name)
{
    uint32_t id;
    if (!query_id(query, reply, name, &id))
        return NULL;
    HubProcess *process = hub_acquire(hub, id);
    if (!process) {
        api_fail(reply, 404, "not-found", "%s: no such process", name);
        return NULL;
    }
    if (process->profile)
        return process;
    api_fail(reply, 404, "not-found", "%s: cannot be read: %s", process->path,
             process->message ? process->message : "no profile");
    hub_release(hub, process);
    return NULL;
}
