// SPDX-License-Identifier: Apache-2.0
/*
 * The hub on real files that grow record by record, half a record at a time, are replaced,
 * shortened or removed, and appear by the hundred; names that come; processes that are killed. Runs
 * under ThreadSanitizer too, with readers beside the hub's own threads.
 */
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "api_fixture.h"
#include "base/clock.h"
#include "profile_fixture.h"
#include "web/fair_lock.h"

#define MS         UINT64_C(1000000)
#define PATIENCE   (20000 * MS) /* for what must happen, on a busy machine */
#define QUIET_MS   150          /* in which what must not happen would have */
#define START_TEXT "startTimestamp: 1000"

/* ---- records -------------------------------------------------------------------------------- */

typedef struct Record {
    char *bytes;
    size_t size;
} Record;

/* Made once by protoc and zstd: process, three snapshots of stack 1, an end. */
enum { PROCESS, FIRST, SECOND, THIRD, END, RECORDS };
static Record records[RECORDS];
static char folder[64];

static Record record_make(const char *description)
{
    char path[64];
    struct stat st;
    fixture_make("memhawk", description, path);
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    assert_int_equal(fstat(fileno(in), &st), 0);
    Record record = {malloc((size_t)st.st_size), (size_t)st.st_size};
    assert_int_equal(fread(record.bytes, 1, record.size, in), record.size);
    fclose(in);
    unlink(path);
    return record;
}

#define SNAPSHOT(time, bytes)                                                                      \
    "=== Snapshot\ntimestamp: " #time "\nchanged { traceId: 1 actual { size: " #bytes              \
    " active: 1 totalBytes: " #bytes " totalCount: 1 } }\n"

