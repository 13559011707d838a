// SPDX-License-Identifier: Apache-2.0
/*
 * One Topic per process and kind holds the newest message and the number it got when it came. The
 * topics form a list in order of that number:
 *
 *     oldest ── topic ── topic ── topic ── newest         numbers rise
 *                          ▲
 *                          └ a client that has seen up to here takes what lies to its right
 *
 * so that a take costs what is new, and nothing grows with clients or time. A thread of our own
 * sends the pings and holds back the news of names, which come in bursts, to two in a second. All
 * fields of Events, topics and clients are under `mutex`; no process is held while it is taken, and
 * what PAUSE and WAKE take comes after it.
 */
#include "web/events.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "web/event_data.h"

#define PING_NS    UINT64_C(15000000000)
#define SYMBOLS_NS UINT64_C(500000000)

enum { KINDS = HUB_TROUBLE + 1, BATCH_BYTES = 32 * 1024, PROCESSES_MAX = 1 << 20 };

static const char *const kind_names[KINDS] = {
    [HUB_PROCESSES] = "processes", [HUB_SNAPSHOT] = "snapshot", [HUB_SYMBOLS] = "symbols",
    [HUB_ENDED] = "ended",         [HUB_TROUBLE] = "trouble",
};

typedef struct Topic {
    struct Topic *older, *newer;
    uint64_t number; /* 0: never sent */
    char *data;
    HubEvent kind;
    uint32_t id;
    bool held_back; /* symbols: to be sent by our thread */
} Topic;

struct EventClient {
    Events *events;
    EventClient *previous, *next;
    EventSwitch *pause, *wake;
    void *context;
    bool paused, greeted;
    uint64_t seen, pings_seen;
    char *text; /* being taken */
    size_t size, at;
};

struct Events {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    pthread_t thread;
    bool has_thread, stopping, any_held_back;
    Hub *hub;
    EventClient *clients;
    Topic **topics; /* [id * KINDS + kind] */
    size_t topic_capacity;
    Topic *newest;
    uint64_t number, pings;
};

/* ---- topics -------------------------------------------------------------------------------- */

static Topic *topic_get(Events *events, HubEvent kind, uint32_t id)
{
    size_t index = (size_t)id * KINDS + kind;
    if (id >= PROCESSES_MAX)
        return NULL;
    if (index >= events->topic_capacity) {
        size_t capacity = (index + 1) * 2;
        Topic **grown = realloc(events->topics, capacity * sizeof(*grown));
        if (!grown)
            return NULL;
        memset(grown + events->topic_capacity, 0,
               (capacity - events->topic_capacity) * sizeof(*grown));
        events->topics = grown;
        events->topic_capacity = capacity;
    }
    if (!events->topics[index]) {
        Topic *topic = calloc(1, sizeof(*topic));
        if (!topic)
            return NULL;
        topic->kind = kind;
        topic->id = id;
        events->topics[index] = topic;
    }
    return events->topics[index];
}

static void topic_unlink(Events *events, Topic *topic)
{
    if (topic->older)
        topic->older->newer = topic->newer;
    if (topic->newer)
        topic->newer->older = topic->older;
    if (events->newest == topic)
        events->newest = topic->older;
    topic->older = topic->newer = NULL;
}

static void wake_all(Events *events)
{
    for (EventClient *client = events->clients; client; client = client->next) {
        if (!client->paused)
            continue;
        client->paused = false;
        client->wake(client->context);
    }
}

/* Takes over DATA; NULL: nothing is sent. */
static void publish(Events *events, HubEvent kind, uint32_t id, char *data)
{
    pthread_mutex_lock(&events->mutex);
    Topic *topic = data && !events->stopping ? topic_get(events, kind, id) : NULL;
    if (topic) {
        topic_unlink(events, topic);
        free(topic->data);
        topic->data = data;
        topic->number = ++events->number;
        topic->older = events->newest;
        if (events->newest)
            events->newest->newer = topic;
        events->newest = topic;
        wake_all(events);
    } else {
        free(data);
    }
    pthread_mutex_unlock(&events->mutex);
}

