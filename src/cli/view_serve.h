// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "symbol/symbol.h"
#include "web/server.h"

/* The server of the live page together with its profiles, for `view` and `run --view`. */

typedef struct ServeOptions {
    ServerOptions server;
    const char *const *paths; /* files and folders */
    size_t path_count;
    SymbolOptions symbols; /* strings must outlive it */
} ServeOptions;

typedef struct Serve {
    Server *server;
    Hub *hub;
} Serve;

/* Starts serving; the caller has blocked the signals that it waits for. 0, or a negative errno
 * after one problem line that begins with VERB. */
int serve_begin(const char *verb, const ServeOptions *options, Serve *ret_serve);
void serve_end(Serve *serve);
