// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "profile/profile.h"
#include "web/api.h"

/*
 * Parameters that all bodies of the API read alike. Each returns false after it has made the reply
 * a 400 that names the parameter: the handler then returns 0 and is done.
 */

/* A whole number from LOW to HIGH; FALLBACK when it is not given. */
bool query_number(const ApiQuery *query, ApiReply *reply, const char *name, uint64_t low,
                  uint64_t high, uint64_t fallback, uint64_t *ret_value);
/* "0" or "1"; false when it is not given. */
bool query_flag(const ApiQuery *query, ApiReply *reply, const char *name, bool *ret_flag);
/* `direction` of a focus: "callers" is an inverted tree, "callees", the default, is not. */
bool query_direction(const ApiQuery *query, ApiReply *reply, bool *ret_inverted);
/* A process or label id, which has to be given. */
bool query_id(const ApiQuery *query, ApiReply *reply, const char *name, uint32_t *ret_id);

/*
 * Microseconds since the epoch, "start" (TIME_FIRST) or "end" (TIME_LAST); FALLBACK when it is not
 * given. Snapshots have ns: the END of a microsecond finds what came within it, so it is right for
 * a moment and for the end of a span; the START is right where a span begins and what lies at its
 * first moment belongs to it.
 */
typedef enum QueryTime { QUERY_TIME_START, QUERY_TIME_END } QueryTime;
bool query_time(const ApiQuery *query, ApiReply *reply, const char *name, QueryTime side,
                uint64_t fallback_ns, uint64_t *ret_time_ns);
/* The END of a time as query_time() has it, or "peak": *ret_peak, and the time is not written.
 * TIME_LAST when it is not given. */
bool query_moment(const ApiQuery *query, ApiReply *reply, const char *name, bool *ret_peak,
                  uint64_t *ret_time_ns);
/* `from` and `to` of a span: START of from to END of to; 400 when from is after to. */
bool query_span(const ApiQuery *query, ApiReply *reply, uint64_t *ret_from_ns, uint64_t *ret_to_ns);

/* Defaults: live-bytes; function. */
bool query_metric(const ApiQuery *query, ApiReply *reply, Metric *ret_metric);
bool query_granularity(const ApiQuery *query, ApiReply *reply, Granularity *ret_granularity);

/* Locks the process that the parameter NAME names; NULL after a 400, a 404, or (the file cannot be
 * read) a 404 with its message. hub_release(). */
HubProcess *query_acquire(Hub *hub, const ApiQuery *query, ApiReply *reply, const char *name);
