// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"
#include "symbol/labels.h"
#include "symbol/symbol.h"

/*
 * All profiles that a `memhawk view` shows: the files it was given and those that appear in its
 * folders, each followed as it grows, their names found in the background.
 *
 * Threads: one follower (inotify, and a poll each second where that does not work) advances the
 * profiles; one symbol worker resolves frames with symbolizers of its own, outside of all locks,
 * and publishes batches. Any thread may call hub_*; a process is read between hub_acquire() and
 * hub_release(), which hold its lock: keep it short, the follower waits for it.
 */

typedef struct Hub Hub;

typedef enum HubEvent {
    HUB_PROCESSES, /* the list changed; id 0 */
    HUB_SNAPSHOT,
    HUB_SYMBOLS,
    HUB_ENDED,
    HUB_TROUBLE,
} HubEvent;

/* Called by the hub's own threads, no lock held: it may call hub_acquire(). MESSAGE: of
 * HUB_TROUBLE, else NULL. */
typedef void HubNotify(void *context, HubEvent event, uint32_t id, const char *message);

typedef struct HubOptions {
    const char *const *paths; /* files and folders; copied */
    size_t path_count;
    SymbolOptions symbols; /* strings must outlive the hub */
    HubNotify *notify;     /* may be NULL */
    void *context;
} HubOptions;

/* Opens what is there (a broken file is kept with its message, not an error) and starts both
 * threads, which read on where reading takes longer than 0.2 s. -ENOENT: a path does not exist
 * (*ret_bad is its index). */
int hub_new(const HubOptions *options, Hub **ret_hub, size_t *ret_bad);
/* Stops the threads and frees all; nobody may be in another call. */
void hub_free(Hub *hub);

typedef struct HubProcess {
    uint32_t id; /* from 1, never used again */
    char *path;
    Profile *profile; /* NULL: broken, see message */
    char *message;    /* why it cannot be read, or -ESTALE; NULL: all is well */
    /* [GRANULARITY_*]; brought up to date by hub_acquire(): each stack has a path, of addresses
     * where names are still to come */
    Labels *labels[2];
    Symbolizer *symbolizer; /* for exporters; holds the lock's protection like the rest */
    uint64_t version;       /* rises with each change of profile or labels */
    uint32_t symbols_done, symbols_all; /* frames */
    bool running;                       /* has not ended, and its process is still there */
    /* No file has its path any more: what was read stays, and as it is still open, what a running
     * process goes on to write comes too; it is gone with the hub. A HUB_PROCESSES tells. */
    bool file_deleted;
    /* Share of the file that has been read, 1: all. Below 1 the profile holds the first part; a
     * HUB_PROCESSES comes when it is whole. */
    double loaded;
    struct FlameCache *flame; /* of api_flame, may be NULL: see flame_cache.h */
} HubProcess;

/* How names of a module are found: a SymbolSource, -EAGAIN while that is not known yet (a process
 * being held; needs no files). */
int hub_module_source(const HubProcess *process, uint32_t module);

/* Ids in order of start; returns how many there are, writes at most CAPACITY. Broken ones too. */
size_t hub_list(Hub *hub, uint32_t *ret_ids, size_t capacity);
/* Locks one; NULL: no such id. */
HubProcess *hub_acquire(Hub *hub, uint32_t id);
/* The same for figures that need no names: labels stay as old as they are, which is cheap for a
 * profile that nobody has looked into. hub_release(). */
HubProcess *hub_glance(Hub *hub, uint32_t id);
void hub_release(Hub *hub, HubProcess *process);
/* Two at once (comparison), in an order that cannot deadlock; the same id twice is allowed. */
bool hub_acquire_two(Hub *hub, uint32_t first, uint32_t second, HubProcess **ret_first,
                     HubProcess **ret_second);
void hub_release_two(Hub *hub, HubProcess *first, HubProcess *second);
/* Folders being watched, as given; owned by the hub. */
size_t hub_folders(Hub *hub, const char *const **ret_paths);