static int setup(void **state)
{
    (void)state;
    static const char *const texts[RECORDS] = {
        "=== ProcessInfo\nprocessShortName: \"x\" pid: 999999999 " START_TEXT " formatVersion: 1\n",
        SNAPSHOT(2000, 10) "ptrIds { ptrId: 1 ptrAddr: 16 }\n"
                           "stacktraces { traceId: 1 ptrId: 1 }\n",
        SNAPSHOT(3000, 20),
        SNAPSHOT(4000, 30),
        SNAPSHOT(5000, 40) "end { reason: 1 status: 3 }\n",
    };
    for (int i = 0; i < RECORDS; i++)
        records[i] = record_make(texts[i]);
    strcpy(folder, "/tmp/memhawk-test-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int teardown(void **state)
{
    char command[100];
    (void)state;
    for (int i = 0; i < RECORDS; i++)
        free(records[i].bytes);
    snprintf(command, sizeof(command), "rm -r '%s'", folder);
    return system(command);
}

static void append(const char *path, const char *bytes, size_t size)
{
    FILE *out = fopen(path, "ab");
    assert_non_null(out);
    assert_int_equal(fwrite(bytes, 1, size, out), size);
    assert_int_equal(fclose(out), 0);
}

static void put(const char *path, int record)
{
    append(path, records[record].bytes, records[record].size);
}

static const char *path_of(const char *name)
{
    static char paths[16][200];
    static unsigned next;
    char *path = paths[next++ % 16];
    snprintf(path, 200, "%s/%s", folder, name);
    return path;
}

/* ---- events --------------------------------------------------------------------------------- */

typedef struct Events {
    pthread_mutex_t lock;
    pthread_cond_t more;
    unsigned count[HUB_TROUBLE + 1];
    uint32_t last_id[HUB_TROUBLE + 1];
    char message[400];
} Events;

static Events events;

static void take_event(void *context, HubEvent event, uint32_t id, const char *message)
{
    (void)context;
    pthread_mutex_lock(&events.lock);
    events.count[event]++;
    events.last_id[event] = id;
    if (message)
        snprintf(events.message, sizeof(events.message), "%s", message);
    pthread_cond_broadcast(&events.more);
    pthread_mutex_unlock(&events.lock);
}

static unsigned events_so_far(HubEvent event)
{
    pthread_mutex_lock(&events.lock);
    unsigned count = events.count[event];
    pthread_mutex_unlock(&events.lock);
    return count;
}

/* Until there were COUNT of them; returns the id of the last. */
static uint32_t wait_event(HubEvent event, unsigned count)
{
    uint64_t end = clock_wall_ns() + PATIENCE;
    struct timespec time = {(time_t)(end / 1000000000), (long)(end % 1000000000)};
    int r = 0;
    pthread_mutex_lock(&events.lock);
    while (events.count[event] < count && r == 0)
        r = pthread_cond_timedwait(&events.more, &events.lock, &time);
    uint32_t id = events.last_id[event];
    unsigned got = events.count[event];
    pthread_mutex_unlock(&events.lock);
    if (got < count)
        fail_msg("event %d: %u of %u", event, got, count);
    return id;
}

static Hub *hub_of(const char *path)
{
    HubOptions options = {
        .paths = &path, .path_count = 1, .symbols = {.no_disk_cache = true}, .notify = take_event};
    size_t bad;
    Hub *hub;
    memset(&events.count, 0, sizeof(events.count));
    assert_int_equal(hub_new(&options, &hub, &bad), 0);
    return hub;
}

static size_t listed(Hub *hub)
{
    return hub_list(hub, NULL, 0);
}

static size_t snapshots_of(Hub *hub, uint32_t id)
{
    HubProcess *process = hub_acquire(hub, id);
    assert_non_null(process);
    size_t count = process->profile ? profile_snapshot_count(process->profile) : 0;
    hub_release(hub, process);
    return count;
}

static bool is_deleted(Hub *hub, uint32_t id)
{
    HubProcess *process = hub_acquire(hub, id);
    assert_non_null(process);
    bool deleted = process->file_deleted;
    hub_release(hub, process);
    return deleted;
}

static int64_t live_of(Hub *hub, uint32_t id)
{
    HubProcess *process = hub_acquire(hub, id);
    assert_non_null(process);
    size_t count = profile_snapshot_count(process->profile);
    int64_t live = profile_snapshot(process->profile, count - 1)->total.v[METRIC_LIVE_BYTES];
    hub_release(hub, process);
    return live;
}

/* Until the hub has COUNT processes, and the last of them that many live bytes. */
static void wait_live(Hub *hub, uint32_t count, int64_t bytes)
{
    for (int i = 0; i < 2000; i++) {
        if (listed(hub) >= count && snapshots_of(hub, count) && live_of(hub, count) == bytes)
            return;
        usleep(10000);
    }
    fail_msg("%zu processes, %u wanted", listed(hub), count);
}

/* ---- growing -------------------------------------------------------------------------------- */

static void test_grows(void **state)
{
    (void)state;
    const char *path = path_of("grows.binpb");
    put(path, PROCESS);
    put(path, FIRST);
    Hub *hub = hub_of(path);
    assert_int_equal(listed(hub), 1);
    assert_int_equal(snapshots_of(hub, 1), 1);
    unsigned before = events_so_far(HUB_SNAPSHOT);

    append(path, records[SECOND].bytes, 9);
    usleep(QUIET_MS * 1000);
    assert_int_equal(events_so_far(HUB_SNAPSHOT), before);
    assert_int_equal(snapshots_of(hub, 1), 1);
    append(path, records[SECOND].bytes + 9, records[SECOND].size - 9);
    assert_int_equal(wait_event(HUB_SNAPSHOT, before + 1), 1);
    assert_int_equal(snapshots_of(hub, 1), 2);
    assert_int_equal(live_of(hub, 1), 20);

    uint64_t written = clock_monotonic_ns();
    put(path, THIRD);
    wait_event(HUB_SNAPSHOT, before + 2);
    print_message("a snapshot was told of after %.1f ms\n",
                  (double)(clock_monotonic_ns() - written) / 1e6);
    assert_true(clock_monotonic_ns() - written < 900 * MS); /* not by the poll of each second */
    assert_int_equal(live_of(hub, 1), 30);

    HubProcess *process = hub_acquire(hub, 1);
    uint64_t version = process->version;
    const uint32_t *labels;
    assert_int_equal(labels_path(process->labels[GRANULARITY_LINE], 0, &labels), 1);
    hub_release(hub, process);
    put(path, END);
    assert_int_equal(wait_event(HUB_ENDED, 1), 1);
    process = hub_acquire(hub, 1);
    assert_false(process->running);
    assert_true(process->version > version);
    assert_true(profile_is_ended(process->profile));
    hub_release(hub, process);
    assert_int_equal(events_so_far(HUB_TROUBLE), 0);
    hub_free(hub);
    unlink(path);
}

static void test_paths(void **state)
{
    (void)state;
    const char *paths[] = {folder, "/nonexistent/x.binpb"};
    HubOptions options = {.paths = paths, .path_count = 2};
    size_t bad = 0;
    Hub *hub = NULL;
    assert_int_equal(hub_new(&options, &hub, &bad), -ENOENT);
    assert_int_equal(bad, 1);
    assert_null(hub);
    hub = hub_of(folder);
    const char *const *folders;
    assert_int_equal(hub_folders(hub, &folders), 1);
    assert_string_equal(folders[0], folder);
    assert_null(hub_acquire(hub, 0));
    assert_null(hub_acquire(hub, 1));
    hub_free(hub);
}

/* ---- coming, going, replaced ---------------------------------------------------------------- */

static void test_appears(void **state)
{
    (void)state;
    Hub *hub = hub_of(folder);
    assert_int_equal(listed(hub), 0);
    const char *path = path_of("new.binpb");
    put(path_of("other.txt"), PROCESS);
    append(path, records[PROCESS].bytes, 5);
    usleep(QUIET_MS * 1000);
    assert_int_equal(listed(hub), 0);
    append(path, records[PROCESS].bytes + 5, records[PROCESS].size - 5);
    wait_event(HUB_PROCESSES, 1);
    assert_int_equal(listed(hub), 1);
    put(path, FIRST);
    uint32_t id = wait_event(HUB_SNAPSHOT, 1);
    assert_int_equal(snapshots_of(hub, id), 1);

    /* moved in as a whole */
    const char *outside = path_of("whole.part"), *inside = path_of("whole.binpb");
    unsigned lists = events_so_far(HUB_PROCESSES);
    put(outside, PROCESS);
    put(outside, FIRST);
    put(outside, END);
    assert_int_equal(rename(outside, inside), 0);
    wait_event(HUB_PROCESSES, lists + 1);
    wait_event(HUB_ENDED, 1);
    assert_int_equal(listed(hub), 2);

    /* what is no profile is told after a second, and is one when it becomes one */
    const char *bad = path_of("bad.binpb");
    lists = events_so_far(HUB_PROCESSES);
    append(bad, "rubbish, no profile", 19);
    wait_event(HUB_PROCESSES, lists + 1);
    assert_int_equal(listed(hub), 3);
    uint32_t ids[3];
    hub_list(hub, ids, 3);
    HubProcess *process = hub_acquire(hub, ids[2]); /* broken ones last */
    assert_null(process->profile);
    assert_non_null(process->message);
    hub_release(hub, process);
    assert_int_equal(truncate(bad, 0), 0);
    put(bad, PROCESS);
    lists = events_so_far(HUB_PROCESSES);
    put(bad, FIRST);
    for (int i = 0; i < 2000 && snapshots_of(hub, ids[2]) == 0; i++)
        usleep(10000);
    assert_int_equal(snapshots_of(hub, ids[2]), 1);
    hub_free(hub);
    unlink(path);
    unlink(inside);
    unlink(bad);
}

static void test_replaced(void **state)
{
    (void)state;
    const char *path = path_of("replaced.binpb"), *other = path_of("replaced.part");
    put(path, PROCESS);
    put(path, FIRST);
    put(other, PROCESS);
    put(other, FIRST);
    put(other, SECOND);
    Hub *hub = hub_of(path);
    assert_int_equal(rename(other, path), 0);
    assert_int_equal(wait_event(HUB_TROUBLE, 1), 1);
    assert_non_null(strstr(events.message, "another file"));
    wait_live(hub, 2, 20);
    assert_int_equal(listed(hub), 2);
    assert_int_equal(live_of(hub, 1), 10); /* stays readable */
    HubProcess *process = hub_acquire(hub, 1);
    assert_non_null(process->message);
    hub_release(hub, process);
    put(path, THIRD);
    for (int i = 0; i < 2000 && live_of(hub, 2) != 30; i++)
        usleep(10000);
    assert_int_equal(live_of(hub, 2), 30);
    assert_int_equal(live_of(hub, 1), 10);

    /* shortened: the same file, but another profile */
    assert_int_equal(truncate(path, 3), 0);
    assert_int_equal(wait_event(HUB_TROUBLE, 2), 2);
    assert_int_equal(truncate(path, 0), 0);
    put(path, PROCESS);
    put(path, FIRST);
    put(path, END);
    wait_live(hub, 3, 40);
    hub_free(hub);
    unlink(path);
}

static void test_removed(void **state)
{
    (void)state;
    const char *path = path_of("removed.binpb");
    put(path, PROCESS);
    put(path, FIRST);
    Hub *hub = hub_of(folder);
    assert_int_equal(listed(hub), 1);
    assert_false(is_deleted(hub, 1));
    unsigned lists = events_so_far(HUB_PROCESSES);
    FILE *writer = fopen(path, "ab"); /* goes on when nothing has that name any more */
    uint64_t removed = clock_monotonic_ns();
    assert_int_equal(unlink(path), 0);
    wait_event(HUB_PROCESSES, lists + 1);
    assert_true(clock_monotonic_ns() - removed < 900 * MS); /* not by the poll of each second */
    assert_true(is_deleted(hub, 1));
    assert_int_equal(listed(hub), 1);
    assert_int_equal(live_of(hub, 1), 10);
    assert_int_equal(fwrite(records[SECOND].bytes, 1, records[SECOND].size, writer),
                     records[SECOND].size);
    assert_int_equal(fclose(writer), 0);
    wait_live(hub, 1, 20);
    assert_true(is_deleted(hub, 1));
    assert_int_equal(events_so_far(HUB_PROCESSES), lists + 1); /* told once */
    assert_int_equal(events_so_far(HUB_TROUBLE), 0);
    /* another run under the same name */
    put(path, PROCESS);
    put(path, FIRST);
    put(path, SECOND);
    wait_live(hub, 2, 20);
    assert_false(is_deleted(hub, 1)); /* replaced: there is a message */
    assert_false(is_deleted(hub, 2));
    hub_free(hub);
    unlink(path);
}

/* Moved away and back, a file named itself and one in a folder. */
static void test_moved(void **state)
{
    (void)state;
    for (int in_folder = 0; in_folder < 2; in_folder++) {
        const char *path = path_of("moved.binpb"), *away = path_of("moved.away");
        put(path, PROCESS);
        put(path, FIRST);
        Hub *hub = hub_of(in_folder ? folder : path);
        for (int turn = 0; turn < 2; turn++) {
            unsigned lists = events_so_far(HUB_PROCESSES);
            assert_int_equal(rename(path, away), 0);
            wait_event(HUB_PROCESSES, lists + 1);
            assert_true(is_deleted(hub, 1));
            assert_int_equal(rename(away, path), 0);
            wait_event(HUB_PROCESSES, lists + 2);
            assert_false(is_deleted(hub, 1));
        }
        put(path, SECOND);
        wait_live(hub, 1, 20);
        assert_int_equal(listed(hub), 1);
        assert_int_equal(events_so_far(HUB_TROUBLE), 0);
        hub_free(hub);
        unlink(path);
    }
}

static void test_damage(void **state)
{
    (void)state;
    const char *path = path_of("damage.binpb");
    put(path, PROCESS);
    put(path, FIRST);
    Hub *hub = hub_of(path);
    char broken[4096];
    assert_true(records[SECOND].size < sizeof(broken));
    memcpy(broken, records[SECOND].bytes, records[SECOND].size);
    broken[records[SECOND].size - 2] ^= 0x55; /* the checksum of the zstd frame */
    append(path, broken, records[SECOND].size);
    assert_int_equal(wait_event(HUB_TROUBLE, 1), 1);
    put(path, THIRD);
    for (int i = 0; i < 2000 && snapshots_of(hub, 1) < 2; i++)
        usleep(10000);
    assert_int_equal(live_of(hub, 1), 30);
    hub_free(hub);
    unlink(path);
}

/* ---- many ----------------------------------------------------------------------------------- */

static void test_200_files(void **state)
{
    (void)state;
    enum { FILES = 200 };
    char name[40];
    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof(name), "many%d.binpb", i);
        put(path_of(name), PROCESS);
        put(path_of(name), FIRST);
    }
    Hub *hub = hub_of(folder);
    api_fixture_wait(hub, false);
    assert_int_equal(listed(hub), FILES);
    unsigned before = events_so_far(HUB_SNAPSHOT);
    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof(name), "many%d.binpb", i);
        put(path_of(name), SECOND);
    }
    wait_event(HUB_SNAPSHOT, before + FILES);
    for (uint32_t id = 1; id <= FILES; id++)
        assert_int_equal(live_of(hub, id), 20);
    HubProcess *one, *two;
    assert_true(hub_acquire_two(hub, 200, 1, &one, &two));
    assert_int_equal(one->id, 200);
    assert_int_equal(two->id, 1);
    hub_release_two(hub, one, two);
    assert_true(hub_acquire_two(hub, 7, 7, &one, &two));
    assert_ptr_equal(one, two);
    hub_release_two(hub, one, two);
    assert_false(hub_acquire_two(hub, 7, 201, &one, &two));
    hub_free(hub);
    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof(name), "many%d.binpb", i);
        unlink(path_of(name));
    }
}

