// SPDX-License-Identifier: Apache-2.0
/*
 * One growing buffer; commas are put where a value follows another. Digits go two at a time from a
 * table, from the back. No locks, no state but the buffer.
 */
#include "web/json_out.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { INTEGER_BYTES = 21, GROW_BYTES = 65536 };

static const char digit_pairs[] = "00010203040506070809101112131415161718192021222324"
                                  "25262728293031323334353637383940414243444546474849"
                                  "50515253545556575859606162636465666768697071727374"
                                  "75767778798081828384858687888990919293949596979899";

static char *room(JsonOut *out, size_t bytes)
{
    if (out->capacity - out->size < bytes && !out->failed) {
        size_t capacity = out->capacity * 2 + bytes + GROW_BYTES;
        char *grown = realloc(out->data, capacity);
        out->failed = !grown;
        if (grown) {
            out->data = grown;
            out->capacity = capacity;
        }
    }
    return out->failed ? NULL : out->data + out->size;
}

static void put(JsonOut *out, const char *text, size_t bytes)
{
    char *at = room(out, bytes);
    if (!at)
        return;
    memcpy(at, text, bytes);
    out->size += bytes;
}

static void begin(JsonOut *out, const char *key)
{
    if (out->comma)
        put(out, ",", 1);
    out->comma = true;
    if (!key)
        return;
    put(out, "\"", 1);
    put(out, key, strlen(key));
    put(out, "\":", 2);
}

void json_out_open(JsonOut *out, const char *key, char bracket)
{
    begin(out, key);
    put(out, &bracket, 1);
    out->comma = false;
}

void json_out_close(JsonOut *out, char bracket)
{
    put(out, &bracket, 1);
    out->comma = true;
}

static int put_piece(const char *text, size_t bytes, void *out)
{
    put(out, text, bytes);
    return 0;
}

void json_out_value(JsonOut *out, const char *key, json_t *value)
{
    begin(out, key);
    if (!value || json_dump_callback(value, put_piece, out,
                                     JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(17)) != 0)
        out->failed = true;
    json_decref(value);
}

static char *format(char *end, int64_t value)
{
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    while (rest >= 100) {
        end -= 2;
        memcpy(end, digit_pairs + rest % 100 * 2, 2);
        rest /= 100;
    }
    if (rest >= 10) {
        end -= 2;
        memcpy(end, digit_pairs + rest * 2, 2);
    } else {
        *--end = (char)('0' + rest);
    }
    if (value < 0)
        *--end = '-';
    return end;
}

static void put_integer(JsonOut *out, int64_t value)
{
    char text[INTEGER_BYTES];
    const char *start = format(text + sizeof(text), value);
    put(out, start, (size_t)(text + sizeof(text) - start));
}

void json_out_integer(JsonOut *out, const char *key, int64_t value)
{
    begin(out, key);
    put_integer(out, value);
}

void json_out_text(JsonOut *out, const char *key, const char *text)
{
    json_out_value(out, key, text ? json_string(text) : json_null());
}

void json_out_integers(JsonOut *out, const char *key, const int64_t *values, size_t count)
{
    json_out_open(out, key, '[');
    for (size_t i = 0; i < count; i++) {
        if (i)
            put(out, ",", 1);
        put_integer(out, values[i]);
    }
    json_out_close(out, ']');
}

void json_out_metrics(JsonOut *out, const char *key, const Values *values)
{
    json_out_open(out, key, '{');
    for (int m = 0; m < METRIC_MAX; m++)
        json_out_integer(out, metric_name((Metric)m), values->v[m]);
    json_out_close(out, '}');
}

int json_out_reply(JsonOut *out, ApiReply *reply)
{
    if (out->failed) {
        json_out_done(out);
        return -ENOMEM;
    }
    free(reply->body);
    reply->body = out->data;
    reply->size = out->size;
    reply->type = NULL;
    *out = (JsonOut){0};
    return 0;
}

void json_out_done(JsonOut *out)
{
    free(out->data);
    *out = (JsonOut){0};
}
