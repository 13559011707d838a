// SPDX-License-Identifier: Apache-2.0
/*
 * See read_ahead.h. One thread, a ring of decoded records:
 *
 *     thread: record_find, unpack, decode ──► | taken | full | full | free | ──► caller
 *                                               head ─┘        next ─┘
 *
 * The mutex guards the three numbers of the ring; a place belongs to the thread while it is free
 * and to the caller while it is full. A side that has to wait is woken when the ring is half full,
 * or half free: with records of some 50 microseconds, waking for each would cost as much as it
 * gains. Memory of all places comes from one budget, which only the thread touches; a record that
 * does not fit is the caller's.
 */
#include "format/read_ahead.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { PLACES = 16, THREADS_MAX = 4 };
#define AHEAD_MEMORY_MAX (UINT64_C(128) << 20)

struct ReadAhead {
    /* fixed, or the thread's own */
    int fd;
    uint64_t offset, file_bytes;
    RecordReader *reader;
    MemoryBudget budget;
    Decoder *decoders[PLACES];
    pthread_t thread;

    AheadRecord records[PLACES]; /* whose the place is */
    bool begun;                  /* the caller's: it holds a record */

    pthread_mutex_t lock;
    pthread_cond_t filled, freed;
    uint64_t head, next; /* lock; places taken back, and filled, so far */
    bool ended, stop;    /* lock; nothing more will come, nothing more is wanted */
};

static atomic_int threads; /* of all ReadAheads */

/* ---- one record ------------------------------------------------------------------------------ */

static long read_record(void *context, uint8_t *buffer, size_t bytes)
{
    return record_read(context, buffer, bytes);
}

static size_t ready_record(void *context, const uint8_t **ret_bytes)
{
    return record_ready(context, ret_bytes);
}

int record_snapshot(RecordReader *reader, Decoder *decoder, int fd, uint64_t offset,
                    uint64_t payload_bytes, const DecodedSnapshot **ret_snapshot)
{
    int ret = record_begin(reader, fd, offset + RECORD_HEADER_BYTES, payload_bytes);

    decoder_set_ready(decoder, ready_record);
    return ret < 0 ? ret : decode_snapshot(decoder, read_record, reader, ret_snapshot);
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* Waits for a free place; false: the caller wants no more. */
static bool place_get(ReadAhead *ahead)
{
    pthread_mutex_lock(&ahead->lock);
    while (!ahead->stop && ahead->next - ahead->head == PLACES)
        pthread_cond_wait(&ahead->freed, &ahead->lock);
    bool more = !ahead->stop;
    pthread_mutex_unlock(&ahead->lock);
    return more;
}

static void place_put(ReadAhead *ahead)
{
    pthread_mutex_lock(&ahead->lock);
    ahead->next++;
    if (ahead->next - ahead->head == PLACES / 2)
        pthread_cond_signal(&ahead->filled);
    pthread_mutex_unlock(&ahead->lock);
}

static void *run(void *context)
{
    ReadAhead *ahead = context;
    uint64_t place = 0, payload;

    while (place_get(ahead) &&
           record_find(ahead->fd, ahead->offset, ahead->file_bytes, &payload) > 0) {
        AheadRecord *record = &ahead->records[place % PLACES];
        *record = (AheadRecord){ahead->offset, payload, NULL};
        if (record_snapshot(ahead->reader, ahead->decoders[place % PLACES], ahead->fd,
                            ahead->offset, payload, &record->snapshot) < 0)
            record->snapshot = NULL;
        ahead->offset += RECORD_HEADER_BYTES + payload;
        place++;
        place_put(ahead);
    }
    pthread_mutex_lock(&ahead->lock);
    ahead->ended = true;
    pthread_cond_signal(&ahead->filled);
    pthread_mutex_unlock(&ahead->lock);
    return NULL;
}

/* ---- life ------------------------------------------------------------------------------------ */

/* Signals are for the program's other threads. */
static int thread_start(ReadAhead *ahead)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int ret = -pthread_create(&ahead->thread, NULL, run, ahead);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return ret;
}

/* How many there may be: one processor is the caller's. */
static int threads_max(void)
{
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof set, &set) < 0)
        return THREADS_MAX; /* more processors than a set has bits */
    return CPU_COUNT(&set) - 1 < THREADS_MAX ? CPU_COUNT(&set) - 1 : THREADS_MAX;
}

static bool threads_take(void)
{
    if (atomic_fetch_add(&threads, 1) < threads_max())
        return true;
    atomic_fetch_sub(&threads, 1);
    return false;
}

static void parts_free(ReadAhead *ahead)
{
    for (int i = 0; i < PLACES; i++)
        decoder_free(ahead->decoders[i]);
    record_free(ahead->reader);
    pthread_cond_destroy(&ahead->filled);
    pthread_cond_destroy(&ahead->freed);
    pthread_mutex_destroy(&ahead->lock);
    free(ahead);
    atomic_fetch_sub(&threads, 1);
}

int read_ahead_new(int fd, uint64_t offset, uint64_t file_bytes, ReadAhead **ret_ahead)
{
    if (!threads_take())
        return -EAGAIN;
    ReadAhead *ahead = calloc(1, sizeof *ahead);
    if (!ahead) {
        atomic_fetch_sub(&threads, 1);
        return -ENOMEM;
    }
    ahead->fd = fd;
    ahead->offset = offset;
    ahead->file_bytes = file_bytes;
    ahead->budget.limit_bytes = AHEAD_MEMORY_MAX;
    pthread_mutex_init(&ahead->lock, NULL);
    pthread_cond_init(&ahead->filled, NULL);
    pthread_cond_init(&ahead->freed, NULL);
    int ret = record_new(&ahead->reader);
    for (int i = 0; i < PLACES && ret == 0; i++)
        ret = decoder_new(&ahead->budget, &ahead->decoders[i]);
    if (ret == 0)
        ret = thread_start(ahead);
    if (ret < 0)
        parts_free(ahead);
    else
        *ret_ahead = ahead;
    return ret;
}

void read_ahead_free(ReadAhead *ahead)
{
    if (!ahead)
        return;
    pthread_mutex_lock(&ahead->lock);
    ahead->stop = true;
    pthread_cond_signal(&ahead->freed);
    pthread_mutex_unlock(&ahead->lock);
    pthread_join(ahead->thread, NULL);
    parts_free(ahead);
}

bool read_ahead_next(ReadAhead *ahead, AheadRecord *ret_record)
{
    pthread_mutex_lock(&ahead->lock);
    if (ahead->begun)
        ahead->head++;
    ahead->begun = false;
    if (ahead->next - ahead->head == PLACES / 2)
        pthread_cond_signal(&ahead->freed);
    if (ahead->next == ahead->head) {
        while (!ahead->ended && ahead->next - ahead->head < PLACES / 2)
            pthread_cond_wait(&ahead->filled, &ahead->lock);
        ahead->begun = ahead->next != ahead->head;
    } else {
        ahead->begun = true;
    }
    if (ahead->begun)
        *ret_record = ahead->records[ahead->head % PLACES];
    pthread_mutex_unlock(&ahead->lock);
    return ahead->begun;
}
