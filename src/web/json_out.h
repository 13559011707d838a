// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "web/api.h"

/*
 * Large answers: jansson makes every value but arrays of integers. A flame graph of 250,000 nodes
 * has some three million numbers, for each of which jansson allocates a block and calls snprintf();
 * written here they cost a twentieth. Zero-initialise; out of memory is remembered until
 * json_out_reply().
 */
typedef struct JsonOut {
    char *data;
    size_t size, capacity;
    bool failed, comma;
} JsonOut;

/* KEY NULL: in an array, or the outermost. Keys are our own words: no escapes. */
void json_out_open(JsonOut *out, const char *key, char bracket);
void json_out_close(JsonOut *out, char bracket);
/* Takes VALUE over; NULL counts as out of memory. */
void json_out_value(JsonOut *out, const char *key, json_t *value);
void json_out_integer(JsonOut *out, const char *key, int64_t value);
void json_out_text(JsonOut *out, const char *key, const char *text);
void json_out_integers(JsonOut *out, const char *key, const int64_t *values, size_t count);
/* {"live-bytes": n, ...}: all six. */
void json_out_metrics(JsonOut *out, const char *key, const Values *values);
/* Makes it the body of the reply; ends OUT in any case. 0 or -ENOMEM. */
int json_out_reply(JsonOut *out, ApiReply *reply);
void json_out_done(JsonOut *out);