static void publish_process(Events *events, HubEvent kind, uint32_t id,
                            char *(*make)(const HubProcess *process))
{
    HubProcess *process = hub_glance(events->hub, id);
    if (!process)
        return;
    char *data = make(process);
    hub_release(events->hub, process);
    publish(events, kind, id, data);
}

/* ---- news of the hub ----------------------------------------------------------------------- */

static void hold_back_symbols(Events *events, uint32_t id)
{
    pthread_mutex_lock(&events->mutex);
    Topic *topic = topic_get(events, HUB_SYMBOLS, id);
    if (topic) {
        topic->held_back = events->any_held_back = true;
        pthread_cond_signal(&events->changed);
    }
    pthread_mutex_unlock(&events->mutex);
}

/* False when nobody listens: then nothing needs to be made. */
static bool has_listeners(Events *events)
{
    pthread_mutex_lock(&events->mutex);
    bool any = events->hub && events->clients && !events->stopping;
    pthread_mutex_unlock(&events->mutex);
    return any;
}

void events_notify(void *context, HubEvent event, uint32_t id, const char *message)
{
    Events *events = context;
    if (!has_listeners(events))
        return;
    switch (event) {
    case HUB_PROCESSES:
        publish(events, event, 0, strdup("{}"));
        return;
    case HUB_SNAPSHOT:
        publish_process(events, event, id, event_data_snapshot);
        return;
    case HUB_SYMBOLS:
        hold_back_symbols(events, id);
        return;
    case HUB_ENDED:
        publish_process(events, event, id, event_data_ended);
        return;
    case HUB_TROUBLE:
        publish(events, event, id, event_data_trouble(id, message));
        return;
    }
}

/* The next process whose names are held back; false: none. */
static bool next_held_back(Events *events, uint32_t *ret_id)
{
    for (size_t i = HUB_SYMBOLS; i < events->topic_capacity; i += KINDS) {
        Topic *topic = events->topics[i];
        if (topic && topic->held_back) {
            topic->held_back = false;
            *ret_id = topic->id;
            return true;
        }
    }
    return false;
}

static void send_held_back(Events *events)
{
    uint32_t id;
    events->any_held_back = false;
    while (next_held_back(events, &id)) {
        pthread_mutex_unlock(&events->mutex);
        publish_process(events, HUB_SYMBOLS, id, event_data_symbols);
        pthread_mutex_lock(&events->mutex);
    }
}

static void *keep_time(void *context)
{
    Events *events = context;
    uint64_t ping_ns = clock_monotonic_ns() + PING_NS, symbols_ns = 0;
    pthread_mutex_lock(&events->mutex);
    while (!events->stopping) {
        uint64_t now_ns = clock_monotonic_ns(), due_ns = ping_ns;
        if (now_ns >= ping_ns) {
            events->pings++;
            ping_ns = due_ns = now_ns + PING_NS;
            wake_all(events);
        }
        if (events->any_held_back && now_ns >= symbols_ns) {
            symbols_ns = now_ns + SYMBOLS_NS;
            send_held_back(events);
            continue;
        }
        if (events->any_held_back && symbols_ns < due_ns)
            due_ns = symbols_ns;
        const struct timespec due = {.tv_sec = (time_t)(due_ns / 1000000000),
                                     .tv_nsec = (long)(due_ns % 1000000000)};
        pthread_cond_timedwait(&events->changed, &events->mutex, &due);
    }
    pthread_mutex_unlock(&events->mutex);
    return NULL;
}

/* ---- clients ------------------------------------------------------------------------------- */

static const Topic *first_unseen(const Events *events, uint64_t seen)
{
    const Topic *topic = events->newest;
    if (!topic || topic->number <= seen)
        return NULL;
    while (topic->older && topic->older->number > seen)
        topic = topic->older;
    return topic;
}

