// SPDX-License-Identifier: Apache-2.0
/*
 * The follower: one thread that reads what is appended to the files, and finds new ones.
 *
 * inotify on the folders, and on each file that was named itself, says where to look; once a second
 * everything is looked at, for file systems without inotify, lost events, and processes that were
 * killed. A look costs three stat() and what is new. Large files are read in slices, all of them in
 * turn, so that none of them holds up a live one and no lock is held for long: when somebody else
 * has an entry's lock, the follower goes on with others and comes back.
 *
 * Events are sent after the lock is dropped. A file that was replaced or became shorter keeps its
 * model; what stands at its path now is a new entry. One that was removed or moved away is followed
 * on, since it is open, and marked.
 */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "profile/liveness.h"

#include "web/hub_parts.h"

#define SECOND_NS   UINT64_C(1000000000)
#define SLICE_NS    UINT64_C(20000000) /* of reading, for all large files together */
#define SLICE_LEAST UINT64_C(2000000)
#define LOADING_NS  UINT64_C(200000000) /* between two HUB_SNAPSHOT while a file is being read */

enum { REFUSALS_MAX = 5, RETRY_MS = 2 };

#define GONE_EVENTS (IN_DELETE | IN_MOVED_FROM)
#define FOLDER_EVENTS                                                                              \
    (IN_CREATE | IN_MOVED_TO | IN_MODIFY | IN_CLOSE_WRITE | IN_ONLYDIR | GONE_EVENTS)
#define FILE_EVENTS (IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF)

/* What an entry's look found, to be told when its lock is free. */
typedef struct News {
    bool processes, snapshot, ended;
    bool names; /* there are frames or modules that the symbol worker does not know */
    char trouble[320];
} News;

static void tell(Hub *hub, const HubEntry *entry, const News *news)
{
    if (news->names)
        hub_symbols_wake(hub);
    if (news->snapshot)
        hub_notify(hub, HUB_SNAPSHOT, entry->pub.id, NULL);
    if (news->trouble[0])
        hub_notify(hub, HUB_TROUBLE, entry->pub.id, news->trouble);
    if (news->ended)
        hub_notify(hub, HUB_ENDED, entry->pub.id, NULL);
    if (news->processes)
        hub_notify(hub, HUB_PROCESSES, 0, NULL);
}

static void set_message(HubEntry *entry, const char *text)
{
    free(entry->pub.message);
    entry->pub.message = strdup(text);
    entry->pub.version++;
}

/* ---- opening -------------------------------------------------------------------------------- */

static bool file_look(const char *path, HubFile *ret_file)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return false;
    *ret_file = (HubFile){st.st_dev, st.st_ino, st.st_size,
                          (uint64_t)st.st_mtim.tv_sec * SECOND_NS + (uint64_t)st.st_mtim.tv_nsec};
    return true;
}

/* Whether another entry follows that file, by another name. */
static bool is_followed(const Hub *hub, const HubEntry *own, const HubFile *file)
{
    for (size_t i = 0; i < hub->entry_count; i++) {
        const HubEntry *entry = hub->entries[i];
        if (entry != own && entry->opened && !entry->stale && entry->file.inode == file->inode &&
            entry->file.device == file->device)
            return true;
    }
    return false;
}

static int make_labels(const Hub *hub, HubProcess *process)
{
    SymbolOptions own = hub->symbols;
    own.texts = hub->texts;
    own.debuginfod = false; /* whoever holds a lock must not wait for a network */
    int r = symbol_open(&own, &process->symbolizer);
    for (int g = 0; r == 0 && g < 2; g++)
        r = labels_new_deferred(process->profile, process->symbolizer, (Granularity)g,
                                &process->labels[g]);
    return r;
}

