// SPDX-License-Identifier: Apache-2.0
/*
 * Ended iterations, until the collector writes them: definitions by (name, scope), and the distinct
 * shapes (rows of one iteration) of each with the number of iterations that had it. Benchmarks
 * repeat themselves, so shapes are few; when they are not, SHAPES_MAX bounds the memory and what
 * goes beyond is counted as lost, as are names beyond NAMES_MAX.
 *
 * Two hash tables that double, never more than half full; a list of the definitions that changed
 * since the last snapshot, so that writing costs what changed. All of it is guarded by table_lock,
 * taken after drain_lock where both are needed.
 */
#include <errno.h>
#include <string.h>

#include "base/lock.h"
#include "runtime/arena.h"
#include "runtime/runtime.h"
#include "runtime/windows.h"
#include "runtime/writer.h"

enum {
    NAME_BYTES = 256,
    FIRST_CELLS = 512,
    NAMES_MAX = 1 << 16,
    SHAPES_MAX = 200000,
    MARKS = 4096,
};

typedef struct Shape {
    struct Shape *next_dirty;
    const WindowDefinition *definition;
    uint64_t hash, iterations, duration_ns, max_peak, min_peak;
    WindowRow *rows;
    uint32_t row_count, id;
    bool written, dirty;
} Shape;

struct WindowDefinition {
    WindowDefinition *next_dirty;
    uint64_t hash, begun, begun_written;
    uint32_t id, shapes;
    int scope;
    bool dirty;
    Shape *dirty_shapes;
    char name[]; /* zero-terminated */
};

/* Open addressing by hash; each cell points to a Shape or a WindowDefinition. */
typedef struct Table {
    void **cells;
    uint32_t count, capacity; /* a power of two */
    uint32_t most;            /* entries */
} Table;

typedef struct StoredMark {
    uint64_t timestamp;
    uint32_t tid;
    char text[NAME_BYTES];
} StoredMark;

static Lock table_lock;
static Table names = {.most = NAMES_MAX}, shapes = {.most = SHAPES_MAX};
static WindowDefinition *first_dirty, *last_dirty; /* in the order in which they changed */
static StoredMark *marks;                          /* MARKS of them, until written */
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

static uint64_t name_hash(const void *entry)
{
    return ((const WindowDefinition *)entry)->hash;
}

static uint64_t shape_hash(const void *entry)
{
    return ((const Shape *)entry)->hash;
}

static void place(void **cells, uint32_t capacity, uint64_t hash, void *entry)
{
    uint32_t at = (uint32_t)hash & (capacity - 1);
    while (cells[at])
        at = (at + 1) & (capacity - 1);
    cells[at] = entry;
}

/* Makes room for one more entry. */
static bool table_room(Table *table, uint64_t (*hash_of)(const void *entry))
{
    if (table->count >= table->most)
        return false;
    if (table->count < table->capacity / 2)
        return true;
    uint32_t capacity = table->capacity ? table->capacity * 2 : FIRST_CELLS;
    void **cells = arena_map(ARENA_WINDOWS, capacity * sizeof(*cells));
    if (!cells)
        return false;
    for (uint32_t i = 0; i < table->capacity; i++)
        if (table->cells[i])
            place(cells, capacity, hash_of(table->cells[i]), table->cells[i]);
    arena_unmap(ARENA_WINDOWS, table->cells, table->capacity * sizeof(*cells));
    table->cells = cells;
    table->capacity = capacity;
    return true;
}

static void table_put(Table *table, uint64_t hash, void *entry)
{
    place(table->cells, table->capacity, hash, entry);
    table->count++;
}

static WindowDefinition *name_find(uint64_t hash, const char *name, int scope)
{
    uint32_t mask = names.capacity - 1;
    if (!names.capacity)
        return NULL;
    for (uint32_t at = (uint32_t)hash & mask; names.cells[at]; at = (at + 1) & mask) {
        WindowDefinition *definition = names.cells[at];
        if (definition->hash == hash && definition->scope == scope &&
            strcmp(definition->name, name) == 0)
            return definition;
    }
    return NULL;
}

