// SPDX-License-Identifier: Apache-2.0
/*
 * Pieces of JSON for json, speedscope and html. Strings are made valid UTF-8 before jansson sees
 * them, for it refuses others. Inside a script element the HTML parser looks for "</script" and
 * "<!--" in the raw text, so the html variant leaves no '<' at all: outside of strings JSON has
 * none, and inside it becomes an escape.
 */
#include "export/json_piece.h"

#include <errno.h>
#include <inttypes.h>

#include "export/names.h"

static int dump(json_t *piece, json_dump_callback_t put, size_t flags, FILE *out)
{
    if (!piece)
        return -ENOMEM;
    int r = json_dump_callback(piece, put, out, flags | JSON_COMPACT | JSON_ENCODE_ANY);
    json_decref(piece);
    return r == 0 ? 0 : ferror(out) ? -EIO : -ENOMEM;
}

static int put_plain(const char *text, size_t size, void *out)
{
    return fwrite(text, 1, size, out) == size ? 0 : -1;
}

static int put_html(const char *text, size_t size, void *out)
{
    for (size_t i = 0; i < size; i++) {
        int r = text[i] == '<' || text[i] == '>' || text[i] == '&'
                    ? fprintf(out, "\\u%04x", (unsigned)text[i])
                    : fputc(text[i], out);
        if (r < 0)
            return -1;
    }
    return 0;
}

int json_piece_write(json_t *piece, FILE *out)
{
    return dump(piece, put_plain, 0, out);
}

int json_piece_write_html(json_t *piece, FILE *out)
{
    return dump(piece, put_html, JSON_ENSURE_ASCII, out);
}

json_t *json_name(const char *name)
{
    if (!name)
        return json_null();
    json_t *string = json_string(name); /* NULL: not UTF-8 */
    if (string)
        return string;
    NameBuffer valid = {0};
    if (name_append_utf8(&valid, name))
        string = json_string(valid.data);
    name_buffer_done(&valid);
    return string;
}

json_t *json_hex(uint64_t value)
{
    return json_sprintf("0x%" PRIx64, value);
}

const char *json_metric_key(Metric metric)
{
    static const char *const keys[METRIC_MAX] = {
        [METRIC_LIVE_BYTES] = "live_bytes",   [METRIC_LIVE_COUNT] = "live_count",
        [METRIC_TOTAL_BYTES] = "total_bytes", [METRIC_TOTAL_COUNT] = "total_count",
        [METRIC_TEMPORARY] = "temporary",     [METRIC_OVERHEAD] = "overhead",
    };
    return keys[metric];
}

json_t *json_values(const Values *values)
{
    json_t *object = json_object();
    for (int m = 0; object && m < METRIC_MAX; m++) {
        if (json_object_set_new(object, json_metric_key((Metric)m), json_integer(values->v[m]))) {
            json_decref(object);
            return NULL;
        }
    }
    return object;
}
