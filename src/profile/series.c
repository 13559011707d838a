// SPDX-License-Identifier: Apache-2.0
/*
 * Compact histories. A Series is a list of chunks, newest first; each is readable by itself:
 *
 *   chunk  | prev | first snapshot | used, bytes so far | values before | points ...          |
 *   point  | head: varint of (snapshots since the last point << 6 | mask) | per bit: zigzag varint
 * |
 *
 * where bit m of the mask says that metric m changed and the number is by how much. A stack that
 * changes at every tick so costs one byte of head, and small changes one or two bytes each.
 *
 * Chunks grow with the history (an eighth of it, 48 bytes to 2 KiB), so that stacks that change
 * once stay small and long histories waste little; the values before each chunk are the
 * checkpoints. A look-up walks chunks back, then decodes within one chunk: microseconds even for
 * 36,000 changes. No allocation but from the pool.
 *
 * A day of a program of many stacks is 56 million points, each of another stack than the one
 * before, and waits for memory. So where the next point goes stands in the Series, not in its
 * chunk: a point touches one line of the Series and one or two of the chunk's free end. And it is
 * encoded without a branch that depends on sizes, which no processor guesses right.
 */
#include "profile/series.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "format/varint.h"

enum {
    CHUNK_MIN_BYTES = 48,
    CHUNK_MAX_BYTES = 2048,
    MASK_BITS = 6,
    POINT_MAX_BYTES = (1 + METRIC_MAX) * VARINT_MAX_BYTES,
    POINT_USUAL_BYTES = 32,
};
_Static_assert((int)METRIC_MAX == (int)MASK_BITS, "a metric is a bit of the mask");
_Static_assert(sizeof(Series) == 64, "one cache line");
_Static_assert(8 * CHUNK_MAX_BYTES <= UINT16_MAX, "bytes may saturate");

struct SeriesChunk {
    SeriesChunk *prev;
    uint32_t first; /* snapshot of the first point */
    uint16_t used;  /* the newest chunk's stands in the Series */
    uint16_t bytes; /* of all chunks up to this one, saturating: sizes the next */
    Values before;
    uint8_t data[];
};

/* ---- varints -------------------------------------------------------------------------------- */

static inline const uint8_t *varint_get(const uint8_t *p, uint64_t *ret_value)
{
    uint64_t value = *p & 0x7f;

    for (unsigned shift = 7; *p++ & 0x80; shift += 7)
        value |= (uint64_t)(*p & 0x7f) << shift;
    *ret_value = value;
    return p;
}

static uint64_t zigzag(uint64_t delta)
{
    return delta << 1 ^ (0 - (delta >> 63));
}

static inline uint64_t unzigzag(uint64_t value)
{
    return value >> 1 ^ (0 - (value & 1));
}

/* ---- points --------------------------------------------------------------------------------- */

typedef struct Point {
    uint32_t snapshot;
    uint8_t mask;
    uint64_t delta[METRIC_MAX]; /* where the mask has a bit */
} Point;

/* Decodes the point at P; *point holds the one before (or the chunk's first snapshot). */
static inline const uint8_t *point_get(const uint8_t *p, Point *point)
{
    uint64_t head, value;

    p = varint_get(p, &head);
    point->snapshot += (uint32_t)(head >> MASK_BITS);
    point->mask = head & ((1 << MASK_BITS) - 1);
    for (unsigned mask = point->mask; mask; mask &= mask - 1) {
        p = varint_get(p, &value);
        point->delta[__builtin_ctz(mask)] = unzigzag(value);
    }
    return p;
}

static void point_apply(const Point *point, Values *values)
{
    for (unsigned mask = point->mask; mask; mask &= mask - 1) {
        int m = __builtin_ctz(mask);
        values->v[m] = wrap_add(values->v[m], (int64_t)point->delta[m]);
    }
}

/* Where the points of a chunk end. */
static inline const uint8_t *chunk_end(const Series *series, const SeriesChunk *chunk)
{
    return chunk->data + (chunk == series->last ? series->used : chunk->used);
}

/* A chunk with room for LEAST bytes at the head of the list. */
static int chunk_new(Series *series, Pool *pool, uint32_t snapshot, size_t least)
{
    size_t before = series->last ? series->last->bytes : 0;
    size_t size = before / 8;
    SeriesChunk *chunk;

    size = size < CHUNK_MIN_BYTES   ? CHUNK_MIN_BYTES
           : size > CHUNK_MAX_BYTES ? CHUNK_MAX_BYTES
                                    : size;
    size = size < least ? least : size;
    size = (size + 7) & ~(size_t)7;
    chunk = pool_take(pool, sizeof *chunk + size);
    if (!chunk)
        return -ENOMEM;
    before += sizeof *chunk + size;
    if (series->last)
        series->last->used = series->used;
    chunk->prev = series->last;
    chunk->first = snapshot;
    chunk->used = 0;
    chunk->bytes = before < UINT16_MAX ? (uint16_t)before : UINT16_MAX;
    chunk->before = series->now;
    series->last = chunk;
    series->used = 0;
    series->size = (uint16_t)size;
    series->last_snapshot = snapshot;
    return 0;
}