/* ---- names ---------------------------------------------------------------------------------- */

static __attribute__((noinline)) uint64_t place_in_program(void)
{
    __asm__ volatile("");
    return (uintptr_t)__builtin_return_address(0);
}

__attribute__((noinline)) static uint64_t known_function(void)
{
    uint64_t place = place_in_program();
    __asm__ volatile("" : "+r"(place));
    return place;
}

static int take_bias(struct dl_phdr_info *info, size_t size, void *bias)
{
    (void)size;
    *(uint64_t *)bias = info->dlpi_addr;
    return 1;
}

static void test_names_come(void **state)
{
    (void)state;
    char self[400] = "", *text;
    uint64_t bias = 0, address = known_function();
    assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
    dl_iterate_phdr(take_bias, &bias);
    assert_true(asprintf(&text,
                         "=== Snapshot\ntimestamp: 2000\n"
                         "loadedSo { filename: \"%s\" addr: %lu moduleId: 1 }\n"
                         "loadedSo { filename: \"/opt/gone.so\" addr: 0 moduleId: 2 }\n"
                         "ptrIds { ptrId: 1 ptrAddr: %lu moduleId: 1 }\n"
                         "ptrIds { ptrId: 2 ptrAddr: 16 moduleId: 2 exact: true }\n"
                         "stacktraces { traceId: 1 ptrId: [1, 2] }\n"
                         "changed { traceId: 1 actual { size: 5 active: 1 } }\n",
                         self, bias, address) > 0);
    const char *path = path_of("names.binpb");
    Record snapshot = record_make(text);
    put(path, PROCESS);
    append(path, snapshot.bytes, snapshot.size);
    Hub *hub = hub_of(path);
    assert_int_equal(wait_event(HUB_SYMBOLS, 1), 1);
    /* all names are there, and nobody has asked for labels: so there are none */
    for (int tries = 0, done = 0; done < 2; tries++) {
        assert_true(tries < 2000);
        HubProcess *p = hub_glance(hub, 1);
        done = (int)p->symbols_done;
        for (int g = 0; g < 2; g++)
            assert_int_equal(labels_count(p->labels[g]), 0);
        hub_release(hub, p);
        usleep(done < 2 ? 10000 : 0);
    }
    api_fixture_wait(hub, true);
    for (int tries = 0, pending = 1; pending && tries < 2000; tries++) {
        HubProcess *p = hub_acquire(hub, 1);
        pending = hub_module_source(p, 1) == -EAGAIN;
        hub_release(hub, p);
        usleep(pending ? 10000 : 0);
    }
    HubProcess *process = hub_acquire(hub, 1);
    assert_int_equal(process->symbols_done, 2);
    assert_int_equal(process->symbols_all, 2);
    for (int g = 0; g < 2; g++) {
        const Labels *labels = process->labels[g];
        const uint32_t *names;
        assert_int_equal(labels_path(labels, 0, &names), 2);
        assert_string_equal(labels_get(labels, names[0])->function, "known_function");
        assert_string_equal(labels_get(labels, names[1])->function, "0x10 (in gone.so)");
        assert_true(labels_count(labels) <= 3); /* at most the address, still there, the name */
        assert_true(g == GRANULARITY_FUNCTION || labels_get(labels, names[0])->line > 0);
    }
    assert_int_equal(hub_module_source(process, 0), SYMBOL_DWARF);
    assert_int_equal(hub_module_source(process, 1), SYMBOL_NONE);
    /* an exporter asks the process's own symbolizer, which opens no file for it */
    const SymbolFrame *frames;
    assert_int_equal(symbol_resolve(process->symbolizer, process->profile, 0, &frames), 1);
    assert_string_equal(frames->function, "known_function");
    hub_release(hub, process);
    hub_free(hub);
    free(snapshot.bytes);
    free(text);
    unlink(path);
}