static void take_in(Hub *hub, HubEntry *entry, Profile *profile, News *news)
{
    HubProcess *process = &entry->pub;
    process->profile = profile;
    process->loaded = 0;
    if (make_labels(hub, process) < 0) {
        /* a profile without labels would break those who read it */
        for (int g = 0; g < 2; g++) {
            labels_free(process->labels[g]);
            process->labels[g] = NULL;
        }
        symbol_close(process->symbolizer);
        process->symbolizer = NULL;
        profile_close(profile);
        process->profile = NULL;
        set_message(entry, "out of memory");
        return;
    }
    entry->opened = true;
    free(process->message);
    process->message = NULL;
    process->running = liveness_of(profile) == LIVENESS_RUNNING;
    process->version++;
    hub_entry_list(hub, entry, profile_first_ns(profile));
    news->processes = true;
}

/* A file that has just come into being may not have its first record yet: it is not told of for a
 * second. */
static void try_open(Hub *hub, HubEntry *entry, News *news)
{
    uint64_t now = clock_monotonic_ns();
    HubFile file;
    ProfileError error = {0};
    Profile *profile;
    if (!entry->first_look_ns)
        entry->first_look_ns = now;
    if (!file_look(entry->pub.path, &file))
        return;
    if (is_followed(hub, entry, &file)) {
        entry->stale = !entry->listed;
        return;
    }
    if (memcmp(&file, &entry->file, sizeof(file)) != 0) {
        entry->file = file;
        int r = profile_open_first(entry->pub.path, &profile, &error);
        if (r == 0) {
            take_in(hub, entry, profile, news);
            return;
        }
        set_message(entry, error.message[0] ? error.message : strerror(-r));
        news->processes = entry->listed;
    }
    bool young = hub->follower_runs && now - entry->first_look_ns < SECOND_NS;
    if (!entry->listed && !young) {
        hub_entry_list(hub, entry, UINT64_MAX);
        news->processes = true;
    }
}

/* ---- reading -------------------------------------------------------------------------------- */

static void see_trouble(HubEntry *entry, News *news)
{
    const Profile *profile = entry->pub.profile;
    size_t damages = profile_damage_count(profile);
    const ProfileError *damage = profile_damage_at(profile, entry->damages);
    if (damages > entry->damages && damage)
        snprintf(news->trouble, sizeof(news->trouble), "at byte %llu: %s",
                 (unsigned long long)damage->offset, damage->message);
    entry->damages = damages;
}

static void see_progress(HubEntry *entry, uint64_t left_bytes, News *news)
{
    HubProcess *process = &entry->pub;
    const Profile *profile = process->profile;
    uint64_t now = clock_monotonic_ns(), read = profile_file_bytes(profile);
    double before = process->loaded;
    process->loaded = left_bytes ? (double)read / (double)(read + left_bytes) : 1;
    news->processes |= before < 1 && process->loaded >= 1;
    if (profile_snapshot_count(profile) > entry->snapshots &&
        (process->loaded >= 1 || now - entry->told_ns > LOADING_NS)) {
        entry->snapshots = profile_snapshot_count(profile);
        entry->told_ns = now;
        news->snapshot = true;
    }
    news->names = profile_frame_count(profile) > process->symbols_all ||
                  profile_module_count(profile) > entry->modules;
    process->symbols_all = (uint32_t)profile_frame_count(profile);
    entry->modules = profile_module_count(profile);
    if (!entry->ended && profile_is_ended(profile)) {
        entry->ended = true;
        process->running = false;
        process->version++;
        news->ended = news->processes = true;
    }
    see_trouble(entry, news);
}

static void read_more(HubEntry *entry, uint64_t slice_ns, News *news)
{
    HubProcess *process = &entry->pub;
    ProfileError error = {0};
    uint64_t left_bytes = 0;
    int r = profile_advance_for(process->profile, slice_ns, &left_bytes, &error);
    if (r < 0 && !entry->failed) {
        entry->failed = true; /* told once */
        entry->stale = r == -ESTALE;
        set_message(entry, error.message[0] ? error.message : strerror(-r));
        snprintf(news->trouble, sizeof(news->trouble), "%s", process->message);
    }
    if (r < 0)
        return;
    if (r > 0)
        process->version++;
    if (r > 0 || process->loaded < 1)
        see_progress(entry, left_bytes, news);
    entry->dirty |= left_bytes > 0;
}

