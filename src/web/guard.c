// SPDX-License-Identifier: Apache-2.0
/*
 * Token, Host, Origin and Sec-Fetch-*: each is checked wherever it stands, one wrong word refuses.
 *
 *   token          keeps out other users of the machine and everybody who only guesses the port
 *   Host           keeps out pages of strangers whose name was made to point to our address
 *   Origin,        keep out requests that a stranger's page sends to our right name, even if the
 *   Sec-Fetch-*    token has become known to it
 *
 * No state but the struct, which does not change after guard_init().
 */
#include "web/guard.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <unistd.h>

enum { TOKEN_RANDOM_BYTES = 16, HTTP_PORT = 80 };

static int make_token(char ret_token[GUARD_TOKEN_BYTES])
{
    unsigned char random[TOKEN_RANDOM_BYTES];
    size_t got = 0;
    while (got < sizeof(random)) {
        ssize_t n = getrandom(random + got, sizeof(random) - got, 0);
        if (n < 0 && errno != EINTR)
            return -errno;
        got += n > 0 ? (size_t)n : 0;
    }
    for (size_t i = 0; i < sizeof(random); i++)
        snprintf(ret_token + 2 * i, 3, "%02x", random[i]);
    return 0;
}

static void add_name(Guard *guard, const char *name)
{
    if (*name && guard->name_count < GUARD_NAMES)
        snprintf(guard->names[guard->name_count++], LISTEN_HOST_BYTES, "%s", name);
}

int guard_init(const Listening *listening, Guard *ret_guard)
{
    Guard guard = {.port = listening->port, .any_address = listening->any};
    char machine[LISTEN_HOST_BYTES] = "";
    if (!listening->loopback)
        gethostname(machine, sizeof(machine) - 1);
    /* the first is the one that is printed */
    add_name(&guard, listening->name);
    if (!listening->any)
        add_name(&guard, listening->address);
    add_name(&guard, machine);
    if (listening->loopback || listening->any) {
        add_name(&guard, "localhost");
        add_name(&guard, "127.0.0.1");
        add_name(&guard, "[::1]");
    }
    int r = make_token(guard.token);
    if (r == 0)
        r = make_token(guard.ticket);
    if (r == 0)
        *ret_guard = guard;
    return r;
}

/* Reads all of OWN whatever is given. */
static bool is_same(const char own[GUARD_TOKEN_BYTES], const char *given)
{
    size_t length = given ? strnlen(given, GUARD_TOKEN_BYTES) : 0;
    unsigned char difference = (unsigned char)(length ^ (GUARD_TOKEN_BYTES - 1));
    for (size_t i = 0; i < GUARD_TOKEN_BYTES - 1; i++)
        difference |= (unsigned char)(own[i] ^ (i < length ? given[i] : 0));
    return difference == 0;
}

bool guard_token(const Guard *guard, const char *given)
{
    return is_same(guard->token, given);
}

bool guard_ticket(const Guard *guard, const char *given)
{
    return is_same(guard->ticket, given);
}

/* A numeric address cannot be anybody's name. */
static bool is_numeric(const char *host)
{
    struct in6_addr address;
    char plain[INET6_ADDRSTRLEN];
    size_t length = strlen(host);
    if (host[0] != '[')
        return inet_pton(AF_INET, host, &address) == 1;
    if (length < 3 || length - 2 >= sizeof(plain) || host[length - 1] != ']')
        return false;
    memcpy(plain, host + 1, length - 2);
    plain[length - 2] = 0;
    return inet_pton(AF_INET6, plain, &address) == 1;
}

/* Splits "name:port" and "[::1]:port"; a missing port is that of HTTP. */
static bool split_host(const char *host, char ret_name[LISTEN_HOST_BYTES], uint16_t *ret_port)
{
    const char *end = host[0] == '[' ? strchr(host, ']') : host + strcspn(host, ":");
    if (!end)
        return false;
    end += host[0] == '[';
    size_t length = (size_t)(end - host);
    if (length == 0 || length >= LISTEN_HOST_BYTES)
        return false;
    memcpy(ret_name, host, length);
    ret_name[length] = 0;
    *ret_port = HTTP_PORT;
    if (!*end)
        return true;
    size_t digits = strspn(end + 1, "0123456789");
    unsigned long port = strtoul(end + 1, NULL, 10);
    *ret_port = (uint16_t)port;
    return *end == ':' && digits > 0 && digits <= 5 && !end[1 + digits] && port <= UINT16_MAX;
}

bool guard_host(const Guard *guard, const char *host)
{
    char name[LISTEN_HOST_BYTES];
    uint16_t port;
    if (!host || !split_host(host, name, &port) || port != guard->port)
        return false;
    for (size_t i = 0; i < guard->name_count; i++)
        if (strcasecmp(name, guard->names[i]) == 0)
            return true;
    return guard->any_address && is_numeric(name);
}

bool guard_origin(const char *origin, const char *host)
{
    static const char scheme[] = "http://";
    return !origin || (strncasecmp(origin, scheme, sizeof(scheme) - 1) == 0 &&
                       strcasecmp(origin + sizeof(scheme) - 1, host) == 0);
}

bool guard_fetch(const char *site, const char *mode, bool page)
{
    if (!site || strcmp(site, "same-origin") == 0 || strcmp(site, "none") == 0)
        return true;
    return page && mode && strcmp(mode, "navigate") == 0;
}

void guard_host_text(const Guard *guard, char *ret_text, size_t size)
{
    snprintf(ret_text, size, "%s:%u", guard->names[0], guard->port);
}