/* ---- a slow server -------------------------------------------------------------------------- */

/* The end of a hub waits for no download. */
static void test_slow_server(void **state)
{
    (void)state;
    const char *path = path_of("slow.binpb"), *cache = path_of("slow-cache");
    Record snapshot = record_make("=== Snapshot\ntimestamp: 2000\n"
                                  "loadedSo { filename: \"/opt/gone.so\" addr: 0 moduleId: 1 "
                                  "buildId: \"01234567890123456789\" }\n"
                                  "ptrIds { ptrId: 1 ptrAddr: 16 moduleId: 1 exact: true }\n"
                                  "stacktraces { traceId: 1 ptrId: 1 }\nchanged { traceId: 1 "
                                  "actual { size: 5 active: 1 } }\n");
    char url[100];
    pthread_t server;
    int listener = api_fixture_listen(url, sizeof(url));
    setenv("DEBUGINFOD_URLS", url, 1);
    setenv("DEBUGINFOD_CACHE_PATH", cache, 1);
    setenv("DEBUGINFOD_TIMEOUT", "60", 1);
    assert_int_equal(pthread_create(&server, NULL, api_fixture_serve_slowly, &listener), 0);
    put(path, PROCESS);
    append(path, snapshot.bytes, snapshot.size);
    HubOptions options = {
        .paths = &path, .path_count = 1, .symbols = {.no_disk_cache = true, .debuginfod = true}};
    size_t bad;
    Hub *hub;
    assert_int_equal(hub_new(&options, &hub, &bad), 0);
    usleep(1500000); /* now it waits */
    HubProcess *process = hub_acquire(hub, 1);
    assert_int_equal(process->symbols_done, 0);
    hub_release(hub, process);
    uint64_t begin = clock_monotonic_ns();
    hub_free(hub);
    uint64_t took = clock_monotonic_ns() - begin;
    print_message("it ended after %.1f s\n", (double)took / 1e9);
    assert_true(took < 10000 * MS);
    pthread_join(server, NULL);
    close(listener);
    unsetenv("DEBUGINFOD_URLS");
    unlink(path);
    free(snapshot.bytes);
}

