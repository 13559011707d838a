// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * The files of the page, inside of the binary: nothing is ever served from disk. Made by the build
 * from web/ (see embed_page.py).
 */
typedef struct Asset {
    const char *path; /* as asked for: "/", "/app.js" */
    const char *type;
    bool needs_token; /* the page itself: a person who lacks the token is told so */
    const unsigned char *data;
    const unsigned char *end;
} Asset;

/* NULL: no such file. */
const Asset *asset_find(const char *path);