/* Whether its path has no file; another file there is not its own, which read_more() has seen. */
static void see_file(HubEntry *entry, News *news)
{
    HubProcess *process = &entry->pub;
    struct stat st;
    bool deleted =
        !entry->stale && stat(process->path, &st) < 0 && (errno == ENOENT || errno == ENOTDIR);
    if (deleted == process->file_deleted)
        return;
    process->file_deleted = deleted;
    process->version++;
    news->processes = true;
}

static void see_liveness(HubEntry *entry, News *news)
{
    HubProcess *process = &entry->pub;
    if (!process->running || liveness_of(process->profile) == LIVENESS_RUNNING)
        return;
    process->running = false;
    process->version++;
    news->processes = true;
}

/* ---- entries -------------------------------------------------------------------------------- */

/* Looks at one; false: its lock is taken, come back. */
static bool look(Hub *hub, HubEntry *entry, uint64_t slice_ns, bool poll)
{
    News news = {0};
    if (entry->stale) {
        entry->dirty = false;
        return true;
    }
    if (entry->refusals >= REFUSALS_MAX)
        fair_lock_take(&entry->lock);
    else if (!fair_lock_try(&entry->lock)) {
        entry->refusals++;
        return false;
    }
    entry->refusals = 0;
    entry->dirty = false;
    if (!entry->opened)
        try_open(hub, entry, &news);
    if (entry->opened) {
        read_more(entry, slice_ns, &news);
        see_file(entry, &news);
    }
    if (entry->opened && poll)
        see_liveness(entry, &news);
    fair_lock_drop(&entry->lock);
    tell(hub, entry, &news);
    if (entry->stale && entry->opened)
        hub_entry_add(hub, entry->pub.path);
    return true;
}

static bool is_profile_name(const char *name)
{
    size_t length = strlen(name);
    return length > 6 && strcmp(name + length - 6, ".binpb") == 0;
}

/* What happened to a file in one of the folders. */
typedef enum Note { NOTE_THERE, NOTE_CHANGED, NOTE_GONE } Note;

/* It is new if it was not known, and is there. */
static void note_file(Hub *hub, const char *folder, const char *name, Note note)
{
    char *path = NULL;
    HubEntry *entry;
    if (!is_profile_name(name) || asprintf(&path, "%s/%s", folder, name) < 0)
        return;
    entry = hub_entry_of(hub, path);
    if (entry && note != NOTE_THERE)
        entry->dirty = true;
    else if (!entry && note != NOTE_GONE)
        hub_entry_add(hub, path);
    free(path);
}

static void scan_folder(Hub *hub, const char *folder)
{
    DIR *dir = opendir(folder);
    const struct dirent *item;
    while (dir && (item = readdir(dir)))
        note_file(hub, folder, item->d_name, NOTE_THERE);
    if (dir)
        closedir(dir);
}

/* ---- inotify -------------------------------------------------------------------------------- */

/* Sets watches that are not there yet, or no more. A path that comes back has a new one. */
static void set_watches(Hub *hub)
{
    for (size_t i = 0; i < hub->watch_count && hub->inotify_fd >= 0; i++) {
        HubWatch *watch = &hub->watches[i];
        if (watch->id < 0)
            watch->id = inotify_add_watch(hub->inotify_fd, watch->path,
                                          watch->folder ? FOLDER_EVENTS : FILE_EVENTS);
    }
}