/* The point that leads from the series to NOW, returns its length, 0: nothing changed. */
static size_t point_put(const Series *series, uint32_t snapshot, const Values *now, uint8_t *point)
{
    uint64_t head = (uint64_t)(snapshot - series->last_snapshot) << MASK_BITS;
    /* with a mask of no bits, which is not shorter but for 0 */
    uint8_t *end = head ? varint_put_word(point, head) : point + 1;
    unsigned mask = 0;

    for (int m = 0; m < METRIC_MAX; m++) {
        uint64_t delta = (uint64_t)now->v[m] - (uint64_t)series->now.v[m];
        mask |= (unsigned)(delta != 0) << m;
        end = varint_put_word(end, zigzag(delta));
    }
    if (head)
        *point |= (uint8_t)mask;
    else
        *point = (uint8_t)mask;
    return mask ? (size_t)(end - point) : 0;
}

int series_put(Series *series, Pool *pool, uint32_t snapshot, const Values *now)
{
    uint8_t point[POINT_MAX_BYTES];
    size_t bytes = point_put(series, snapshot, now, point);
    size_t room = (size_t)series->size - series->used;

    if (bytes == 0)
        return 0;
    if (UNLIKELY(bytes > room)) {
        if (chunk_new(series, pool, snapshot, bytes) < 0)
            return -ENOMEM;
        bytes = point_put(series, snapshot, now, point);
        room = series->size;
    }
    uint8_t *to = series->last->data + series->used;
    if (LIKELY(bytes <= POINT_USUAL_BYTES && room >= POINT_USUAL_BYTES))
        memcpy(to, point, POINT_USUAL_BYTES);
    else
        memcpy(to, point, bytes);
    series->used = (uint16_t)(series->used + bytes);
    series->last_snapshot = snapshot;
    series->now = *now;
    return 0;
}

void series_fetch(const Series *series)
{
    const uint8_t *end;

    if (!series->last)
        return;
    end = series->last->data + series->used;
    __builtin_prefetch(end, 1);
    __builtin_prefetch(end + POINT_USUAL_BYTES - 1, 1);
}

/* ---- look-ups ------------------------------------------------------------------------------- */

/* Values after SNAPSHOT, which lies in CHUNK or behind it and before the next one. */
static void chunk_at(const Series *series, const SeriesChunk *chunk, int64_t snapshot,
                     Values *ret_values)
{
    const uint8_t *p = chunk->data, *end = chunk_end(series, chunk);
    Point point = {.snapshot = chunk->first};

    *ret_values = chunk->before;
    while (p < end) {
        p = point_get(p, &point);
        if (point.snapshot > snapshot)
            break;
        point_apply(&point, ret_values);
    }
}

/* True: known without a look into the chunks. */
static bool at_end(const Series *series, int64_t snapshot, Values *ret_values)
{
    if (series->last && snapshot < series->last_snapshot)
        return false;
    *ret_values = snapshot < 0 ? (Values){0} : series->now;
    return true;
}

void series_at(const Series *series, int64_t snapshot, Values *ret_values)
{
    const SeriesChunk *chunk = series->last;

    if (at_end(series, snapshot, ret_values))
        return;
    while (chunk && chunk->first > snapshot)
        chunk = chunk->prev;
    if (chunk)
        chunk_at(series, chunk, snapshot, ret_values);
    else
        *ret_values = (Values){0};
}

/*
 * Each step back is a cache miss, and those of one series wait for each other: so all walk back
 * together, a step each in turn, while the processor fetches the chunks of the others.
 */