/* ---- killed --------------------------------------------------------------------------------- */

static void test_killed(void **state)
{
    (void)state;
    char *text;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        pause();
        _exit(0);
    }
    assert_true(asprintf(&text,
                         "=== ProcessInfo\nprocessShortName: \"x\" pid: %d startTimestamp: %lu "
                         "formatVersion: 1\n",
                         (int)child, (unsigned long)clock_wall_ns()) > 0);
    Record process = record_make(text);
    const char *path = path_of("killed.binpb");
    append(path, process.bytes, process.size);
    Hub *hub = hub_of(path);
    HubProcess *p = hub_acquire(hub, 1);
    assert_true(p->running);
    hub_release(hub, p);
    unsigned lists = events_so_far(HUB_PROCESSES);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    wait_event(HUB_PROCESSES, lists + 1);
    p = hub_acquire(hub, 1);
    assert_false(p->running);
    hub_release(hub, p);
    assert_int_equal(events_so_far(HUB_ENDED), 0);
    hub_free(hub);
    free(process.bytes);
    free(text);
    unlink(path);
}

/* ---- the lock ------------------------------------------------------------------------------- */

enum { ASKERS = 6 };

static FairLock lock;
static unsigned order[ASKERS], taken; /* lock */

static void *ask(void *number)
{
    fair_lock_take(&lock);
    order[taken++] = *(unsigned *)number;
    fair_lock_drop(&lock);
    return NULL;
}

