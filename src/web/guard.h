// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "web/listen.h"

/*
 * Who may ask: decisions over the words of a request, without HTTP. Pages of strangers run in the
 * same browser, so that a loopback address alone keeps nobody out.
 */

enum { GUARD_TOKEN_BYTES = 33, GUARD_NAMES = 5 };

typedef struct Guard {
    char token[GUARD_TOKEN_BYTES]; /* 128 random bits, lower-case hex */
    /* For the command line of a browser, which every user of the machine can read: stands for the
     * token once, soon. */
    char ticket[GUARD_TOKEN_BYTES];
    uint16_t port;
    bool any_address; /* we listen on all: any numeric address may be ours */
    char names[GUARD_NAMES][LISTEN_HOST_BYTES]; /* what a Host header may say, without port */
    size_t name_count;
} Guard;

/* Makes the token. Negative errno when the kernel gives no random bytes. */
int guard_init(const Listening *listening, Guard *ret_guard);

/* In a time that does not depend on what is given; NULL: no. */
bool guard_token(const Guard *guard, const char *given);
/* The same for the ticket; whether it is still valid is the caller's to know. */
bool guard_ticket(const Guard *guard, const char *given);
/* A Host header (NULL: none) names us by address or name and port: a name that an attacker let
 * point to us (DNS rebinding) is none of ours. */
bool guard_host(const Guard *guard, const char *host);
/* An Origin header (NULL: none, as with every plain GET) is our own page's. HOST as accepted. */
bool guard_origin(const char *origin, const char *host);
/* Sec-Fetch-Site and Sec-Fetch-Mode (NULL: an old browser, or none): only our own page, or a person
 * who opens the address. PAGE: it is the page itself, to which a link may lead. */
bool guard_fetch(const char *site, const char *mode, bool page);

/* Host and port for the URL to print. */
void guard_host_text(const Guard *guard, char *ret_text, size_t size);
