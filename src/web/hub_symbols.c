// SPDX-License-Identifier: Apache-2.0
/*
 * The symbol worker: names for the frames of all profiles, found where nobody has to wait for them.
 *
 *   take (lock)      copy what the next frames are: module, address
 *   find (no lock)   ask the worker's own Symbolizer, for a limited time
 *   publish (lock)   hand the answers to the process's Symbolizer
 *   label (lock)     from there to its labels: by whoever acquires it, hub_symbols_label()
 *
 * Labels and the paths of stacks are a third of what a process takes, so they are made for those
 * that somebody looks into.
 *
 * A profile's paths, build-ids and segments stay where they are as long as the profile, so the
 * copies may point to them. The first batch of a profile is short, so that names show at once.
 * Profiles take turns. When all is done for a while the Symbolizer is closed: that gives back the
 * debug information it holds, and saves what it learnt on disk.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "web/hub_parts.h"

#define BATCH_FIRST_NS UINT64_C(60000000)
#define BATCH_NS       UINT64_C(300000000)
#define EVENT_NS       UINT64_C(500000000) /* HUB_SYMBOLS of one process: not more often */
#define IDLE_NS        UINT64_C(5000000000)

enum { BATCH_FRAMES = 2048 };

typedef struct Job {
    uint32_t frame;
    bool in_module;
    SymbolModuleInfo info;
    uint64_t file_pc;
    const SymbolFrame *found; /* the worker's Symbolizer's */
    int count;
} Job;

typedef struct Worker {
    Hub *hub;
    Symbolizer *symbolizer; /* NULL: closed */
    Job jobs[BATCH_FRAMES];
    size_t turn; /* entry that is next */
} Worker;

void hub_symbols_wake(Hub *hub)
{
    pthread_mutex_lock(&hub->work_lock);
    hub->work = true;
    pthread_cond_signal(&hub->work_come);
    pthread_mutex_unlock(&hub->work_lock);
}

bool hub_symbols_stopped(void *context)
{
    Hub *hub = context;
    pthread_mutex_lock(&hub->work_lock);
    bool stop = hub->stop;
    pthread_mutex_unlock(&hub->work_lock);
    return stop;
}

static HubEntry *entry_at(Hub *hub, size_t index, size_t *ret_count)
{
    pthread_mutex_lock(&hub->list_lock);
    *ret_count = hub->entry_count;
    HubEntry *entry = index < hub->entry_count ? hub->entries[index] : NULL;
    pthread_mutex_unlock(&hub->list_lock);
    return entry;
}

static bool symbolizer_get(Worker *worker)
{
    return worker->symbolizer || symbol_open(&worker->hub->symbols, &worker->symbolizer) == 0;
}

/* ---- frames --------------------------------------------------------------------------------- */

static size_t take_frames(Worker *worker, HubEntry *entry, bool *ret_first)
{
    size_t count = 0;
    fair_lock_take(&entry->lock);
    const HubProcess *process = &entry->pub;
    uint32_t next = process->symbols_done;
    *ret_first = next == 0;
    for (; process->profile && next < process->symbols_all && count < BATCH_FRAMES; next++) {
        Job *job = &worker->jobs[count++];
        *job = (Job){.frame = next};
        job->in_module = symbol_frame_info(process->profile, next, &job->info, &job->file_pc);
    }
    fair_lock_drop(&entry->lock);
    return count;
}

/* How many of the jobs were done in the time. */
static size_t find_names(Worker *worker, size_t count, uint64_t most_ns)
{
    uint64_t end = clock_monotonic_ns() + most_ns;
    size_t done = 0;
    while (done < count) {
        Job *job = &worker->jobs[done++];
        job->count = symbol_resolve_address(worker->symbolizer, job->in_module ? &job->info : NULL,
                                            job->file_pc, &job->found);
        if (clock_monotonic_ns() >= end || hub_symbols_stopped(worker->hub))
            break;
    }
    return done;
}

static void publish_frames(Worker *worker, HubEntry *entry, size_t count)
{
    fair_lock_take(&entry->lock);
    HubProcess *process = &entry->pub;
    for (size_t i = 0; i < count; i++) {
        const Job *job = &worker->jobs[i];
        if (job->count > 0) /* else it keeps its address, as when there is no memory */
            (void)symbol_adopt(process->symbolizer, job->in_module ? &job->info : NULL,
                               job->file_pc, job->found, (size_t)job->count);
    }
    process->symbols_done += (uint32_t)count;
    process->version++;
    fair_lock_drop(&entry->lock);
    entry->symbols_due = true;
}

static void label_frame(const HubProcess *process, uint32_t frame)
{
    SymbolModuleInfo info;
    const SymbolFrame *names;
    uint64_t file_pc = 0;
    bool inside = symbol_frame_info(process->profile, frame, &info, &file_pc);
    int count = symbol_find_known(process->symbolizer, inside ? &info : NULL, file_pc, &names);
    for (int g = 0; g < 2 && count > 0; g++)
        labels_put(process->labels[g], frame, names, (size_t)count);
}