static uint64_t tickets(void)
{
    pthread_mutex_lock(&lock.mutex);
    uint64_t next = lock.next;
    pthread_mutex_unlock(&lock.mutex);
    return next;
}

static void test_fair_lock(void **state)
{
    (void)state;
    pthread_t threads[ASKERS];
    unsigned numbers[ASKERS];
    fair_lock_init(&lock);
    assert_true(fair_lock_try(&lock));
    assert_false(fair_lock_try(&lock));
    for (unsigned i = 0; i < ASKERS; i++) {
        numbers[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, ask, &numbers[i]), 0);
        while (tickets() < i + 2) /* one after the other */
            usleep(100);
    }
    assert_int_equal(taken, 0); /* ours still */
    fair_lock_drop(&lock);
    for (unsigned i = 0; i < ASKERS; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < ASKERS; i++)
        assert_int_equal(order[i], i);
    assert_true(fair_lock_try(&lock));
    fair_lock_drop(&lock);
    fair_lock_done(&lock);
}

/* ---- beside each other ---------------------------------------------------------------------- */

typedef struct Reader {
    Hub *hub;
    pthread_t thread;
    _Atomic bool stop;
    unsigned answers;
} Reader;

static void *read_on(void *context)
{
    Reader *reader = context;
    static const char *const queries[][2] = {
        {"flame", "id=1&mode=moment"}, {"flame", "id=1&mode=between&inverted=1&granularity=line"},
        {"series", "id=1&by=total"},   {"functions", "id=1&filter=0x"},
        {"timeline", "id=1"},          {"compare", "id=1&at=start&id2=1"},
    };
    while (!reader->stop) {
        const char *const *query = queries[reader->answers++ % 6];
        unsigned status;
        json_decref(api_fixture_get(reader->hub, query[0], query[1], &status));
        if (status != 200)
            break;
    }
    return NULL;
}

