// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The socket that the server listens on. */

enum { LISTEN_HOST_BYTES = 256 };

typedef struct Listening {
    int fd;
    uint16_t port;                   /* the one that was taken when 0 was asked for */
    bool loopback;                   /* only this machine gets in */
    bool any;                        /* all addresses of the machine */
    char address[LISTEN_HOST_BYTES]; /* numeric, as in a Host header: "127.0.0.1", "[::1]" */
    char name[LISTEN_HOST_BYTES];    /* as asked for, "" when that was numeric */
} Listening;

/*
 * ADDRESS: numeric ("192.0.2.1", "::", "[::1]") or a host name; NULL: 127.0.0.1. PORT 0: a free
 * one. -EINVAL: no such address or name; -EADDRINUSE, -EADDRNOTAVAIL (not of this machine),
 * -EACCES. The caller closes fd.
 */
int listen_open(const char *address, uint16_t port, Listening *ret_listening);
