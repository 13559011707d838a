// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

#include "web/hub.h"

/*
 * The bodies of the JSON API (docs/API.md), without HTTP: the server finds the route, checks token,
 * Host and method, and calls the handler on one of its threads; several run at once. A handler
 * takes the locks it needs (hub.h), reads the query, fills the reply.
 */

typedef struct ApiQuery ApiQuery; /* implemented by the server, and by tests */

/* Decoded value of a query parameter, valid UTF-8; NULL: not given. Owned by the query. */
const char *api_query_get(const ApiQuery *query, const char *name);

typedef struct ApiReply {
    unsigned status;  /* HTTP status; 200 when a handler leaves it alone */
    const char *type; /* static; NULL: application/json */
    char *body;       /* malloc'd, the server frees it */
    size_t size;
    FILE *file;      /* instead of a body: its first SIZE bytes; the server closes it. NULL: none */
    char *file_name; /* malloc'd; download: name of the attachment. NULL: none */
} ApiReply;

/* 0 (also when the reply is an error that the handler made by api_fail()) or a negative errno,
 * which becomes a 500. */
typedef int ApiHandler(Hub *hub, const ApiQuery *query, ApiReply *ret_reply);

typedef struct ApiRoute {
    const char *name; /* "flame" for /api/v1/flame */
    ApiHandler *handle;
} ApiRoute;
extern const ApiRoute api_routes[]; /* ends with a NULL name */

/* Makes an error body: CODE as in docs/API.md. Returns 0 or -ENOMEM. */
int api_fail(ApiReply *reply, unsigned status, const char *code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Takes over VALUE (NULL: -ENOMEM) and makes it the body, compact. */
int api_reply_json(ApiReply *reply, json_t *value);

ApiHandler api_processes, api_process, api_windows, api_download; /* api_processes.c, ... */
ApiHandler api_timeline, api_flame, api_functions, api_series, api_compare;
