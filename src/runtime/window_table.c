// SPDX-License-Identifier: Apache-2.0
/*
 * Ended iterations, until the collector writes them: definitions by (name, scope), and below each
 * the distinct shapes (rows of one iteration) with the number of iterations that had it. Benchmarks
 * repeat themselves, so shapes are few; when they are not, SHAPES_MAX bounds the memory and what
 * goes beyond is counted as lost.
 *
 * All of it is guarded by table_lock, taken after drain_lock where both are needed.
 */
#include <errno.h>
#include <string.h>

#include "base/lock.h"
#include "runtime/arena.h"
#include "runtime/runtime.h"
#include "runtime/windows.h"
#include "runtime/writer.h"

enum { DEFINITIONS = 4096, NAME_BYTES = 256, BUCKETS = 1024, SHAPES_MAX = 200000, MARKS = 4096 };

typedef struct Shape {
    struct Shape *next; /* same bucket */
    struct Shape *next_dirty;
    uint64_t hash, iterations, duration_ns, max_peak, min_peak;
    WindowRow *rows;
    uint32_t row_count, id;
    bool written, dirty;
} Shape;

struct WindowDefinition {
    char name[NAME_BYTES];
    uint32_t id, shapes;
    int scope;
    uint64_t begun;
    bool dirty;
    Shape *dirty_shapes;
    Shape *buckets[BUCKETS];
};

typedef struct StoredMark {
    uint64_t timestamp;
    uint32_t tid;
    char text[NAME_BYTES];
} StoredMark;

static Lock table_lock;
static WindowDefinition *definitions[DEFINITIONS]; /* open addressing by hash of name and scope */
static uint32_t definition_count, shape_count;
static StoredMark *marks; /* MARKS of them, until written */
static uint32_t mark_count;

static void copy_text(char *into, const char *text)
{
    size_t bytes = 0;
    while (text[bytes] && bytes < NAME_BYTES - 1)
        bytes++;
    /* Do not cut a UTF-8 sequence in two. */
    if (text[bytes])
        while (bytes && ((unsigned char)text[bytes] & 0xc0) == 0x80)
            bytes--;
    memcpy(into, text, bytes);
    into[bytes] = 0;
}

static uint64_t hash_bytes(uint64_t hash, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    uint64_t word;
    for (; bytes >= 8; bytes -= 8, at += 8) {
        memcpy(&word, at, 8);
        hash = hash_mix(hash, word);
    }
    word = bytes;
    memcpy(&word, at, bytes);
    return hash_mix(hash, word);
}

WindowDefinition *window_table_begin(const char *name, int scope, uint32_t tid)
{
    char wanted[NAME_BYTES];
    WindowDefinition *found = NULL;
    copy_text(wanted, name);
    if (!wanted[0] || !lock_take(&table_lock, tid, 0))
        return NULL;
    uint64_t at = hash_bytes((uint64_t)scope, wanted, strlen(wanted)) % DEFINITIONS;
    while (definitions[at] &&
           (definitions[at]->scope != scope || strcmp(definitions[at]->name, wanted) != 0))
        at = (at + 1) % DEFINITIONS;
    found = definitions[at];
    if (!found && definition_count < DEFINITIONS / 2) {
        found = arena_take(ARENA_WINDOWS, sizeof(*found));
        if (found) {
            memcpy(found->name, wanted, NAME_BYTES);
            found->scope = scope;
            found->id = ++definition_count;
            definitions[at] = found;
        }
    }
    if (found) {
        found->begun++;
        found->dirty = true;
    }
    lock_release(&table_lock);
    return found;
}

static Shape *shape_find(WindowDefinition *definition, const WindowRow *rows, uint32_t count)
{
    uint64_t hash = hash_bytes(count, rows, count * sizeof(*rows));
    Shape **bucket = &definition->buckets[hash % BUCKETS];
    for (Shape *shape = *bucket; shape; shape = shape->next)
        if (shape->hash == hash && shape->row_count == count &&
            (!count || memcmp(shape->rows, rows, count * sizeof(*rows)) == 0))
            return shape;
    if (shape_count >= SHAPES_MAX)
        return NULL;
    Shape *shape = arena_take(ARENA_WINDOWS, sizeof(*shape));
    WindowRow *copy = count && shape ? arena_take(ARENA_WINDOWS, count * sizeof(*rows)) : NULL;
    if (!shape || (count && !copy))
        return NULL;
    if (count)
        memcpy(copy, rows, count * sizeof(*rows));
    *shape = (Shape){.next = *bucket,
                     .hash = hash,
                     .rows = copy,
                     .row_count = count,
                     .id = ++definition->shapes,
                     .min_peak = UINT64_MAX};
    *bucket = shape;
    shape_count++;
    return shape;
}

