// SPDX-License-Identifier: Apache-2.0
/* The stream of events: what a client sees, in which order, and what it need not see. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "api_fixture.h"
#include "base/clock.h"
#include "web/events.h"

#define HELLO "event: hello\ndata: {\"memhawk\":\"" MEMHAWK_VERSION "\"}\n\n"

/* A client as the server has it: paused and woken in turns. */
typedef struct Reader {
    EventClient *client;
    pthread_mutex_t mutex;
    pthread_cond_t woken;
    bool paused;
    unsigned pauses, wakes;
} Reader;

static void pause_reader(void *context)
{
    Reader *reader = context;
    pthread_mutex_lock(&reader->mutex);
    assert_false(reader->paused);
    reader->paused = true;
    reader->pauses++;
    pthread_mutex_unlock(&reader->mutex);
}

static void wake_reader(void *context)
{
    Reader *reader = context;
    pthread_mutex_lock(&reader->mutex);
    assert_true(reader->paused);
    reader->paused = false;
    reader->wakes++;
    pthread_cond_signal(&reader->woken);
    pthread_mutex_unlock(&reader->mutex);
}

static void reader_init(Events *events, Reader *reader)
{
    *reader = (Reader){0};
    pthread_mutex_init(&reader->mutex, NULL);
    pthread_cond_init(&reader->woken, NULL);
    assert_int_equal(events_client_new(events, pause_reader, wake_reader, reader, &reader->client),
                     0);
}

static void reader_done(Reader *reader)
{
    events_client_free(reader->client);
    pthread_cond_destroy(&reader->woken);
    pthread_mutex_destroy(&reader->mutex);
}

/* All that there is, until the client is paused, in pieces of CAPACITY. */
static void check_text(Reader *reader, size_t capacity, const char *want)
{
    char text[4000];
    size_t size = 0;
    ssize_t n;
    while ((n = events_take(reader->client, text + size, capacity)) > 0) {
        size += (size_t)n;
        assert_true(size + capacity < sizeof(text));
    }
    text[size] = 0;
    assert_int_equal(n, 0);
    assert_true(reader->paused);
    assert_string_equal(text, want);
}

static Hub *empty_hub(void)
{
    char path[] = "/tmp/test_events_XXXXXX";
    const char *paths[] = {path};
    const HubOptions options = {.paths = paths, .path_count = 1};
    Hub *hub;
    size_t bad;
    assert_non_null(mkdtemp(path));
    assert_int_equal(hub_new(&options, &hub, &bad), 0);
    rmdir(path);
    return hub;
}

static int setup(void **state)
{
    Events *events;
    Hub *hub = empty_hub();
    static void *both[2];
    assert_int_equal(events_new(&events), 0);
    events_attach(events, hub);
    both[0] = events;
    both[1] = hub;
    *state = both;
    return 0;
}

static int teardown(void **state)
{
    void **both = *state;
    events_stop(both[0]);
    events_free(both[0]);
    hub_free(both[1]);
    return 0;
}

static void test_only_the_newest_in_order(void **state)
{
    Events *events = *(void **)*state;
    Reader early, late;
    reader_init(events, &early);
    check_text(&early, 100, HELLO);
    events_notify(events, HUB_TROUBLE, 1, "one");
    assert_false(early.paused);
    events_notify(events, HUB_TROUBLE, 2, "two");
    events_notify(events, HUB_PROCESSES, 0, NULL);
    events_notify(events, HUB_TROUBLE, 1, "one again");
    assert_int_equal(early.wakes, 1); /* it runs already */
    reader_init(events, &late);
    events_notify(events, HUB_TROUBLE, 3, "\"three\"\n\xff");
    check_text(&early, 100,
               "event: trouble\ndata: {\"id\":2,\"message\":\"two\"}\n\n"
               "event: processes\ndata: {}\n\n"
               "event: trouble\ndata: {\"id\":1,\"message\":\"one again\"}\n\n"
               "event: trouble\ndata: {\"id\":3,\"message\":\"\\\"three\\\"\\n\xef\xbf\xbd\"}\n\n");
    check_text(&late, 1, /* only what came after it */
               HELLO
               "event: trouble\ndata: {\"id\":3,\"message\":\"\\\"three\\\"\\n\xef\xbf\xbd\"}\n\n");
    assert_int_equal(early.pauses, 2);
    reader_done(&early);
    events_notify(events, HUB_PROCESSES, 0, NULL);
    check_text(&late, 7, "event: processes\ndata: {}\n\n");
    reader_done(&late);
    /* the latest of a time without clients is not for the next one */
    events_notify(events, HUB_PROCESSES, 0, NULL);
    reader_init(events, &late);
    check_text(&late, 1000, HELLO);
    reader_done(&late);
}

static void test_unknown_processes_are_silent(void **state)
{
    Events *events = *(void **)*state;
    Reader reader;
    reader_init(events, &reader);
    check_text(&reader, 100, HELLO);
    events_notify(events, HUB_SNAPSHOT, 4711, NULL);
    events_notify(events, HUB_ENDED, UINT32_MAX, NULL);
    events_notify(events, HUB_TROUBLE, UINT32_MAX, "too far");
    assert_true(reader.paused);
    reader_done(&reader);
}

