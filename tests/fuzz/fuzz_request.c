// SPDX-License-Identifier: Apache-2.0
/*
 * Fuzzer of what the live page's server takes apart by hand: [kind u8][bytes]
 *
 *   0  a Host header          1  Host and Origin, a zero byte between
 *   2  Accept-Encoding        3  a query string, without escapes: parameters and selection
 *
 * Whatever is taken must be what it claims: a Host ends with our port, an Origin is our Host's, an
 * error is JSON.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "web/compress.h"
#include "web/guard.h"
#include "web/http_query.h"
#include "web/query.h"
#include "web/selection.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "%s\n", what);
    abort();
}

static void check_host(const char *host, const char *origin)
{
    static const Listening all = {.port = 8123, .any = true, .address = "0.0.0.0"};
    static const Listening one = {.port = 8123, .loopback = true, .address = "127.0.0.1"};
    static Guard guards[2];
    size_t length = strlen(host);
    if (!guards[0].port)
        need(guard_init(&all, &guards[0]) == 0 && guard_init(&one, &guards[1]) == 0, "no token");
    for (int i = 0; i < 2; i++) {
        if (!guard_host(&guards[i], host))
            continue;
        need(length > 5 && strcmp(host + length - 4, "8123") == 0, "another port");
        need(!strpbrk(host, "/@ \t?#\\%"), "not a host");
        if (i == 1)
            need(strncasecmp(host, "localhost:", 10) == 0 || strncmp(host, "127.0.0.1:", 10) == 0 ||
                     strncmp(host, "[::1]:", 6) == 0,
                 "another host");
    }
    if (origin && guard_origin(origin, host))
        need(strlen(origin) == length + 7 && strcasecmp(origin + 7, host) == 0, "another origin");
    need(!guard_token(&guards[1], host), "guessed");
}

static void check_query(char *text)
{
    ApiQuery *query;
    ApiReply reply = {0};
    Selection selection;
    uint64_t number, from_ns, to_ns;
    char *rest = NULL;
    if (http_query_new(&query) < 0)
        return;
    for (char *at = strtok_r(text, "&", &rest); at; at = strtok_r(NULL, "&", &rest)) {
        size_t name = strcspn(at, "=");
        const char *value = at[name] ? at + name + 1 : NULL;
        http_query_add(query, at, name, value, value ? strlen(value) : 0);
    }
    if (selection_parse(query, &reply, &selection))
        need(selection.from_ns <= selection.to_ns && selection.metric < METRIC_MAX, "selection");
    if (query_number(query, &reply, "limit", 2, 250000, 4000, &number))
        need(number >= 2 && number <= 250000, "limit");
    if (query_span(query, &reply, &from_ns, &to_ns))
        need(from_ns <= to_ns, "span");
    json_t *body = reply.body ? json_loads(reply.body, 0, NULL) : NULL;
    need(!reply.body || (body && reply.status == 400), "reply");
    json_decref(body);
    free(reply.body);
    http_query_free(query);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text || size == 0) {
        free(text);
        return 0;
    }
    memcpy(text, data + 1, size - 1);
    text[size - 1] = text[size] = 0; /* two: an Origin is there in any case */
    switch (data[0] % 4) {
    case 0:
        check_host(text, NULL);
        break;
    case 1:
        check_host(text, text + strlen(text) + (strlen(text) + 1 < size));
        break;
    case 2:
        need(encoding_choose(text) <= ENCODING_ZSTD, "encoding");
        break;
    default:
        check_query(text);
    }
    free(text);
    return 0;
}
