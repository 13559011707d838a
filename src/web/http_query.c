// SPDX-License-Identifier: Apache-2.0
/*
 * Parameters in an array: there are a dozen at most. What comes in is checked here once, so that
 * handlers get valid UTF-8 and strings that end where they end. No state.
 */
#include "web/http_query.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { PARAMETERS_MAX = 32 };

struct ApiQuery {
    size_t count;
    char *names[PARAMETERS_MAX], *values[PARAMETERS_MAX];
};

int http_query_new(ApiQuery **ret_query)
{
    ApiQuery *query = calloc(1, sizeof(*query));
    if (!query)
        return -ENOMEM;
    *ret_query = query;
    return 0;
}

static bool is_text(const char *text, size_t length)
{
    json_t *string = memchr(text, 0, length) ? NULL : json_stringn(text, length);
    json_decref(string);
    return string != NULL;
}

int http_query_add(ApiQuery *query, const char *name, size_t name_length, const char *value,
                   size_t value_length)
{
    if (!value) {
        value = "";
        value_length = 0;
    }
    if (!is_text(name, name_length) || !is_text(value, value_length))
        return -EINVAL;
    if (query->count == PARAMETERS_MAX)
        return -E2BIG;
    char *own_name = strndup(name, name_length), *own_value = strndup(value, value_length);
    int r = own_name && own_value ? 0 : -ENOMEM;
    if (r == 0 && api_query_get(query, own_name))
        r = -EEXIST;
    if (r < 0) {
        free(own_name);
        free(own_value);
        return r;
    }
    query->names[query->count] = own_name;
    query->values[query->count++] = own_value;
    return 0;
}

const char *api_query_get(const ApiQuery *query, const char *name)
{
    for (size_t i = 0; i < query->count; i++)
        if (strcmp(query->names[i], name) == 0)
            return query->values[i];
    return NULL;
}

void http_query_free(ApiQuery *query)
{
    if (!query)
        return;
    for (size_t i = 0; i < query->count; i++) {
        free(query->names[i]);
        free(query->values[i]);
    }
    free(query);
}
