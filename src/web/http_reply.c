// SPDX-License-Identifier: Apache-2.0
/*
 * Bodies get their headers here, in one place, so that none lacks the Content-Security-Policy.
 * Nothing may be cached: figures change, and the page belongs to one run of one server. A reply
 * lives as long as libmicrohttpd sends it. No state.
 */
#include "web/http_reply.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"

enum { COMPRESS_FROM_BYTES = 1024, STREAM_BLOCK_BYTES = 4096 };

static const char *const headers[][2] = {
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
     "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; "
     "frame-ancestors 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "DENY"},
    {"Referrer-Policy", "no-referrer"},
    {"Cache-Control", "no-store"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
};

static enum MHD_Result queue(struct MHD_Connection *connection, unsigned status, const char *type,
                             Encoding encoding, struct MHD_Response *response)
{
    if (!response)
        return MHD_NO;
    bool ok = MHD_add_response_header(response, "Content-Type", type) == MHD_YES;
    for (size_t i = 0; i < ARRAY_SIZE(headers); i++)
        ok = ok && MHD_add_response_header(response, headers[i][0], headers[i][1]) == MHD_YES;
    if (encoding != ENCODING_NONE)
        ok = ok && MHD_add_response_header(response, "Content-Encoding", encoding_name(encoding)) ==
                       MHD_YES;
    ok = ok && MHD_add_response_header(response, "Vary", "Accept-Encoding") == MHD_YES;
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
        ok = ok && MHD_add_response_header(response, "Allow", "GET, HEAD") == MHD_YES;
    enum MHD_Result result = ok ? MHD_queue_response(connection, status, response) : MHD_NO;
    MHD_destroy_response(response);
    return result;
}

Encoding http_reply_compress(ApiReply *reply, Encoding accepted)
{
    char *data;
    size_t size;
    bool packed = reply->type && strncmp(reply->type, "application/octet", 17) == 0;
    if (accepted == ENCODING_NONE || !reply->body || packed || reply->size < COMPRESS_FROM_BYTES)
        return ENCODING_NONE;
    if (encoding_compress(accepted, reply->body, reply->size, &data, &size) < 0)
        return ENCODING_NONE; /* goes out as it is */
    free(reply->body);
    reply->body = data;
    reply->size = size;
    return accepted;
}

/* A name that needs no escaping in any system's file names. */
static void attachment_header(const char *name, char *ret_text, size_t size)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    int length = snprintf(ret_text, size, "attachment; filename=\"%s", name);
    char *at = ret_text + strlen("attachment; filename=\"");
    if (length < 0 || (size_t)length > size - 2)
        ret_text[size - 2] = 0;
    for (; *at; at++)
        if (!strchr(plain, *at))
            *at = '_';
    memcpy(at, "\"", 2);
}

static struct MHD_Response *file_response(FILE *file, uint64_t size)
{
    int fd = dup(fileno(file));
    struct MHD_Response *response = fd < 0 ? NULL : MHD_create_response_from_fd64(size, fd);
    if (!response && fd >= 0)
        close(fd);
    return response;
}

enum MHD_Result http_reply_api(struct MHD_Connection *connection, ApiReply *reply,
                               Encoding encoding)
{
    const char *type = reply->type ? reply->type : "application/json";
    char disposition[300];
    struct MHD_Response *response;
    if (reply->file) {
        response = file_response(reply->file, reply->size);
        fclose(reply->file);
    } else {
        response = MHD_create_response_from_buffer(reply->size, reply->body ? reply->body : "",
                                                   reply->body ? MHD_RESPMEM_MUST_FREE
                                                               : MHD_RESPMEM_PERSISTENT);
        if (!response)
            free(reply->body);
    }
    reply->body = NULL;
    reply->file = NULL;
    if (response && reply->file_name) {
        attachment_header(reply->file_name, disposition, sizeof(disposition));
        MHD_add_response_header(response, "Content-Disposition", disposition);
    }
    free(reply->file_name);
    reply->file_name = NULL;
    return queue(connection, reply->status ? reply->status : MHD_HTTP_OK, type, encoding, response);
}

enum MHD_Result http_reply_error(struct MHD_Connection *connection, bool json, unsigned status,
                                 const char *code, const char *message)
{
    ApiReply reply = {0};
    if (json) {
        if (api_fail(&reply, status, code, "%s", message) < 0)
            return MHD_NO;
    } else {
        int length = asprintf(&reply.body,
                              "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
                              "<title>MemHawk</title>\n<h1>%u</h1>\n<p>%s</p>\n</html>\n",
                              status, message);
        if (length < 0)
            return MHD_NO;
        reply.size = (size_t)length;
        reply.status = status;
        reply.type = "text/html; charset=utf-8";
    }
    return http_reply_api(connection, &reply, ENCODING_NONE);
}

enum MHD_Result http_reply_asset(struct MHD_Connection *connection, const Asset *asset,
                                 Encoding accepted)
{
    size_t size = (size_t)(asset->end - asset->data), packed_size;
    char *packed;
    if (accepted != ENCODING_NONE && size >= COMPRESS_FROM_BYTES &&
        encoding_compress(accepted, asset->data, size, &packed, &packed_size) == 0)
        return queue(connection, MHD_HTTP_OK, asset->type, accepted,
                     MHD_create_response_from_buffer(packed_size, packed, MHD_RESPMEM_MUST_FREE));
    return queue(
        connection, MHD_HTTP_OK, asset->type, ENCODING_NONE,
        MHD_create_response_from_buffer(size, (void *)asset->data, MHD_RESPMEM_PERSISTENT));
}

enum MHD_Result http_reply_redirect(struct MHD_Connection *connection, const char *token)
{
    char location[64];
    struct MHD_Response *response =
        MHD_create_response_from_buffer(0, (char *)"", MHD_RESPMEM_PERSISTENT);
    snprintf(location, sizeof(location), "/?token=%s", token);
    if (response && MHD_add_response_header(response, "Location", location) != MHD_YES) {
        MHD_destroy_response(response);
        return MHD_NO;
    }
    return queue(connection, MHD_HTTP_FOUND, "text/plain", ENCODING_NONE, response);
}

enum MHD_Result http_reply_stream(struct MHD_Connection *connection,
                                  MHD_ContentReaderCallback reader, void *context,
                                  MHD_ContentReaderFreeCallback done)
{
    struct MHD_Response *response = MHD_create_response_from_callback(
        MHD_SIZE_UNKNOWN, STREAM_BLOCK_BYTES, reader, context, done);
    if (!response)
        done(context);
    return queue(connection, MHD_HTTP_OK, "text/event-stream", ENCODING_NONE, response);
}
