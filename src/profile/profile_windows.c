// SPDX-License-Identifier: Apache-2.0
/*
 * Measurement windows in the model. A window's iterations with equal rows are one shape; a shape is
 * told once, and how often it occurred is told again and again as a running state, so the last word
 * counts. Look-ups by (window, shape) are hashed.
 */
#include <errno.h>
#include <string.h>

#include "profile/model.h"

enum { WINDOW_SPANS_KEPT = 1024 };

static int put_window(Profile *profile, const DecodedWindow *from, uint64_t offset)
{
    uint32_t index = id_map_find(&profile->window_ids, from->window_id);
    WindowState *window;
    const char *name;

    if (index != ID_MAP_NONE) {
        window = &profile->windows.items[index];
        if (from->name[0] && strcmp(window->pub.name, from->name) != 0)
            model_damage(profile, -EBADMSG, offset, "window %u is defined twice, differently",
                         from->window_id);
        else
            window->pub.begun = from->begun;
        return 0;
    }
    name = pool_text(&profile->pool, from->name, strlen(from->name));
    index = (uint32_t)profile->windows.count;
    if (!name || !vector_room(&profile->windows, &profile->budget, 1) ||
        id_map_put(&profile->window_ids, from->window_id, index) < 0)
        return -ENOMEM;
    profile->windows.items[profile->windows.count++] = (WindowState){
        .pub = {.name = name, .process_scope = from->scope == 1, .begun = from->begun}};
    return 0;
}

static uint64_t shape_key(uint32_t window, uint32_t shape_id)
{
    return (uint64_t)window << 32 | shape_id;
}

static int copy_rows(Profile *profile, const DecodedSnapshot *snapshot, const DecodedShape *from,
                     WindowShapeRow **ret_rows)
{
    WindowShapeRow *rows = pool_take(&profile->pool, from->row_count * sizeof *rows);

    if (!rows)
        return -ENOMEM;
    for (size_t i = 0; i < from->row_count; i++) {
        const DecodedRow *row = &snapshot->rows.items[from->first_row + i];
        rows[i].values = (WindowValues){row->allocations, row->bytes, row->frees, row->freed_bytes,
                                        row->temporary};
        if (model_stack(profile, row->trace_id, &rows[i].stack) < 0)
            return -ENOMEM;
    }
    *ret_rows = rows;
    return 0;
}

static int put_shape(Profile *profile, const DecodedSnapshot *snapshot, const DecodedShape *from,
                     uint64_t offset)
{
    uint32_t index = id_map_find(&profile->window_ids, from->window_id);
    WindowShapeRow *rows;
    WindowState *window;
    uint64_t key;

    if (index == ID_MAP_NONE) {
        model_damage(profile, -EBADMSG, offset, "window %u is used but not defined",
                     from->window_id);
        return 0;
    }
    key = shape_key(index, from->shape_id);
    if (id_map_find(&profile->shape_ids, key) != ID_MAP_NONE)
        return 0;
    window = &profile->windows.items[index];
    if (copy_rows(profile, snapshot, from, &rows) < 0 ||
        !vector_room(&window->shapes, &profile->budget, 1) ||
        id_map_put(&profile->shape_ids, key, (uint32_t)window->shapes.count) < 0)
        return -ENOMEM;
    window->shapes.items[window->shapes.count++] =
        (ProfileWindowShape){.rows = rows, .row_count = from->row_count};
    window->pub.shapes = window->shapes.items;
    window->pub.shape_count = window->shapes.count;
    return 0;
}

static void put_iterations(Profile *profile, const DecodedIterations *from, uint64_t offset)
{
    uint32_t index = id_map_find(&profile->window_ids, from->window_id);
    uint32_t at = index == ID_MAP_NONE
                      ? ID_MAP_NONE
                      : id_map_find(&profile->shape_ids, shape_key(index, from->shape_id));
    ProfileWindowShape *shape;
    WindowState *window;

    if (at == ID_MAP_NONE) {
        model_damage(profile, -EBADMSG, offset, "shape %u of window %u is used but not defined",
                     from->shape_id, from->window_id);
        return;
    }
    window = &profile->windows.items[index];
    shape = &window->shapes.items[at];
    window->pub.iterations += from->iterations - shape->iterations;
    shape->iterations = from->iterations;
    shape->duration_ns = from->duration_ns;
    shape->max_peak_bytes = from->max_peak_bytes;
    shape->min_peak_bytes = from->min_peak_bytes;
}

/* The window was at work between the snapshot before and this one. */
static int note_active(Profile *profile, uint32_t window_id)
{
    uint32_t index = id_map_find(&profile->window_ids, window_id);
    size_t last = profile->snapshots.count - 1;
    ProfileSpan span, *before;
    WindowState *window;

    if (index == ID_MAP_NONE)
        return 0;
    window = &profile->windows.items[index];
    span.from_ns = last ? profile->snapshots.items[last - 1].time_ns : profile_first_ns(profile);
    span.to_ns = profile->snapshots.items[last].time_ns;
    before = window->spans.count ? &window->spans.items[window->spans.count - 1] : NULL;
    if (before && (window->open || before->to_ns >= span.from_ns ||
                   window->spans.count == WINDOW_SPANS_KEPT)) {
        before->to_ns = span.to_ns;
    } else {
        if (!vector_room(&window->spans, &profile->budget, 1))
            return -ENOMEM;
        window->spans.items[window->spans.count++] = span;
    }
    window->open = window->pub.begun > window->pub.iterations;
    window->pub.spans = window->spans.items;
    window->pub.span_count = window->spans.count;
    return 0;
}

static int note_all_active(Profile *profile, const DecodedSnapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->windows.count; i++) {
        if (note_active(profile, snapshot->windows.items[i].window_id) < 0)
            return -ENOMEM;
    }
    for (size_t i = 0; i < snapshot->iterations.count; i++) {
        if (note_active(profile, snapshot->iterations.items[i].window_id) < 0)
            return -ENOMEM;
    }
    return 0;
}

int model_put_windows(Profile *profile, const DecodedSnapshot *snapshot, uint64_t offset)
{
    for (size_t i = 0; i < snapshot->windows.count; i++) {
        if (put_window(profile, &snapshot->windows.items[i], offset) < 0)
            return -ENOMEM;
    }
    for (size_t i = 0; i < snapshot->shapes.count; i++) {
        if (put_shape(profile, snapshot, &snapshot->shapes.items[i], offset) < 0)
            return -ENOMEM;
    }
    for (size_t i = 0; i < snapshot->iterations.count; i++)
        put_iterations(profile, &snapshot->iterations.items[i], offset);
    return note_all_active(profile, snapshot);
}