void series_at_each(const Series *const *series, size_t count, int64_t snapshot,
                    Values *const *ret_values)
{
    const SeriesChunk *chunks[SERIES_AT_ONCE];
    unsigned at[SERIES_AT_ONCE];
    size_t walking = 0, left;

    for (size_t i = 0; i < count; i++) {
        if (at_end(series[i], snapshot, ret_values[i]))
            continue;
        chunks[walking] = series[i]->last;
        __builtin_prefetch(chunks[walking]);
        at[walking++] = (unsigned)i;
    }
    for (; walking; walking = left) {
        left = 0;
        for (size_t i = 0; i < walking; i++) {
            const SeriesChunk *chunk = chunks[i];
            if (chunk && chunk->first > snapshot) {
                chunks[left] = chunk->prev;
                __builtin_prefetch(chunk->prev);
                at[left++] = at[i];
            } else if (chunk) {
                chunk_at(series[at[i]], chunk, snapshot, ret_values[at[i]]);
            } else {
                *ret_values[at[i]] = (Values){0};
            }
        }
    }
}

int64_t series_add_changes(const Series *series, Metric metric, uint32_t first, uint32_t last,
                           int64_t *deltas)
{
    const SeriesChunk *chunk = series->last;
    int64_t before = 0;

    if (!chunk || series->last_snapshot < first)
        return series->now.v[metric];
    for (;; chunk = chunk->prev) {
        const uint8_t *p = chunk->data, *end = chunk_end(series, chunk);
        Point point = {.snapshot = chunk->first};

        before = chunk->before.v[metric];
        while (p < end && chunk->first <= last) {
            p = point_get(p, &point);
            if (point.snapshot > last)
                break;
            if (!(point.mask >> metric & 1))
                continue;
            if (point.snapshot < first)
                before = wrap_add(before, (int64_t)point.delta[metric]);
            else
                deltas[point.snapshot - first] =
                    wrap_add(deltas[point.snapshot - first], (int64_t)point.delta[metric]);
        }
        if (chunk->first < first || !chunk->prev)
            return before;
    }
}

enum { CHUNK_POINTS_MAX = CHUNK_MAX_BYTES / 2 };

/* One metric of the point at P, the others are passed over. True: it changed. */
static inline bool point_get_one(const uint8_t **p, Metric metric, uint32_t *snapshot,
                                 int64_t *delta)
{
    const uint8_t *at = *p;
    uint64_t head, value = 0;

    at = varint_get(at, &head);
    *snapshot += (uint32_t)(head >> MASK_BITS);
    for (unsigned rest = (unsigned)head & ((1u << metric) - 1); rest; rest &= rest - 1)
        while (*at++ & 0x80)
            ;
    if (head >> metric & 1)
        at = varint_get(at, &value);
    for (unsigned rest = (unsigned)(head & ((1 << MASK_BITS) - 1)) >> (metric + 1); rest;
         rest &= rest - 1)
        while (*at++ & 0x80)
            ;
    *delta = (int64_t)unzigzag(value);
    *p = at;
    return head >> metric & 1;
}

/* Changes of one chunk inside first..last, oldest first, those of one snapshot as one. Returns
 * their number; *before is what the metric was before the first of them. */
static size_t chunk_changes(const Series *series, const SeriesChunk *chunk, Metric metric,
                            uint32_t first, uint32_t last, ProfileChange *changes, int64_t *before)
{
    const uint8_t *p = chunk->data, *end = chunk_end(series, chunk);
    uint32_t snapshot = chunk->first;
    size_t count = 0;
    int64_t delta;

    *before = chunk->before.v[metric];
    while (p < end) {
        if (!point_get_one(&p, metric, &snapshot, &delta))
            continue;
        if (snapshot > last)
            break;
        if (snapshot < first)
            *before = wrap_add(*before, delta);
        else if (count && changes[count - 1].snapshot == snapshot)
            changes[count - 1].delta = wrap_add(changes[count - 1].delta, delta);
        else
            changes[count++] = (ProfileChange){snapshot, delta};
    }
    return count;
}

size_t series_changes(const Series *series, Metric metric, uint32_t first, uint32_t last,
                      ProfileChange *room, const ProfileChange **ret_changes, int64_t *ret_before)
{
    ProfileChange *end = room + (last - first + 1), *start = end;
    const SeriesChunk *chunk = series->last;
    ProfileChange points[CHUNK_POINTS_MAX];

    *ret_before = series->now.v[metric];
    *ret_changes = end;
    if (!chunk || series->last_snapshot < first)
        return 0;
    for (; chunk; chunk = chunk->prev) {
        size_t count;
        if (chunk->first > last) {
            *ret_before = chunk->before.v[metric];
            continue;
        }
        count = chunk_changes(series, chunk, metric, first, last, points, ret_before);
        if (count && start < end && points[count - 1].snapshot == start->snapshot)
            start->delta = wrap_add(start->delta, points[--count].delta);
        start -= count;
        memcpy(start, points, count * sizeof *points);
        if (chunk->first < first)
            break;
    }
    *ret_changes = start;
    return (size_t)(end - start);
}