/* New frames, stacks and snapshots while two threads ask. */
static void test_readers(void **state)
{
    (void)state;
    enum { STEPS = 12 };
    const char *path = path_of("readers.binpb");
    put(path, PROCESS);
    put(path, FIRST);
    Hub *hub = hub_of(path);
    Reader readers[2] = {{.hub = hub}, {.hub = hub}};
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&readers[i].thread, NULL, read_on, &readers[i]), 0);
    for (int i = 0; i < STEPS; i++) {
        char text[600];
        snprintf(text, sizeof(text),
                 "=== Snapshot\ntimestamp: %d\n"
                 "loadedSo { filename: \"/opt/gone%d.so\" addr: 0 moduleId: %d }\n"
                 "ptrIds { ptrId: %d ptrAddr: %d moduleId: %d }\n"
                 "stacktraces { traceId: %d ptrId: [%d, 1] }\n"
                 "changed { traceId: %d actual { size: %d active: 1 } }\n",
                 10000 + i, i, i + 1, i + 2, 16 * i + 32, i + 1, i + 2, i + 2, i + 2, i + 1);
        Record record = record_make(text);
        append(path, record.bytes, record.size);
        free(record.bytes);
    }
    for (int i = 0; i < 2000 && snapshots_of(hub, 1) < STEPS + 1; i++)
        usleep(10000);
    for (int i = 0; i < 2; i++) {
        readers[i].stop = true;
        pthread_join(readers[i].thread, NULL);
        assert_true(readers[i].answers > 6);
    }
    json_t *body = api_fixture_get(hub, "flame", "id=1&mode=moment", NULL);
    assert_int_equal(api_fixture_int(body, "totals.live-bytes.0"), 10 + STEPS * (STEPS + 1) / 2);
    assert_int_equal(api_fixture_int(body, "stacks"), STEPS + 1);
    json_decref(body);
    hub_free(hub);
    unlink(path);
}

int main(void)
{
    pthread_mutex_init(&events.lock, NULL);
    pthread_cond_init(&events.more, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grows),      cmocka_unit_test(test_paths),
        cmocka_unit_test(test_appears),    cmocka_unit_test(test_replaced),
        cmocka_unit_test(test_removed),    cmocka_unit_test(test_moved),
        cmocka_unit_test(test_damage),     cmocka_unit_test(test_200_files),
        cmocka_unit_test(test_names_come), cmocka_unit_test(test_slow_server),
        cmocka_unit_test(test_killed),     cmocka_unit_test(test_fair_lock),
        cmocka_unit_test(test_readers),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
