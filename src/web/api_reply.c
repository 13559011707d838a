// SPDX-License-Identifier: Apache-2.0
/*
 * How a handler answers, and the table of all of them: to add a body, declare it in api.h, give it
 * a row here and a section in docs/API.md. No state.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "web/api.h"

const ApiRoute api_routes[] = {
    {"processes", api_processes}, {"process", api_process},
    {"timeline", api_timeline},   {"flame", api_flame},
    {"functions", api_functions}, {"series", api_series},
    {"compare", api_compare},     {"windows", api_windows},
    {"download", api_download},   {NULL, NULL},
};

int api_reply_json(ApiReply *reply, json_t *value)
{
    if (!value)
        return -ENOMEM;
    /* numbers of JSON are doubles: 17 digits keep each */
    char *body = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
    json_decref(value);
    if (!body)
        return -ENOMEM;
    free(reply->body);
    reply->body = body;
    reply->size = strlen(body);
    reply->type = NULL;
    return 0;
}

int api_fail(ApiReply *reply, unsigned status, const char *code, const char *format, ...)
{
    char message[600];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    reply->status = status;
    if (reply->file)
        fclose(reply->file);
    reply->file = NULL;
    free(reply->file_name);
    reply->file_name = NULL;
    /* a cut or a hostile name may leave bytes that are no UTF-8 */
    json_t *text = json_string(message);
    if (!text) {
        for (char *at = message; *at; at++)
            if ((unsigned char)*at >= 0x80 || (unsigned char)*at < ' ')
                *at = '?';
        text = json_string(message);
    }
    return api_reply_json(reply,
                          json_pack("{s:{s:s, s:o}}", "error", "code", code, "message", text));
}
