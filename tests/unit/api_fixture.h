// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <jansson.h>

#include "web/api.h"

/*
 * The bodies of the API without a server, for tests: a query is text as in a URL, without escapes.
 * Each function fails the running cmocka test when something does not work.
 */

/* A hub of one path, read to its end; names are those of addresses where the worker has not come
 * to them. hub_free(). */
Hub *api_fixture_hub(const char *path);
/* Waits, ten seconds at most, until all processes are read and, with `names`, have all names. */
void api_fixture_wait(Hub *hub, bool names);

/* Calls the handler of api_routes[]; the body, *ret_status may be NULL (then 200 is expected). */
json_t *api_fixture_get(Hub *hub, const char *route, const char *query, unsigned *ret_status);

/* Integer below PATH: keys and indexes with dots between, "nodes.total.0.3". */
int64_t api_fixture_int(const json_t *body, const char *path);
const json_t *api_fixture_at(const json_t *body, const char *path);

/* A socket that listens on the loopback, and its URL. */
int api_fixture_listen(char *ret_url, size_t size);
/* A thread; LISTENER points to such a socket. Answers one question with the first bytes of a large
 * file, and then a byte at a time until nobody listens. */
void *api_fixture_serve_slowly(void *listener);
