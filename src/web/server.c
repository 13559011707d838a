// SPDX-License-Identifier: Apache-2.0
/*
 * libmicrohttpd on one thread with epoll moves all bytes; a few threads compute (work_queue.h), one
 * keeps time for the events. One thread for the bytes is enough for a loopback, and it makes the
 * limit of connections exact: a pool would deal them out unevenly. A connection that says nothing
 * for a while is closed, one beyond the limit at once, so idle ones cannot lock a user out for
 * long. server_stop() may be called once, by one thread.
 */
#include "web/server.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "web/http_request.h"
#include "web/listen.h"

enum {
    CONNECTIONS_MAX = 1064,
    CONNECTIONS_SPARE = 64, /* taken but not yet counted, when we refuse */
    CONNECTION_BYTES = 16 * 1024,
    FILES_WANTED = 8192,
    FILES_OF_OTHERS = 256, /* profiles, debug files, our own sockets */
    WORKERS_MIN = 2,
    WORKERS_MAX = 4,
    WAITING_MAX = 256,
};

#define TICKET_NS UINT64_C(60000000000)

struct Server {
    Listening listening;
    HttpSite site;
    struct MHD_Daemon *daemon;
    unsigned connection_limit, idle_seconds;
    atomic_uint connections;
    char url[400], open_url[400];
};

/* How many connections the limit of open files allows. */
static unsigned raise_file_limit(void)
{
    struct rlimit limit = {0};
    getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur < FILES_WANTED) {
        rlim_t before = limit.rlim_cur;
        limit.rlim_cur = limit.rlim_max < FILES_WANTED ? limit.rlim_max : FILES_WANTED;
        if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
            limit.rlim_cur = before;
    }
    if (limit.rlim_cur >= CONNECTIONS_MAX + CONNECTIONS_SPARE + FILES_OF_OTHERS)
        return CONNECTIONS_MAX;
    return limit.rlim_cur > 2 * FILES_OF_OTHERS ? (unsigned)limit.rlim_cur - FILES_OF_OTHERS
                                                : (unsigned)limit.rlim_cur / 2;
}

static unsigned worker_count(void)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores < WORKERS_MIN ? WORKERS_MIN : cores > WORKERS_MAX ? WORKERS_MAX : (unsigned)cores;
}

int server_new(const ServerOptions *options, Server **ret_server)
{
    char host[LISTEN_HOST_BYTES + 8];
    Server *server = calloc(1, sizeof(*server));
    if (!server)
        return -ENOMEM;
    server->listening.fd = -1;
    server->connection_limit = raise_file_limit();
    server->idle_seconds = options->idle_seconds ? options->idle_seconds : SERVER_IDLE_SECONDS;
    server->site.visited = options->visited;
    server->site.context = options->context;
    int r = listen_open(options->address, options->port, &server->listening);
    if (r >= 0)
        r = guard_init(&server->listening, &server->site.guard);
    if (r >= 0)
        r = events_new(&server->site.events);
    if (r >= 0)
        r = work_queue_new(worker_count(), WAITING_MAX, &server->site.queue);
    if (r < 0) {
        server_free(server);
        return r;
    }
    guard_host_text(&server->site.guard, host, sizeof(host));
    snprintf(server->url, sizeof(server->url), "http://%s/?token=%s", host,
             server->site.guard.token);
    snprintf(server->open_url, sizeof(server->open_url), "http://%s/?ticket=%s", host,
             server->site.guard.ticket);
    server->site.ticket_end_ns = clock_monotonic_ns() + TICKET_NS;
    *ret_server = server;
    return 0;
}

const char *server_url(const Server *server)
{
    return server->url;
}

const char *server_open_url(const Server *server)
{
    return server->open_url;
}

uint16_t server_port(const Server *server)
{
    return server->listening.port;
}

void server_notify(void *context, HubEvent event, uint32_t id, const char *message)
{
    events_notify(((Server *)context)->site.events, event, id, message);
}

static enum MHD_Result accept_connection(void *context, const struct sockaddr *address,
                                         socklen_t size)
{
    const Server *server = context;
    (void)address;
    (void)size;
    return atomic_load(&server->connections) < server->connection_limit ? MHD_YES : MHD_NO;
}

static void count_connection(void *context, struct MHD_Connection *connection,
                             void **connection_context, enum MHD_ConnectionNotificationCode code)
{
    Server *server = context;
    (void)connection;
    (void)connection_context;
    if (code == MHD_CONNECTION_NOTIFY_STARTED)
        atomic_fetch_add(&server->connections, 1);
    else
        atomic_fetch_sub(&server->connections, 1);
}

int server_start(Server *server, Hub *hub)
{
    server->site.hub = hub;
    events_attach(server->site.events, hub);
    server->daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, server->listening.port,
        accept_connection, server, http_request_answer, &server->site, MHD_OPTION_LISTEN_SOCKET,
        server->listening.fd, MHD_OPTION_NOTIFY_COMPLETED, http_request_completed, &server->site,
        MHD_OPTION_NOTIFY_CONNECTION, count_connection, server, MHD_OPTION_CONNECTION_LIMIT,
        server->connection_limit + CONNECTIONS_SPARE, MHD_OPTION_CONNECTION_TIMEOUT,
        server->idle_seconds, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
    if (!server->daemon)
        return errno ? -errno : -ENOMEM;
    server->listening.fd = -1; /* the daemon's now */
    return 0;
}

void server_stop(Server *server)
{
    atomic_store(&server->site.stopping, true);
    /* Nothing may be suspended when the daemon stops: first the tasks that resume connections,
     * then the streams. */
    work_queue_stop(server->site.queue);
    events_stop(server->site.events);
    if (server->daemon)
        MHD_stop_daemon(server->daemon);
    server->daemon = NULL;
}

void server_free(Server *server)
{
    if (!server)
        return;
    work_queue_free(server->site.queue);
    if (server->site.events)
        events_stop(server->site.events);
    events_free(server->site.events);
    if (server->listening.fd >= 0)
        close(server->listening.fd);
    free(server);
}