/* Text of what the client has not seen, BATCH_BYTES and a message at most. */
static void write_batch(EventClient *client, FILE *out)
{
    const Events *events = client->events;
    if (!client->greeted)
        fprintf(out, "event: hello\ndata: {\"memhawk\":\"%s\"}\n\n", MEMHAWK_VERSION);
    const Topic *topic = first_unseen(events, client->seen);
    for (; topic && ftell(out) < BATCH_BYTES; topic = topic->newer) {
        fprintf(out, "event: %s\ndata: %s\n\n", kind_names[topic->kind], topic->data);
        client->seen = topic->number;
    }
    if (client->pings_seen != events->pings)
        fputs(": still here\n\n", out);
    client->greeted = true;
    client->pings_seen = events->pings;
}

/* False: no memory. */
static bool fill_text(EventClient *client)
{
    free(client->text);
    client->text = NULL;
    client->size = client->at = 0;
    FILE *out = open_memstream(&client->text, &client->size);
    if (!out)
        return false;
    write_batch(client, out);
    return fclose(out) == 0;
}

ssize_t events_take(EventClient *client, char *buffer, size_t capacity)
{
    Events *events = client->events;
    ssize_t taken = -1;
    pthread_mutex_lock(&events->mutex);
    if (!events->stopping && (client->at < client->size || fill_text(client))) {
        size_t left = client->size - client->at;
        size_t n = left < capacity ? left : capacity;
        memcpy(buffer, client->text + client->at, n);
        client->at += n;
        taken = (ssize_t)n;
        if (n == 0) {
            client->paused = true;
            client->pause(client->context);
        }
    }
    pthread_mutex_unlock(&events->mutex);
    return taken;
}

int events_client_new(Events *events, EventSwitch *pause, EventSwitch *wake, void *context,
                      EventClient **ret_client)
{
    EventClient *client = calloc(1, sizeof(*client));
    if (!client)
        return -ENOMEM;
    *client = (EventClient){.events = events, .pause = pause, .wake = wake, .context = context};
    pthread_mutex_lock(&events->mutex);
    client->seen = events->number;
    client->pings_seen = events->pings;
    client->next = events->clients;
    if (client->next)
        client->next->previous = client;
    events->clients = client;
    pthread_mutex_unlock(&events->mutex);
    *ret_client = client;
    return 0;
}

void events_client_free(EventClient *client)
{
    Events *events = client->events;
    pthread_mutex_lock(&events->mutex);
    if (client->previous)
        client->previous->next = client->next;
    else
        events->clients = client->next;
    if (client->next)
        client->next->previous = client->previous;
    pthread_mutex_unlock(&events->mutex);
    free(client->text);
    free(client);
}

/* ---- all of it ----------------------------------------------------------------------------- */

int events_new(Events **ret_events)
{
    Events *events = calloc(1, sizeof(*events));
    pthread_condattr_t monotonic;
    if (!events)
        return -ENOMEM;
    pthread_mutex_init(&events->mutex, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&events->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    int error = pthread_create(&events->thread, NULL, keep_time, events);
    events->has_thread = error == 0;
    if (error) {
        events_free(events);
        return -error;
    }
    *ret_events = events;
    return 0;
}

void events_attach(Events *events, Hub *hub)
{
    pthread_mutex_lock(&events->mutex);
    events->hub = hub;
    pthread_mutex_unlock(&events->mutex);
}

void events_stop(Events *events)
{
    pthread_mutex_lock(&events->mutex);
    events->stopping = true;
    wake_all(events);
    pthread_cond_signal(&events->changed);
    pthread_mutex_unlock(&events->mutex);
    if (events->has_thread)
        pthread_join(events->thread, NULL);
    events->has_thread = false;
}

void events_free(Events *events)
{
    if (!events)
        return;
    for (size_t i = 0; i < events->topic_capacity; i++) {
        if (events->topics[i])
            free(events->topics[i]->data);
        free(events->topics[i]);
    }
    free(events->topics);
    pthread_cond_destroy(&events->changed);
    pthread_mutex_destroy(&events->mutex);
    free(events);
}