void window_table_add(WindowDefinition *definition, const WindowRow *rows, uint32_t count,
                      const struct memhawk_counts *counts, uint32_t tid)
{
    if (!lock_take(&table_lock, tid, 0))
        return;
    Shape *shape = shape_find(definition, rows, count);
    if (shape) {
        shape->iterations++;
        shape->duration_ns += counts->duration_ns;
        if (counts->peak_bytes > shape->max_peak)
            shape->max_peak = counts->peak_bytes;
        if (counts->peak_bytes < shape->min_peak)
            shape->min_peak = counts->peak_bytes;
        if (!shape->dirty) {
            shape->dirty = true;
            shape->next_dirty = definition->dirty_shapes;
            definition->dirty_shapes = shape;
        }
    } else {
        atomic_fetch_add(&runtime.loss_windows, 1);
    }
    lock_release(&table_lock);
}

int window_table_mark(const char *text, uint32_t tid)
{
    if (!lock_take(&table_lock, tid, 0))
        return -EBUSY;
    if (!marks)
        marks = arena_map(ARENA_WINDOWS, MARKS * sizeof(*marks));
    bool room = marks && mark_count < MARKS;
    if (room) {
        StoredMark *mark = &marks[mark_count++];
        mark->timestamp = runtime_now_ns();
        mark->tid = tid;
        copy_text(mark->text, text);
    } else {
        atomic_fetch_add(&runtime.loss_windows, 1);
    }
    lock_release(&table_lock);
    return room ? 0 : -ENOMEM;
}

/* ---- encoding -------------------------------------------------------------------------------- */

static void encode_definition(WireBuffer *body, WindowDefinition *definition)
{
    size_t at = wire_begin(body, 109);
    wire_uint(body, 1, definition->id);
    wire_string(body, 2, definition->name);
    wire_uint(body, 3, (uint64_t)definition->scope);
    wire_uint(body, 4, definition->begun);
    wire_end(body, at);
    definition->dirty = false;
}

static void encode_shape(WireBuffer *body, const WindowDefinition *definition, Shape *shape)
{
    size_t at = wire_begin(body, 110);
    wire_uint(body, 1, definition->id);
    wire_uint(body, 2, shape->id);
    for (uint32_t i = 0; i < shape->row_count; i++) {
        const WindowRow *row = &shape->rows[i];
        writer_define_stack(row->stack_id);
        size_t one = wire_begin(body, 3);
        wire_uint(body, 1, row->stack_id);
        wire_uint(body, 2, row->values.allocs);
        wire_uint(body, 3, row->values.bytes);
        wire_uint(body, 4, row->values.frees);
        wire_uint(body, 5, row->values.freed_bytes);
        wire_uint(body, 6, row->values.temporary);
        wire_end(body, one);
    }
    wire_end(body, at);
    shape->written = true;
}

static void encode_iterations(WireBuffer *body, const WindowDefinition *definition, Shape *shape)
{
    if (!shape->written)
        encode_shape(body, definition, shape);
    size_t at = wire_begin(body, 111);
    wire_uint(body, 1, definition->id);
    wire_uint(body, 2, shape->id);
    wire_uint(body, 3, shape->iterations);
    wire_uint(body, 4, shape->duration_ns);
    wire_uint(body, 5, shape->max_peak);
    wire_uint(body, 6, shape->min_peak);
    wire_end(body, at);
    shape->dirty = false;
}

void windows_encode(WireBuffer *body)
{
    if (!lock_take(&table_lock, sys_gettid(), 1000000000)) /* see writer_snapshot */
        return;
    for (uint32_t i = 0; definition_count && i < DEFINITIONS; i++) {
        WindowDefinition *definition = definitions[i];
        if (!definition)
            continue;
        if (definition->dirty)
            encode_definition(body, definition);
        for (Shape *shape = definition->dirty_shapes; shape; shape = shape->next_dirty)
            encode_iterations(body, definition, shape);
        definition->dirty_shapes = NULL;
    }
    for (uint32_t i = 0; i < mark_count; i++) {
        size_t at = wire_begin(body, 108);
        wire_uint(body, 1, marks[i].timestamp);
        wire_string(body, 2, marks[i].text);
        wire_uint(body, 3, marks[i].tid);
        wire_end(body, at);
    }
    mark_count = 0;
    lock_release(&table_lock);
}

/* The child's windows are its own: what the parent counted stays in the parent's file. */
void window_table_after_fork(void)
{
    lock_reset(&table_lock);
    memset(definitions, 0, sizeof(definitions));
    definition_count = shape_count = mark_count = 0;
}