static WindowDefinition *name_make(uint64_t hash, const char *name, int scope)
{
    size_t length = strlen(name);
    WindowDefinition *definition = table_room(&names, name_hash)
                                       ? arena_take(ARENA_WINDOWS, sizeof(*definition) + length + 1)
                                       : NULL;
    if (!definition)
        return NULL;
    memcpy(definition->name, name, length);
    definition->hash = hash;
    definition->scope = scope;
    table_put(&names, hash, definition);
    definition->id = names.count;
    return definition;
}

static void mark_dirty(WindowDefinition *definition)
{
    if (definition->dirty)
        return;
    definition->dirty = true;
    definition->next_dirty = NULL;
    if (last_dirty)
        last_dirty->next_dirty = definition;
    else
        first_dirty = definition;
    last_dirty = definition;
}

WindowDefinition *window_table_begin(const char *name, int scope, uint32_t tid)
{
    char wanted[NAME_BYTES];
    copy_text(wanted, name);
    if (!wanted[0] || !lock_take(&table_lock, tid, 0))
        return NULL;
    uint64_t hash = hash_bytes((uint64_t)scope, wanted, strlen(wanted));
    WindowDefinition *found = name_find(hash, wanted, scope);
    if (!found)
        found = name_make(hash, wanted, scope);
    if (found) {
        found->begun++;
        mark_dirty(found);
    }
    lock_release(&table_lock);
    return found;
}

static Shape *shape_make(WindowDefinition *definition, uint64_t hash, const WindowRow *rows,
                         uint32_t count)
{
    if (!table_room(&shapes, shape_hash))
        return NULL;
    Shape *shape = arena_take(ARENA_WINDOWS, sizeof(*shape));
    WindowRow *copy = count && shape ? arena_take(ARENA_WINDOWS, count * sizeof(*rows)) : NULL;
    if (!shape || (count && !copy))
        return NULL;
    if (count)
        memcpy(copy, rows, count * sizeof(*rows));
    *shape = (Shape){.definition = definition,
                     .hash = hash,
                     .rows = copy,
                     .row_count = count,
                     .id = ++definition->shapes,
                     .min_peak = UINT64_MAX};
    table_put(&shapes, hash, shape);
    return shape;
}

static Shape *shape_find(WindowDefinition *definition, const WindowRow *rows, uint32_t count)
{
    uint64_t hash = hash_bytes(hash_mix(definition->id, count), rows, count * sizeof(*rows));
    uint32_t mask = shapes.capacity - 1;
    for (uint32_t at = (uint32_t)hash & mask; shapes.capacity && shapes.cells[at];
         at = (at + 1) & mask) {
        Shape *shape = shapes.cells[at];
        if (shape->hash == hash && shape->definition == definition && shape->row_count == count &&
            (!count || memcmp(shape->rows, rows, count * sizeof(*rows)) == 0))
            return shape;
    }
    return shape_make(definition, hash, rows, count);
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
            mark_dirty(definition);
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
    definition->begun_written = definition->begun;
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
    for (WindowDefinition *definition = first_dirty; definition;
         definition = definition->next_dirty) {
        if (definition->begun != definition->begun_written)
            encode_definition(body, definition);
        for (Shape *shape = definition->dirty_shapes; shape; shape = shape->next_dirty)
            encode_iterations(body, definition, shape);
        definition->dirty_shapes = NULL;
        definition->dirty = false;
    }
    first_dirty = last_dirty = NULL;
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

/* The child's windows are its own: what the parent counted stays in the parent's file. A thread
 * that the child has not may have been about to change the tables: they are left as they are. */
void window_table_after_fork(void)
{
    lock_reset(&table_lock);
    names = (Table){.most = NAMES_MAX};
    shapes = (Table){.most = SHAPES_MAX};
    first_dirty = last_dirty = NULL;
    mark_count = 0;
}
