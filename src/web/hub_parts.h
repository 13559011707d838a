// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>
#include <sys/types.h>
#include <uthash.h>

#include "web/fair_lock.h"
#include "web/hub.h"

/*
 * Inside of a Hub, shared by hub.c (lists and locks), hub_follow.c (the follower thread) and
 * hub_symbols.c (the symbol worker); nobody else includes this.
 *
 * Locks, in order: an entry's own, then Hub.list_lock. Entries are never freed or moved before
 * hub_free(), so a pointer to one stays good without a lock.
 */

/* A file at one moment. */
typedef struct HubFile {
    dev_t device;
    ino_t inode;
    off_t bytes;
    uint64_t changed_ns;
} HubFile;

typedef struct HubEntry {
    HubProcess pub;        /* first: hub_release() gets a pointer to it */
    FairLock lock;         /* guards pub, but for id and path, which never change */
    uint32_t modules_done; /* lock; those whose source is known. Written by the worker */
    uint32_t labels_done;  /* lock; frames whose names the labels have, of pub.symbols_done */

    /* Hub.list_lock */
    bool listed;       /* hub_list() tells of it */
    uint64_t start_ns; /* UINT64_MAX: broken */

    /* the follower's own (before the threads start: hub_new()'s) */
    UT_hash_handle by_path;    /* in Hub.by_path */
    bool dirty;                /* something may have happened to the file */
    bool stale;                /* not looked at any more: another file is there, or another entry */
    bool opened;               /* pub.profile is there */
    unsigned refusals;         /* times in a row that somebody else had the lock */
    uint64_t first_look_ns;    /* monotonic, 0: not yet */
    HubFile file;              /* what was opened, or tried to */
    size_t snapshots, damages; /* as told by events */
    size_t modules;            /* that the symbol worker was told of */
    bool ended, failed;
    uint64_t told_ns; /* monotonic; last HUB_SNAPSHOT */

    /* the symbol worker's own */
    bool symbols_due;         /* a HUB_SYMBOLS has to be sent */
    uint64_t symbols_told_ns; /* monotonic; when the last one was */
} HubEntry;

/* A folder, or a file that was named itself. */
typedef struct HubWatch {
    char *path;
    bool folder;
    int id; /* -1: none now */
} HubWatch;

struct Hub {
    SymbolOptions symbols;
    SymbolTexts *texts; /* of all processes; the worker's own symbolizer forgets what it learnt */
    HubNotify *notify;
    void *context;

    pthread_mutex_t list_lock;
    HubEntry *
        *entries; /* the array: list_lock; written by the follower only, which reads without */
    size_t entry_count, entry_capacity;

    HubWatch *watches; /* fixed after hub_new(), but for the ids, which are the follower's */
    size_t watch_count;
    const char **folder_paths;
    size_t folder_count;

    HubEntry *by_path; /* uthash, the newest entry of each path; the follower's */
    int inotify_fd;    /* -1: does not work here */
    int stop_fd;       /* eventfd: readable when the follower shall end */
    pthread_t follower, worker;
    bool follower_runs, worker_runs;

    pthread_mutex_t work_lock;
    pthread_cond_t work_come; /* monotonic clock */
    bool work, stop;          /* work_lock */
};

void hub_notify(const Hub *hub, HubEvent event, uint32_t id, const char *message);
/* A new entry at the end of the list; NULL: no memory. The follower's (or hub_new()'s). */
HubEntry *hub_entry_add(Hub *hub, const char *path);
/* The newest entry of a path, or NULL. */
HubEntry *hub_entry_of(const Hub *hub, const char *path);
void hub_entry_list(Hub *hub, HubEntry *entry, uint64_t start_ns);

/* hub_follow.c. Looks at all files and folders once, reading for MOST_NS or a bit longer. */
void hub_follow_first(Hub *hub, uint64_t most_ns);
void *hub_follow_run(void *context);
/* hub_symbols.c */
void *hub_symbols_run(void *context);
/* Gives the labels of an entry that is held the stacks and names that came since. */
void hub_symbols_label(HubEntry *entry);
/* Tells the worker that there is something to do. */
void hub_symbols_wake(Hub *hub);
/* Whether the worker shall end; CONTEXT: the Hub. */
bool hub_symbols_stopped(void *context);
