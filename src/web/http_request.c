// SPDX-License-Identifier: Apache-2.0
/*
 * One request: is it allowed, whose is it, and who answers. libmicrohttpd calls
 * http_request_answer() again and again for the same request:
 *
 *   1st   only the headers are there: remember it (libmicrohttpd wants it so)
 *   2nd   refuse, or serve a file of the page, or open the stream of events, or
 *         suspend the connection and queue the handler of the API
 *   3rd   the handler is done and has resumed the connection: send what it made
 *
 * All this runs on the one thread that moves bytes; only compute() runs on the work queue. A
 * Request belongs to the connection's thread but while it is suspended.
 */
#include "web/http_request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "web/http_query.h"
#include "web/http_reply.h"

static const char api_prefix[] = "/api/v1/";

typedef enum RequestState { REQUEST_NEW, REQUEST_COMPUTING, REQUEST_COMPUTED } RequestState;

typedef struct Request {
    HttpSite *site;
    struct MHD_Connection *connection;
    RequestState state;
    const ApiRoute *route;
    ApiQuery *query;
    Encoding accepted, encoding;
    ApiReply reply;
    int result; /* of the handler */
} Request;

static const char *header_get(struct MHD_Connection *connection, const char *name)
{
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

static enum MHD_Result count_hosts(void *context, enum MHD_ValueKind kind, const char *name,
                                   const char *value)
{
    (void)kind;
    (void)value;
    *(unsigned *)context += strcasecmp(name, "Host") == 0;
    return MHD_YES;
}

/* Why a request is refused whatever it asks for; NULL: it is not. */
static const char *refusal(const HttpSite *site, struct MHD_Connection *connection,
                           const char *path)
{
    unsigned hosts = 0;
    const char *host = header_get(connection, "Host");
    MHD_get_connection_values(connection, MHD_HEADER_KIND, count_hosts, &hosts);
    if (hosts != 1 || !guard_host(&site->guard, host))
        return "This server does not go by that name. Open the address that memhawk has printed.";
    if (!guard_origin(header_get(connection, "Origin"), host))
        return "Pages of other sites may not read this one.";
    bool page = strcmp(path, "/") == 0;
    if (!guard_fetch(header_get(connection, "Sec-Fetch-Site"),
                     header_get(connection, "Sec-Fetch-Mode"), page))
        return "Pages of other sites may not read this one.";
    return NULL;
}

/* A parameter without a zero byte inside; NULL: not given so. */
static const char *parameter_get(struct MHD_Connection *connection, const char *name)
{
    const char *value = NULL;
    size_t size = 0;
    MHD_lookup_connection_value_n(connection, MHD_GET_ARGUMENT_KIND, name, strlen(name), &value,
                                  &size);
    return value && strlen(value) == size ? value : NULL;
}

static bool is_authorised(const HttpSite *site, struct MHD_Connection *connection)
{
    return guard_token(&site->guard, parameter_get(connection, "token"));
}

static enum MHD_Result refuse_token(struct MHD_Connection *connection, bool json)
{
    return http_reply_error(connection, json, MHD_HTTP_FORBIDDEN, "forbidden",
                            "The token is missing or is that of another run. Open the whole "
                            "address that memhawk has printed, with ?token=...");
}

/* ---- API ----------------------------------------------------------------------------------- */

static void compute(void *context)
{
    Request *request = context;
    if (atomic_load(&request->site->stopping))
        request->result = -ECANCELED;
    else
        request->result =
            request->route->handle(request->site->hub, request->query, &request->reply);
    if (request->result >= 0)
        request->encoding = http_reply_compress(&request->reply, request->accepted);
    request->state = REQUEST_COMPUTED;
    MHD_resume_connection(request->connection);
}

static enum MHD_Result take_parameter(void *context, enum MHD_ValueKind kind, const char *name,
                                      size_t name_length, const char *value, size_t value_length)
{
    Request *request = context;
    (void)kind;
    request->result =
        http_query_add(request->query, name, name_length, value, value ? value_length : 0);
    return request->result < 0 ? MHD_NO : MHD_YES;
}

static const ApiRoute *route_find(const char *name)
{
    for (const ApiRoute *route = api_routes; route->name; route++)
        if (strcmp(route->name, name) == 0)
            return route;
    return NULL;
}

/* Queues the handler; what goes wrong is answered at once. */
static enum MHD_Result start_computing(Request *request)
{
    struct MHD_Connection *connection = request->connection;
    if (http_query_new(&request->query) < 0)
        return MHD_NO;
    MHD_get_connection_values_n(connection, MHD_GET_ARGUMENT_KIND, take_parameter, request);
    if (request->result < 0)
        return http_reply_error(connection, true, MHD_HTTP_BAD_REQUEST, "bad-request",
                                request->result == -EEXIST  ? "a parameter is given twice"
                                : request->result == -E2BIG ? "too many parameters"
                                                            : "parameters have to be UTF-8");
    request->state = REQUEST_COMPUTING;
    MHD_suspend_connection(connection);
    if (work_queue_put(request->site->queue, compute, request) < 0) {
        request->state = REQUEST_COMPUTED;
        request->result = -EAGAIN;
        MHD_resume_connection(connection);
    }
    return MHD_YES;
}

static enum MHD_Result send_computed(Request *request)
{
    if (request->result >= 0)
        return http_reply_api(request->connection, &request->reply, request->encoding);
    if (request->result == -EAGAIN || request->result == -ECANCELED)
        return http_reply_error(request->connection, true, MHD_HTTP_SERVICE_UNAVAILABLE,
                                "overloaded", "too much is asked for at once");
    return http_reply_error(request->connection, true, MHD_HTTP_INTERNAL_SERVER_ERROR, "internal",
                            strerror(-request->result));
}

/* ---- events -------------------------------------------------------------------------------- */

static void pause_stream(void *connection)
{
    MHD_suspend_connection(connection);
}

static void wake_stream(void *connection)
{
    MHD_resume_connection(connection);
}

static ssize_t read_stream(void *client, uint64_t position, char *buffer, size_t size)
{
    (void)position;
    ssize_t n = events_take(client, buffer, size);
    return n < 0 ? MHD_CONTENT_READER_END_OF_STREAM : n;
}

static void done_stream(void *client)
{
    events_client_free(client);
}

static enum MHD_Result open_stream(const Request *request)
{
    EventClient *client;
    if (events_client_new(request->site->events, pause_stream, wake_stream, request->connection,
                          &client) < 0)
        return MHD_NO;
    return http_reply_stream(request->connection, read_stream, client, done_stream);
}

/* ---- all requests -------------------------------------------------------------------------- */

static void tell_visit(const HttpSite *site)
{
    if (site->visited)
        site->visited(site->context);
}

static enum MHD_Result answer_api(Request *request, const char *name)
{
    struct MHD_Connection *connection = request->connection;
    if (!is_authorised(request->site, connection))
        return refuse_token(connection, true);
    tell_visit(request->site);
    if (strcmp(name, "events") == 0)
        return open_stream(request);
    request->route = route_find(name);
    if (!request->route)
        return http_reply_error(connection, true, MHD_HTTP_NOT_FOUND, "not-found",
                                "there is no such path; docs/API.md lists them");
    return start_computing(request);
}

/* Takes the ticket of view_open(): true once. */
static bool take_ticket(HttpSite *site, const char *ticket)
{
    return guard_ticket(&site->guard, ticket) && clock_monotonic_ns() < site->ticket_end_ns &&
           !atomic_exchange(&site->ticket_used, true);
}

static enum MHD_Result answer_page(const Request *request, const char *path)
{
    struct MHD_Connection *connection = request->connection;
    const Asset *asset = asset_find(path);
    const char *ticket = parameter_get(connection, "ticket");
    if (ticket && strcmp(path, "/") == 0 && take_ticket(request->site, ticket))
        return http_reply_redirect(connection, request->site->guard.token);
    if (!asset)
        return http_reply_error(connection, false, MHD_HTTP_NOT_FOUND, "not-found",
                                "There is nothing here.");
    if (asset->needs_token) {
        if (!is_authorised(request->site, connection))
            return refuse_token(connection, false);
        tell_visit(request->site);
    }
    return http_reply_asset(connection, asset, request->accepted);
}

static enum MHD_Result answer_new(Request *request, const char *path, const char *method)
{
    struct MHD_Connection *connection = request->connection;
    size_t prefix = sizeof(api_prefix) - 1;
    bool api = strncmp(path, api_prefix, prefix) == 0;
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
        return http_reply_error(connection, api, MHD_HTTP_METHOD_NOT_ALLOWED, "method-not-allowed",
                                "Only GET and HEAD.");
    const char *why = refusal(request->site, connection, path);
    if (why)
        return http_reply_error(connection, api, MHD_HTTP_FORBIDDEN, "forbidden", why);
    request->accepted = encoding_choose(header_get(connection, MHD_HTTP_HEADER_ACCEPT_ENCODING));
    return api ? answer_api(request, path + prefix) : answer_page(request, path);
}

static Request *request_new(HttpSite *site, struct MHD_Connection *connection)
{
    Request *request = calloc(1, sizeof(*request));
    if (request)
        *request = (Request){.site = site, .connection = connection};
    return request;
}

enum MHD_Result http_request_answer(void *site, struct MHD_Connection *connection, const char *url,
                                    const char *method, const char *version,
                                    const char *upload_data, size_t *upload_data_size,
                                    void **request)
{
    Request *known = *request;
    (void)version;
    (void)upload_data;
    if (!known) {
        *request = request_new(site, connection);
        return *request ? MHD_YES : MHD_NO;
    }
    if (*upload_data_size)
        return MHD_NO; /* nobody is asked for a body: hang up rather than read it */
    return known->state == REQUEST_NEW ? answer_new(known, url, method) : send_computed(known);
}

void http_request_completed(void *site, struct MHD_Connection *connection, void **request,
                            enum MHD_RequestTerminationCode code)
{
    Request *known = *request;
    (void)site;
    (void)connection;
    (void)code;
    if (!known)
        return;
    if (known->reply.file)
        fclose(known->reply.file);
    free(known->reply.body);
    free(known->reply.file_name);
    http_query_free(known->query);
    free(known);
    *request = NULL;
}
