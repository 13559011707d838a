// SPDX-License-Identifier: Apache-2.0
/*
 * The list of profiles of `memhawk view`: who may look at which, and when.
 *
 *   follower (hub_follow.c) ──► entry: profile ◄── hub_acquire() ── threads of the server
 *   symbol worker (hub_symbols.c) ──► labels ──┘
 *
 * Each entry has a fair lock of its own (fair_lock.h); the list has a mutex that is held for some
 * instructions. Entries stay until the end: ids and pointers are good for the life of the hub.
 * Labels are brought up to date by whoever acquires, so that a profile nobody looks at costs
 * nothing but its records.
 */
#include "web/hub.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "web/flame_cache.h"
#include "web/hub_parts.h"

#define FIRST_READ_NS UINT64_C(200000000)

void hub_notify(const Hub *hub, HubEvent event, uint32_t id, const char *message)
{
    if (hub->notify)
        hub->notify(hub->context, event, id, message);
}

/* ---- entries -------------------------------------------------------------------------------- */

static void entry_free(HubEntry *entry)
{
    if (!entry)
        return;
    flame_cache_free(entry->pub.flame);
    for (int g = 0; g < 2; g++)
        labels_free(entry->pub.labels[g]);
    symbol_close(entry->pub.symbolizer);
    profile_close(entry->pub.profile);
    fair_lock_done(&entry->lock);
    free(entry->pub.message);
    free(entry->pub.path);
    free(entry);
}

static int entries_grow(Hub *hub)
{
    size_t capacity = hub->entry_capacity ? hub->entry_capacity * 2 : 16;
    HubEntry **grown = realloc(hub->entries, capacity * sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    hub->entries = grown;
    hub->entry_capacity = capacity;
    return 0;
}

HubEntry *hub_entry_add(Hub *hub, const char *path)
{
    HubEntry *entry = calloc(1, sizeof(*entry));
    if (!entry)
        return NULL;
    fair_lock_init(&entry->lock);
    entry->dirty = true;
    entry->pub.loaded = 1;
    entry->pub.path = strdup(path);
    pthread_mutex_lock(&hub->list_lock);
    int r = entry->pub.path ? 0 : -ENOMEM;
    if (r == 0 && hub->entry_count == hub->entry_capacity)
        r = entries_grow(hub);
    if (r == 0) {
        hub->entries[hub->entry_count++] = entry;
        entry->pub.id = (uint32_t)hub->entry_count;
    }
    pthread_mutex_unlock(&hub->list_lock);
    if (r < 0) {
        entry_free(entry);
        return NULL;
    }
    HubEntry *old;
    HASH_REPLACE(by_path, hub->by_path, pub.path[0], strlen(path), entry, old);
    return entry;
}

HubEntry *hub_entry_of(const Hub *hub, const char *path)
{
    HubEntry *entry;
    HASH_FIND(by_path, hub->by_path, path, strlen(path), entry);
    return entry;
}

void hub_entry_list(Hub *hub, HubEntry *entry, uint64_t start_ns)
{
    pthread_mutex_lock(&hub->list_lock);
    entry->listed = true;
    entry->start_ns = start_ns;
    pthread_mutex_unlock(&hub->list_lock);
}

/* ---- acquire and release -------------------------------------------------------------------- */

static HubEntry *entry_find(Hub *hub, uint32_t id)
{
    HubEntry *entry = NULL;
    pthread_mutex_lock(&hub->list_lock);
    if (id > 0 && id <= hub->entry_count && hub->entries[id - 1]->listed)
        entry = hub->entries[id - 1];
    pthread_mutex_unlock(&hub->list_lock);
    return entry;
}

static HubProcess *entry_take(HubEntry *entry)
{
    fair_lock_take(&entry->lock);
    hub_symbols_label(entry);
    return &entry->pub;
}

HubProcess *hub_acquire(Hub *hub, uint32_t id)
{
    HubEntry *entry = entry_find(hub, id);
    return entry ? entry_take(entry) : NULL;
}

HubProcess *hub_glance(Hub *hub, uint32_t id)
{
    HubEntry *entry = entry_find(hub, id);
    if (!entry)
        return NULL;
    fair_lock_take(&entry->lock);
    return &entry->pub;
}

void hub_release(Hub *hub, HubProcess *process)
{
    (void)hub;
    if (process)
        fair_lock_drop(&((HubEntry *)process)->lock);
}

bool hub_acquire_two(Hub *hub, uint32_t first, uint32_t second, HubProcess **ret_first,
                     HubProcess **ret_second)
{
    HubEntry *a = entry_find(hub, first), *b = entry_find(hub, second);
    if (!a || !b)
        return false;
    /* the lower id first, always */
    if (first < second)
        entry_take(a);
    entry_take(b);
    if (first > second)
        entry_take(a);
    *ret_first = &a->pub;
    *ret_second = &b->pub;
    return true;
}

void hub_release_two(Hub *hub, HubProcess *first, HubProcess *second)
{
    if (second != first)
        hub_release(hub, second);
    hub_release(hub, first);
}

int hub_module_source(const HubProcess *process, uint32_t module)
{
    const HubEntry *entry = (const HubEntry *)process;
    if (!process->profile || module >= profile_module_count(process->profile))
        return SYMBOL_NONE;
    if (module >= entry->modules_done)
        return -EAGAIN;
    return (int)symbol_source(process->symbolizer, process->profile, module, NULL);
}

/* ---- the list ------------------------------------------------------------------------------- */

static int compare_start(const void *a, const void *b)
{
    const HubEntry *x = *(HubEntry *const *)a, *y = *(HubEntry *const *)b;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return x->pub.id < y->pub.id ? -1 : x->pub.id > y->pub.id;
}

size_t hub_list(Hub *hub, uint32_t *ret_ids, size_t capacity)
{
    size_t count = 0;
    pthread_mutex_lock(&hub->list_lock);
    HubEntry **sorted = calloc(hub->entry_count + 1, sizeof(HubEntry *));
    for (size_t i = 0; sorted && i < hub->entry_count; i++)
        if (hub->entries[i]->listed)
            sorted[count++] = hub->entries[i];
    if (sorted)
        qsort(sorted, count, sizeof(HubEntry *), compare_start);
    for (size_t i = 0; i < count && i < capacity; i++)
        ret_ids[i] = sorted[i]->pub.id;
    pthread_mutex_unlock(&hub->list_lock);
    free(sorted);
    return count;
}

size_t hub_folders(Hub *hub, const char *const **ret_paths)
{
    *ret_paths = hub->folder_paths;
    return hub->folder_count;
}

/* ---- life ----------------------------------------------------------------------------------- */

static int add_path(Hub *hub, const char *path)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return -errno;
    HubWatch *watch = &hub->watches[hub->watch_count++];
    *watch = (HubWatch){strdup(path), S_ISDIR(st.st_mode), -1};
    if (!watch->path)
        return -ENOMEM;
    if (!watch->folder)
        return hub_entry_of(hub, path) || hub_entry_add(hub, path) ? 0 : -ENOMEM;
    for (size_t n = strlen(watch->path); n > 1 && watch->path[n - 1] == '/'; n--)
        watch->path[n - 1] = '\0';
    hub->folder_paths[hub->folder_count++] = watch->path;
    return 0;
}

