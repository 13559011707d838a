// SPDX-License-Identifier: Apache-2.0
/*
 * Opens the listening socket ourselves rather than in libmicrohttpd: so that each way to fail has
 * its errno, before anything else has been started, and the free port that the kernel chose is
 * known. A host name is looked up; its first address that can be bound is taken. No state.
 */
#include "web/listen.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    BACKLOG = 512,
    SEND_BYTES = 128 * 1024, /* for each connection: what a slow reader can hold, and how stale */
};

typedef union AnyAddress {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_storage storage;
} AnyAddress;

/* Without the brackets that URLs have around IPv6 addresses. */
static int strip_brackets(const char *address, char *ret_host, size_t size)
{
    size_t length = strlen(address);
    if (length >= 2 && address[0] == '[' && address[length - 1] == ']') {
        address++;
        length -= 2;
    }
    if (length == 0 || length >= size)
        return -EINVAL;
    memcpy(ret_host, address, length);
    ret_host[length] = 0;
    return 0;
}

static int bind_one(const struct addrinfo *info)
{
    int on = 1, off = 0, send_bytes = SEND_BYTES;
    int fd = socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    /* a page that was just closed leaves connections in TIME_WAIT */
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send_bytes, sizeof(send_bytes));
    if (info->ai_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    if (bind(fd, info->ai_addr, info->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    int r = -errno;
    close(fd);
    return r;
}

static bool is_loopback(const AnyAddress *address)
{
    return address->any.sa_family == AF_INET6
               ? IN6_IS_ADDR_LOOPBACK(&address->v6.sin6_addr)
               : ntohl(address->v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

static bool is_any(const AnyAddress *address)
{
    return address->any.sa_family == AF_INET6 ? IN6_IS_ADDR_UNSPECIFIED(&address->v6.sin6_addr)
                                              : address->v4.sin_addr.s_addr == INADDR_ANY;
}

/* What the kernel has bound. */
static int describe(Listening *listening)
{
    AnyAddress bound = {0};
    socklen_t size = sizeof(bound);
    char host[LISTEN_HOST_BYTES - 2];
    if (getsockname(listening->fd, &bound.any, &size) < 0)
        return -errno;
    if (getnameinfo(&bound.any, size, host, sizeof(host), NULL, 0, NI_NUMERICHOST) != 0)
        return -EINVAL;
    bool v6 = bound.any.sa_family == AF_INET6;
    listening->port = ntohs(v6 ? bound.v6.sin6_port : bound.v4.sin_port);
    listening->loopback = is_loopback(&bound);
    listening->any = is_any(&bound);
    snprintf(listening->address, sizeof(listening->address), v6 ? "[%s]" : "%s", host);
    return 0;
}

static int lookup(const char *host, uint16_t port, int flags, struct addrinfo **ret_list)
{
    char service[8];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV | flags};
    snprintf(service, sizeof(service), "%u", port);
    return getaddrinfo(host, service, &hints, ret_list) == 0 ? 0 : -EINVAL;
}

int listen_open(const char *address, uint16_t port, Listening *ret_listening)
{
    Listening listening = {.fd = -1};
    struct addrinfo *list = NULL;
    char host[LISTEN_HOST_BYTES];
    int r = strip_brackets(address ? address : "127.0.0.1", host, sizeof(host));
    if (r < 0)
        return r;
    r = lookup(host, port, AI_NUMERICHOST, &list);
    if (r < 0) {
        snprintf(listening.name, sizeof(listening.name), "%s", host);
        r = lookup(host, port, 0, &list);
    }
    if (r < 0)
        return r;
    for (const struct addrinfo *info = list; info && listening.fd < 0; info = info->ai_next)
        listening.fd = r = bind_one(info);
    freeaddrinfo(list);
    if (r < 0)
        return r;
    r = describe(&listening);
    if (r < 0)
        close(listening.fd);
    else
        *ret_listening = listening;
    return r;
}
