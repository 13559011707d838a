// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdint.h>

#include "web/hub.h"

/*
 * The HTTP server of `memhawk view`. In this order:
 *
 *     server_new()      takes the address, so that a busy port is told before a file is read
 *     hub_new()         with server_notify and the server
 *     server_start()
 *     server_stop()     ends all connections and threads
 *     hub_free()
 *     server_free()
 *
 * A caller blocks the signals that it waits for before server_new(): threads inherit the mask.
 */

typedef struct Server Server;

enum { SERVER_IDLE_SECONDS = 60 };

typedef struct ServerOptions {
    const char *address; /* NULL: 127.0.0.1; see listen.h */
    uint16_t port;       /* 0: a free one */
    /* a connection that says nothing for so long is closed, streams and requests that are being
     * answered are not; 0: SERVER_IDLE_SECONDS */
    unsigned idle_seconds;
    /* called, by a thread of the server, for each request with the token; may be NULL */
    void (*visited)(void *context);
    void *context;
} ServerOptions;

/* Errors as of listen_open(), -ENOMEM, -ENOSYS (no random bytes). Raises the limit of open files.
 */
int server_new(const ServerOptions *options, Server **ret_server);
/* "http://127.0.0.1:41234/?token=..."; owned by the server. */
const char *server_url(const Server *server);
/* The same page for the command line of a browser, which other users of the machine can read: holds
 * no token, works once and for a minute from server_new(). */
const char *server_open_url(const Server *server);
uint16_t server_port(const Server *server);
/* A HubNotify; CONTEXT is the Server. */
void server_notify(void *context, HubEvent event, uint32_t id, const char *message);
/* -ENOMEM, -EMFILE, ... */
int server_start(Server *server, Hub *hub);
void server_stop(Server *server);
void server_free(Server *server);