static int add_paths(Hub *hub, const HubOptions *options, size_t *ret_bad)
{
    hub->watches = calloc(options->path_count + 1, sizeof(*hub->watches));
    hub->folder_paths = calloc(options->path_count + 1, sizeof(*hub->folder_paths));
    int r = hub->watches && hub->folder_paths ? 0 : -ENOMEM;
    for (size_t i = 0; r == 0 && i < options->path_count; i++) {
        r = add_path(hub, options->paths[i]);
        if (r < 0 && r != -ENOMEM) {
            *ret_bad = i;
            r = -ENOENT;
        }
    }
    return r;
}

static void locks_init(Hub *hub)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&hub->work_come, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&hub->work_lock, NULL);
    pthread_mutex_init(&hub->list_lock, NULL);
}

static int threads_start(Hub *hub)
{
    int r = pthread_create(&hub->follower, NULL, hub_follow_run, hub);
    hub->follower_runs = r == 0;
    if (r == 0)
        r = pthread_create(&hub->worker, NULL, hub_symbols_run, hub);
    hub->worker_runs = hub->follower_runs && r == 0;
    return -r;
}

int hub_new(const HubOptions *options, Hub **ret_hub, size_t *ret_bad)
{
    Hub *hub = calloc(1, sizeof(*hub));
    if (!hub)
        return -ENOMEM;
    hub->symbols = options->symbols;
    hub->symbols.is_cancelled = hub_symbols_stopped; /* so that hub_free() waits for no server */
    hub->symbols.cancel_context = hub;
    hub->notify = options->notify;
    hub->context = options->context;
    hub->inotify_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    hub->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    locks_init(hub);
    int r = hub->stop_fd < 0 ? -errno : symbol_texts_new(&hub->texts);
    r = r < 0 ? r : add_paths(hub, options, ret_bad);
    if (r == 0) {
        hub_follow_first(hub, FIRST_READ_NS);
        r = threads_start(hub);
    }
    if (r < 0)
        hub_free(hub);
    else
        *ret_hub = hub;
    return r;
}

static void threads_stop(Hub *hub)
{
    uint64_t one = 1;
    if (hub->stop_fd >= 0 && write(hub->stop_fd, &one, sizeof(one)) < 0)
        abort(); /* an eventfd takes a 1 */
    pthread_mutex_lock(&hub->work_lock);
    hub->stop = true;
    pthread_cond_signal(&hub->work_come);
    pthread_mutex_unlock(&hub->work_lock);
    if (hub->follower_runs)
        pthread_join(hub->follower, NULL);
    if (hub->worker_runs)
        pthread_join(hub->worker, NULL);
}

void hub_free(Hub *hub)
{
    if (!hub)
        return;
    threads_stop(hub);
    HASH_CLEAR(by_path, hub->by_path);
    for (size_t i = 0; i < hub->entry_count; i++)
        entry_free(hub->entries[i]);
    free(hub->entries);
    symbol_texts_free(hub->texts);
    for (size_t i = 0; i < hub->watch_count; i++)
        free(hub->watches[i].path);
    free(hub->watches);
    free(hub->folder_paths);
    if (hub->inotify_fd >= 0)
        close(hub->inotify_fd);
    if (hub->stop_fd >= 0)
        close(hub->stop_fd);
    pthread_cond_destroy(&hub->work_come);
    pthread_mutex_destroy(&hub->work_lock);
    pthread_mutex_destroy(&hub->list_lock);
    free(hub);
}
