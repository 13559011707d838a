// SPDX-License-Identifier: Apache-2.0
#include "api_fixture.h"

#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

struct ApiQuery {
    char text[1000];
    const char *names[40], *values[40];
    size_t count;
};

const char *api_query_get(const ApiQuery *query, const char *name)
{
    for (size_t i = 0; i < query->count; i++)
        if (strcmp(query->names[i], name) == 0)
            return query->values[i];
    return NULL;
}

static void query_make(const char *text, ApiQuery *query)
{
    char *rest = NULL;
    assert_true(strlen(text) < sizeof(query->text));
    strcpy(query->text, text);
    query->count = 0;
    for (char *at = strtok_r(query->text, "&", &rest); at; at = strtok_r(NULL, "&", &rest)) {
        char *value = strchr(at, '=');
        assert_non_null(value);
        *value++ = '\0';
        query->names[query->count] = at;
        query->values[query->count++] = value;
    }
}

void api_fixture_wait(Hub *hub, bool names)
{
    uint32_t ids[1000];
    bool ready = false;
    for (int tries = 0; !ready && tries < 10000; tries++) {
        size_t count = hub_list(hub, ids, 1000);
        ready = true;
        for (size_t i = 0; i < count && i < 1000; i++) {
            HubProcess *process = hub_acquire(hub, ids[i]);
            ready = ready && process->loaded >= 1 &&
                    (!names || process->symbols_done == process->symbols_all);
            hub_release(hub, process);
        }
        if (!ready)
            usleep(1000);
    }
    assert_true(ready);
}

Hub *api_fixture_hub(const char *path)
{
    HubOptions options = {.paths = &path, .path_count = 1, .symbols = {.no_disk_cache = true}};
    size_t bad;
    Hub *hub;
    assert_int_equal(hub_new(&options, &hub, &bad), 0);
    api_fixture_wait(hub, false);
    return hub;
}

json_t *api_fixture_get(Hub *hub, const char *route, const char *query_text, unsigned *ret_status)
{
    ApiQuery query;
    ApiReply reply = {.status = 200};
    json_error_t error;
    const ApiRoute *found = api_routes;
    while (found->name && strcmp(found->name, route) != 0)
        found++;
    assert_non_null(found->name);
    query_make(query_text, &query);
    assert_int_equal(found->handle(hub, &query, &reply), 0);
    json_t *body = json_loadb(reply.body, reply.size, 0, &error);
    if (!body)
        fail_msg("%s?%s: %s at %d", route, query_text, error.text, error.position);
    if (ret_status)
        *ret_status = reply.status;
    else if (reply.status != 200)
        fail_msg("%s?%s: %u %.*s", route, query_text, reply.status, (int)reply.size, reply.body);
    free(reply.body);
    free(reply.file_name);
    return body;
}

const json_t *api_fixture_at(const json_t *body, const char *path)
{
    char text[200], *rest = NULL;
    const json_t *at = body;
    assert_true(strlen(path) < sizeof(text));
    strcpy(text, path);
    for (char *key = strtok_r(text, ".", &rest); key; key = strtok_r(NULL, ".", &rest))
        at = json_is_array(at) ? json_array_get(at, strtoul(key, NULL, 10))
                               : json_object_get(at, key);
    if (!at)
        fail_msg("nothing at %s", path);
    return at;
}

int64_t api_fixture_int(const json_t *body, const char *path)
{
    const json_t *value = api_fixture_at(body, path);
    if (!json_is_integer(value))
        fail_msg("%s is no integer", path);
    return json_integer_value(value);
}

void *api_fixture_serve_slowly(void *context)
{
    static const char head[] = "HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n\x7f"
                               "ELF";
    int listener = *(int *)context, client = accept(listener, NULL, NULL);
    char question[4096];
    if (client < 0 || read(client, question, sizeof(question)) <= 0)
        return NULL;
    for (ssize_t n = send(client, head, sizeof(head) - 1, MSG_NOSIGNAL); n > 0; usleep(20000))
        n = send(client, "x", 1, MSG_NOSIGNAL);
    close(client);
    return NULL;
}

int api_fixture_listen(char *ret_url, size_t size)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t bytes = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, bytes), 0);
    assert_int_equal(listen(listener, 5), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &bytes), 0);
    snprintf(ret_url, size, "http://127.0.0.1:%d/", ntohs(address.sin_port));
    return listener;
}
