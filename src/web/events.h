// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "web/hub.h"

/*
 * Server-sent events (docs/API.md, events), without HTTP. What a client has not read yet is not
 * queued for it: there is one newest message per process and kind, and each client takes those that
 * it has not seen. So a slow client costs nothing and skips to what is newest.
 */

typedef struct Events Events;
typedef struct EventClient EventClient;

int events_new(Events **ret_events);
/* Ends all streams: each client is woken and then takes -1. Its thread has ended after it. */
void events_stop(Events *events);
/* After events_stop() and the end of the hub; no client may be left. */
void events_free(Events *events);

/* From here on the hub's news go out. The hub must live until events_stop(). */
void events_attach(Events *events, Hub *hub);
/* A HubNotify; CONTEXT is the Events. News before events_attach() are dropped. */
void events_notify(void *context, HubEvent event, uint32_t id, const char *message);

/*
 * A client begins with `hello` and sees what happens from now on. PAUSE and WAKE are called with
 * the lock held, in turns: events_take() pauses a client for which there is nothing, news wake it.
 */
typedef void EventSwitch(void *context);
int events_client_new(Events *events, EventSwitch *pause, EventSwitch *wake, void *context,
                      EventClient **ret_client);
void events_client_free(EventClient *client);
/* The next bytes of the stream: how many, at most CAPACITY; 0: none now, the client was paused;
 * -1: the stream is over. */
ssize_t events_take(EventClient *client, char *buffer, size_t capacity);
