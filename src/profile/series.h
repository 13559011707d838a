// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/reader_pool.h"
#include "profile/profile.h"

/*
 * The history of one stack: its six values after each snapshot in which one of them changed.
 * Compact: a change costs 2 to 15 bytes. Zero-initialise; memory comes from the pool that is
 * handed to series_put() and goes with it.
 */

typedef struct SeriesChunk SeriesChunk;

typedef struct Series {
    SeriesChunk *last;      /* chunks link back in time; NULL: nothing yet */
    uint32_t last_snapshot; /* of the newest change */
    uint16_t used, size;    /* of the newest chunk, in bytes of points */
    Values now;
} Series;

/* The values are NOW from SNAPSHOT on; SNAPSHOT never decreases. 0 or -ENOMEM (nothing changed). */
int series_put(Series *series, Pool *pool, uint32_t snapshot, const Values *now);

/* A hint to the processor that series_put() will come; the Series itself should be there already.
 */
void series_fetch(const Series *series);

/* Values after SNAPSHOT (an index); all 0 before the first change. */
void series_at(const Series *series, int64_t snapshot, Values *ret_values);
/* The same of up to SERIES_AT_ONCE series, which takes far less time: their cache misses overlap.
 */
enum { SERIES_AT_ONCE = 32 };
void series_at_each(const Series *const *series, size_t count, int64_t snapshot,
                    Values *const *ret_values);

/*
 * Adds the changes of one metric at snapshots first..last to deltas[snapshot - first], and returns
 * the value just before `first`. Cost: the changes inside, and a chunk.
 */
int64_t series_add_changes(const Series *series, Metric metric, uint32_t first, uint32_t last,
                           int64_t *deltas);

/*
 * The changes of one metric at snapshots first..last, oldest first, at most one for each snapshot;
 * returns how many. They lie in ROOM, which has last - first + 1 places. *ret_before: the value
 * just before `first`.
 */
size_t series_changes(const Series *series, Metric metric, uint32_t first, uint32_t last,
                      ProfileChange *room, const ProfileChange **ret_changes, int64_t *ret_before);

/* Sums of hostile numbers wrap around. */
static inline int64_t wrap_add(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static inline int64_t wrap_sub(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

static inline void values_add(Values *sum, const Values *more)
{
    for (int m = 0; m < METRIC_MAX; m++)
        sum->v[m] = wrap_add(sum->v[m], more->v[m]);
}