static void take_file_event(Hub *hub, HubWatch *watch, uint32_t mask)
{
    HubEntry *entry = hub_entry_of(hub, watch->path);
    if (entry)
        entry->dirty = true;
    if (mask & (IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF)) {
        /* perhaps another file is there now; the old watch would stay with the old one */
        inotify_rm_watch(hub->inotify_fd, watch->id);
        watch->id = -1;
    }
}

/* True: events were lost, look at all. */
static bool take_event(Hub *hub, const struct inotify_event *event)
{
    for (size_t i = 0; i < hub->watch_count; i++) {
        HubWatch *watch = &hub->watches[i];
        if (watch->id != event->wd)
            continue;
        if (event->mask & IN_IGNORED)
            watch->id = -1;
        else if (!watch->folder)
            take_file_event(hub, watch, event->mask);
        else if (event->len)
            note_file(hub, watch->path, event->name,
                      event->mask & GONE_EVENTS ? NOTE_GONE : NOTE_CHANGED);
    }
    return event->mask & IN_Q_OVERFLOW;
}

static bool take_events(Hub *hub)
{
    _Alignas(struct inotify_event) char buffer[16384];
    bool lost = false;
    ssize_t bytes;
    while (hub->inotify_fd >= 0 && (bytes = read(hub->inotify_fd, buffer, sizeof(buffer))) > 0)
        for (char *at = buffer; at < buffer + bytes;) {
            const struct inotify_event *event = (const struct inotify_event *)at;
            lost |= take_event(hub, event);
            at += sizeof(*event) + event->len;
        }
    set_watches(hub);
    return lost;
}

/* ---- rounds --------------------------------------------------------------------------------- */

static void scan_all(Hub *hub)
{
    set_watches(hub);
    for (size_t i = 0; i < hub->watch_count; i++)
        if (hub->watches[i].folder)
            scan_folder(hub, hub->watches[i].path);
}

static uint64_t slice_of(const Hub *hub)
{
    size_t dirty = 0;
    for (size_t i = 0; i < hub->entry_count; i++)
        dirty += hub->entries[i]->dirty;
    uint64_t slice = SLICE_NS / (dirty ? dirty : 1);
    return slice > SLICE_LEAST ? slice : SLICE_LEAST;
}

/* What poll() shall wait for when all entries have been looked at once. */
static int round_all(Hub *hub, bool poll)
{
    uint64_t slice = slice_of(hub);
    bool busy = false, more = false;
    for (size_t i = 0; i < hub->entry_count; i++) {
        HubEntry *entry = hub->entries[i];
        if (!entry->dirty && !poll)
            continue;
        if (!look(hub, entry, slice, poll)) {
            entry->dirty = true;
            busy = true;
        } else {
            more |= entry->dirty;
        }
    }
    return more ? 0 : busy ? RETRY_MS : -1;
}

void hub_follow_first(Hub *hub, uint64_t most_ns)
{
    uint64_t end = clock_monotonic_ns() + most_ns;
    scan_all(hub);
    while (round_all(hub, false) == 0 && clock_monotonic_ns() < end)
        ;
}

void *hub_follow_run(void *context)
{
    Hub *hub = context;
    struct pollfd fds[2] = {{hub->stop_fd, POLLIN, 0}, {hub->inotify_fd, POLLIN, 0}};
    uint64_t next_poll = clock_monotonic_ns() + SECOND_NS;
    int wait_ms = 0;
    for (;;) {
        uint64_t now = clock_monotonic_ns();
        if (wait_ms < 0)
            wait_ms = next_poll > now ? (int)((next_poll - now) / 1000000) + 1 : 0;
        if (poll(fds, 2, wait_ms) < 0 && errno != EINTR)
            break; /* cannot happen: the descriptors are ours */
        if (fds[0].revents)
            break;
        bool all = take_events(hub) || clock_monotonic_ns() >= next_poll;
        if (all) {
            scan_all(hub);
            next_poll = clock_monotonic_ns() + SECOND_NS;
        }
        wait_ms = round_all(hub, all);
    }
    return NULL;
}
