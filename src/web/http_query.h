// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stddef.h>

#include "web/api.h"

/* The ApiQuery of the server: parameters of one request, copied out of it, so that a handler may
 * read them on another thread. */

/* -ENOMEM. */
int http_query_new(ApiQuery **ret_query);
/* Decoded name and value (NULL: empty) with their lengths. -EINVAL: not UTF-8, or a zero byte
 * inside; -EEXIST: given before; -E2BIG: too many; -ENOMEM. */
int http_query_add(ApiQuery *query, const char *name, size_t name_length, const char *value,
                   size_t value_length);
void http_query_free(ApiQuery *query);