/* A process with figures, from a golden file: the last snapshot as tests/golden/v1.txt has it. */
static void test_figures(void **state)
{
    Events *events;
    Reader reader;
    char text[1000];
    (void)state;
    Hub *hub = api_fixture_hub(GOLDEN_DIR "/v1.binpb");
    json_t *process = api_fixture_get(hub, "process", "id=1", NULL);
    json_t *timeline = api_fixture_get(hub, "timeline", "id=1", NULL);
    size_t last = json_array_size(api_fixture_at(timeline, "time")) - 1;
    assert_int_equal(events_new(&events), 0);
    events_attach(events, hub);
    reader_init(events, &reader);
    check_text(&reader, 100, HELLO);
    events_notify(events, HUB_SNAPSHOT, 1, NULL);
    ssize_t n = events_take(reader.client, text, sizeof(text) - 1);
    assert_true(n > 0);
    text[n] = 0;
    assert_int_equal(strncmp(text, "event: snapshot\ndata: ", 22), 0);
    json_t *data = json_loads(text + 22, JSON_DISABLE_EOF_CHECK, NULL);
    static const char *const keys[] = {"time",        "kind",        "live_bytes", "live_count",
                                       "total_bytes", "total_count", "temporary",  "overhead",
                                       "rss_bytes",   "own_bytes",   "threads"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        const json_t *column = api_fixture_at(timeline, keys[i]);
        if (api_fixture_int(data, keys[i]) != json_integer_value(json_array_get(column, last)))
            fail_msg("%s", keys[i]);
    }
    assert_int_equal(api_fixture_int(data, "snapshots"), api_fixture_int(process, "snapshots"));
    json_decref(data);
    json_decref(process);
    json_decref(timeline);
    reader_done(&reader);
    events_stop(events);
    events_free(events);
    hub_free(hub);
}

/* Names come in bursts: two messages a second, and the last state is never held back for ever. */
static void test_names_are_held_back(void **state)
{
    Events *events;
    Reader reader;
    char text[1000];
    unsigned came = 0;
    (void)state;
    Hub *hub = api_fixture_hub(GOLDEN_DIR "/v1.binpb");
    api_fixture_wait(hub, true);
    assert_int_equal(events_new(&events), 0);
    events_attach(events, hub);
    reader_init(events, &reader);
    check_text(&reader, 100, HELLO);
    uint64_t begin = clock_monotonic_ns(), last = 0;
    while (clock_monotonic_ns() - begin < UINT64_C(1800000000)) {
        if (clock_monotonic_ns() - begin < UINT64_C(1100000000))
            events_notify(events, HUB_SYMBOLS, 1, NULL);
        pthread_mutex_lock(&reader.mutex);
        bool woken = !reader.paused;
        pthread_mutex_unlock(&reader.mutex);
        while (woken && events_take(reader.client, text, sizeof(text)) > 0) {
            assert_int_equal(strncmp(text, "event: symbols\ndata: {\"id\":1,\"done\":", 36), 0);
            uint64_t now = clock_monotonic_ns();
            assert_true(!came || now - last > UINT64_C(300000000));
            last = now;
            came++;
        }
        usleep(1000);
    }
    assert_in_range(came, 3, 4); /* at 0, 0.5, 1.0 and, for the last one, 1.5 s */
    reader_done(&reader);
    events_stop(events);
    events_free(events);
    hub_free(hub);
}

static void *write_news(void *events)
{
    char message[32];
    for (int i = 1; i <= 20000; i++) {
        snprintf(message, sizeof(message), "%d", i);
        events_notify(events, HUB_TROUBLE, (uint32_t)i % 3, message);
    }
    return NULL;
}

/* Until the stream ends; the last message of each process has come by then, in order. */
static void *read_news(void *context)
{
    Reader *reader = context;
    char text[64 * 1024];
    static _Thread_local int newest[3];
    ssize_t n;
    while ((n = events_take(reader->client, text, sizeof(text) - 1)) >= 0) {
        text[n] = 0;
        for (char *at = text; (at = strstr(at, "\"id\":")); at++) {
            int id = 0, message = 0;
            assert_int_equal(sscanf(at, "\"id\":%d,\"message\":\"%d", &id, &message), 2);
            assert_true(message > newest[id]);
            newest[id] = message;
        }
        pthread_mutex_lock(&reader->mutex);
        while (reader->paused)
            pthread_cond_wait(&reader->woken, &reader->mutex);
        pthread_mutex_unlock(&reader->mutex);
    }
    return newest[0] >= 19998 && newest[1] >= 19998 && newest[2] >= 19998 ? NULL : reader;
}

static void test_many_threads(void **state)
{
    enum { READERS = 4 };
    Events *events = *(void **)*state;
    Reader readers[READERS];
    pthread_t threads[READERS], writer;
    void *failed = NULL;
    for (int i = 0; i < READERS; i++) {
        reader_init(events, &readers[i]);
        pthread_create(&threads[i], NULL, read_news, &readers[i]);
    }
    pthread_create(&writer, NULL, write_news, events);
    pthread_join(writer, NULL);
    usleep(200000);
    events_stop(events); /* wakes all */
    for (int i = 0; i < READERS; i++) {
        pthread_join(threads[i], &failed);
        assert_null(failed);
        reader_done(&readers[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_only_the_newest_in_order, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unknown_processes_are_silent, setup, teardown),
        cmocka_unit_test(test_figures),
        cmocka_unit_test(test_names_are_held_back),
        cmocka_unit_test_setup_teardown(test_many_threads, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