/* Out of memory: labels stay as they were, newer stacks have no path. */
void hub_symbols_label(HubEntry *entry)
{
    const HubProcess *process = &entry->pub;
    if (!process->labels[0])
        return;
    for (int g = 0; g < 2; g++)
        labels_update(process->labels[g]);
    if (entry->labels_done == process->symbols_done)
        return;
    /* labels know the frames of the last update only */
    for (; entry->labels_done < process->symbols_done; entry->labels_done++)
        label_frame(process, entry->labels_done);
    for (int g = 0; g < 2; g++)
        labels_update(process->labels[g]);
}

/* ---- modules -------------------------------------------------------------------------------- */

/* The source of one module that has none yet; false: all have. */
static bool find_source(Worker *worker, HubEntry *entry)
{
    SymbolModuleInfo info;
    const char *path = NULL;
    fair_lock_take(&entry->lock);
    const HubProcess *process = &entry->pub;
    bool any = process->profile && entry->modules_done < profile_module_count(process->profile);
    if (any)
        symbol_module_info(process->profile, entry->modules_done, &info);
    fair_lock_drop(&entry->lock);
    if (!any || !symbolizer_get(worker))
        return false;
    SymbolSource source = symbol_source_of(worker->symbolizer, &info, &path);
    fair_lock_take(&entry->lock);
    symbol_adopt_source(entry->pub.symbolizer, &info, source, path);
    entry->modules_done++;
    entry->pub.version++;
    fair_lock_drop(&entry->lock);
    entry->symbols_due = true;
    return true;
}

/* ---- turns ---------------------------------------------------------------------------------- */

static bool work_on(Worker *worker, HubEntry *entry)
{
    bool first;
    size_t count = take_frames(worker, entry, &first);
    if (count && symbolizer_get(worker)) {
        count = find_names(worker, count, first ? BATCH_FIRST_NS : BATCH_NS);
        publish_frames(worker, entry, count);
        return true;
    }
    return find_source(worker, entry);
}

/* Sends what is due; returns when the next one is, UINT64_MAX: none waits. */
static uint64_t send_events(Hub *hub)
{
    uint64_t next = UINT64_MAX, now = clock_monotonic_ns();
    HubEntry *entry;
    size_t count;
    for (size_t i = 0; (entry = entry_at(hub, i, &count)); i++) {
        uint64_t due = entry->symbols_told_ns + EVENT_NS;
        if (!entry->symbols_due)
            continue;
        if (due > now) {
            next = due < next ? due : next;
            continue;
        }
        entry->symbols_due = false;
        entry->symbols_told_ns = now;
        hub_notify(hub, HUB_SYMBOLS, entry->pub.id, NULL);
    }
    return next;
}

/* Each entry once; true: there was something to do. */
static bool work_round(Worker *worker)
{
    bool any = false;
    size_t count = 1;
    for (size_t i = 0; i < count && !hub_symbols_stopped(worker->hub); i++) {
        HubEntry *entry = entry_at(worker->hub, worker->turn, &count);
        if (!entry) {
            worker->turn = 0;
            entry = entry_at(worker->hub, 0, &count);
        }
        worker->turn++;
        if (!entry)
            return false;
        any |= work_on(worker, entry);
        send_events(worker->hub);
    }
    return any;
}

static void wait_for_work(Worker *worker, uint64_t until_ns)
{
    Hub *hub = worker->hub;
    uint64_t idle = clock_monotonic_ns() + IDLE_NS;
    uint64_t end = worker->symbolizer && idle < until_ns ? idle : until_ns;
    struct timespec time = {(time_t)(end / 1000000000), (long)(end % 1000000000)};
    int r = 0;
    pthread_mutex_lock(&hub->work_lock);
    while (!hub->work && !hub->stop && r != ETIMEDOUT)
        r = end == UINT64_MAX ? pthread_cond_wait(&hub->work_come, &hub->work_lock)
                              : pthread_cond_timedwait(&hub->work_come, &hub->work_lock, &time);
    hub->work = false;
    pthread_mutex_unlock(&hub->work_lock);
    if (r == ETIMEDOUT && end == idle) {
        symbol_close(worker->symbolizer);
        worker->symbolizer = NULL;
    }
}

void *hub_symbols_run(void *context)
{
    Worker *worker = calloc(1, sizeof(*worker));
    if (!worker)
        return NULL; /* addresses stay addresses */
    worker->hub = context;
    while (!hub_symbols_stopped(worker->hub)) {
        bool any = work_round(worker);
        uint64_t due = send_events(worker->hub);
        if (!any)
            wait_for_work(worker, due);
    }
    symbol_close(worker->symbolizer);
    free(worker);
    return NULL;
}
