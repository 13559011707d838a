// SPDX-License-Identifier: Apache-2.0
/*
 * From decoded records to the model. A record may list its parts in any order, so definitions go
 * first: modules, frames, stacks, then the new values, then windows and marks. An id that is used
 * but not defined gets a place without content (a stack of depth 0, a frame at address 0), so the
 * figures stay whole, and the damage is noted; a later definition fills the place. Definitions
 * never change: the first of an id counts, a different second one is noted.
 *
 * Snapshot times are made strictly rising (by 1 ns where they are not), so "the state at a time"
 * has one answer. Cost per change: one id look-up and one append of a few bytes.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/model.h"

enum { FORMAT_VERSION_KNOWN = 1 };

int model_new(uint64_t memory_max_bytes, Profile **ret_profile)
{
    Profile *profile = calloc(1, sizeof *profile);

    if (!profile)
        return -ENOMEM;
    profile->fd = -1;
    profile->ahead_least = AHEAD_LEAST;
    profile->budget.limit_bytes = memory_max_bytes;
    profile->pool.budget = &profile->budget;
    IdMap *maps[] = {&profile->module_ids, &profile->module_keys, &profile->frame_ids,
                     &profile->stack_ids,  &profile->window_ids,  &profile->shape_ids};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        maps[i]->budget = &profile->budget;
    *ret_profile = profile;
    return 0;
}

void model_damage(Profile *profile, int code, uint64_t offset, const char *format, ...)
{
    size_t index = profile->damage_count++;
    va_list args;

    if (index >= DAMAGES_KEPT)
        return;
    ProfileError *damage = &profile->damages[index];
    damage->code = code;
    damage->offset = offset;
    va_start(args, format);
    vsnprintf(damage->message, sizeof damage->message, format, args);
    va_end(args);
}

static Values values_from(const DecodedAllocs *allocs)
{
    return (Values){{
        [METRIC_LIVE_BYTES] = allocs->live_bytes,
        [METRIC_LIVE_COUNT] = allocs->live_count,
        [METRIC_TOTAL_BYTES] = (int64_t)allocs->total_bytes,
        [METRIC_TOTAL_COUNT] = (int64_t)allocs->total_count,
        [METRIC_TEMPORARY] = (int64_t)allocs->temporary_count,
        [METRIC_OVERHEAD] = allocs->overhead_bytes,
    }};
}

/* ---- process -------------------------------------------------------------------------------- */

static int copy_text(Profile *profile, const char *text, const char **ret_text)
{
    *ret_text = pool_text(&profile->pool, text, strlen(text));
    return *ret_text ? 0 : -ENOMEM;
}

static int copy_arguments(Profile *profile, const DecodedProcess *from, ProfileProcess *to)
{
    const char **list = pool_take(&profile->pool, from->argument_count * sizeof *list + 1);

    if (!list)
        return -ENOMEM;
    for (size_t i = 0; i < from->argument_count; i++) {
        if (copy_text(profile, from->arguments[i], &list[i]) < 0)
            return -ENOMEM;
    }
    to->arguments = list;
    to->argument_count = from->argument_count;
    return 0;
}

int model_put_process(Profile *profile, const DecodedProcess *from, uint64_t offset)
{
    ProfileProcess to = {
        .pid = from->pid,
        .parent_pid = from->parent_pid,
        .start_ns = from->start_ns,
        .format_version = from->format_version,
        .interval_ms = from->interval_ms,
        .max_depth = from->max_depth,
        .forked = from->forked,
    };

    if (copy_text(profile, from->short_name, &to.short_name) < 0 ||
        copy_text(profile, from->full_path, &to.full_path) < 0 ||
        copy_text(profile, from->writer, &to.writer) < 0 ||
        copy_text(profile, from->host_name, &to.host_name) < 0 ||
        copy_text(profile, from->unwind_mode, &to.unwind_mode) < 0 ||
        copy_text(profile, from->allocator, &to.allocator) < 0 ||
        copy_text(profile, from->warning, &to.warning) < 0 ||
        copy_arguments(profile, from, &to) < 0)
        return -ENOMEM;
    if (!to.warning[0])
        to.warning = NULL;
    if (to.format_version > FORMAT_VERSION_KNOWN &&
        profile->process.format_version != to.format_version)
        model_damage(profile, -ENOTSUP, offset,
                     "format version %u is newer than this program knows (%d): "
                     "what it does not know is left out",
                     to.format_version, FORMAT_VERSION_KNOWN);
    profile->process = to;
    return 0;
}

/* ---- frames and stacks ---------------------------------------------------------------------- */

static int frame_get(Profile *profile, uint32_t ptr_id, uint32_t *ret_frame)
{
    uint32_t index = id_map_find(&profile->frame_ids, ptr_id);
    FrameState *frame;

    if (index == ID_MAP_NONE) {
        index = (uint32_t)profile->frames.count;
        if (!vector_room(&profile->frames, &profile->budget, 1) ||
            id_map_put(&profile->frame_ids, ptr_id, index) < 0)
            return -ENOMEM;
        frame = &profile->frames.items[profile->frames.count++];
        *frame = (FrameState){.pub = {.module = ID_NONE}};
        profile->undefined_frames++;
    }
    *ret_frame = index;
    return 0;
}

static uint32_t module_of(Profile *profile, const DecodedFrame *from, uint64_t offset)
{
    uint32_t module;

    if (from->module_id == 0)
        return model_module_at(profile, from->address, from->exact);
    module = id_map_find(&profile->module_ids, from->module_id);
    if (module == ID_MAP_NONE)
        model_damage(profile, -EBADMSG, offset, "frame %u is in module %u, which is not defined",
                     from->ptr_id, from->module_id);
    return module;
}

static int put_frame(Profile *profile, const DecodedFrame *from, uint64_t offset)
{
    FrameState *frame;
    uint32_t index;

    if (frame_get(profile, from->ptr_id, &index) < 0)
        return -ENOMEM;
    frame = &profile->frames.items[index];
    if (frame->defined) {
        if (frame->pub.address != from->address || frame->pub.exact != from->exact)
            model_damage(profile, -EBADMSG, offset, "frame %u is defined twice, differently",
                         from->ptr_id);
        return 0;
    }
    frame->pub.address = from->address;
    frame->pub.exact = from->exact;
    frame->pub.module = module_of(profile, from, offset);
    frame->defined = true;
    profile->undefined_frames--;
    return 0;
}

/* Room for the series of stack INDEX, the next one. */
static bool series_room(Profile *profile, uint32_t index)
{
    char *memory;

    if (index / SERIES_PAGE < profile->series_pages.count)
        return true;
    memory = pool_take(&profile->pool, sizeof(SeriesPage) + sizeof(Series));
    if (!memory || !vector_room(&profile->series_pages, &profile->budget, 1))
        return false;
    memory += -(uintptr_t)memory % sizeof(Series);
    memset(memory, 0, sizeof(SeriesPage));
    profile->series_pages.items[profile->series_pages.count++] = (SeriesPage *)memory;
    return true;
}

int model_stack(Profile *profile, uint32_t trace_id, uint32_t *ret_stack)
{
    uint32_t index = id_map_find(&profile->stack_ids, trace_id);

    if (index == ID_MAP_NONE) {
        index = (uint32_t)profile->stacks.count;
        if (!vector_room(&profile->stacks, &profile->budget, 1) || !series_room(profile, index) ||
            id_map_put(&profile->stack_ids, trace_id, index) < 0)
            return -ENOMEM;
        profile->stacks.items[profile->stacks.count++] =
            (StackState){.pub = {.trace_id = trace_id}};
        profile->undefined_stacks++;
    }
    *ret_stack = index;
    return 0;
}

static bool same_frames(const Profile *profile, const StackState *stack, const uint32_t *ptr_ids,
                        size_t depth)
{
    if (stack->pub.depth != depth)
        return false;
    for (size_t i = 0; i < depth; i++) {
        if (stack->pub.frames[i] != id_map_find(&profile->frame_ids, ptr_ids[i]))
            return false;
    }
    return true;
}

static int put_stack(Profile *profile, const DecodedStack *from, const uint32_t *ptr_ids,
                     uint64_t offset)
{
    StackState *stack;
    uint32_t *frames;
    uint32_t index;

    if (model_stack(profile, from->trace_id, &index) < 0)
        return -ENOMEM;
    stack = &profile->stacks.items[index];
    if (stack->defined) {
        if (!same_frames(profile, stack, ptr_ids, from->depth))
            model_damage(profile, -EBADMSG, offset, "stack %u is defined twice, differently",
                         from->trace_id);
        return 0;
    }
    frames = pool_take(&profile->pool, from->depth * sizeof *frames);
    if (!frames)
        return -ENOMEM;
    for (size_t i = 0; i < from->depth; i++) {
        if (frame_get(profile, ptr_ids[i], &frames[i]) < 0)
            return -ENOMEM;
    }
    stack->pub.frames = frames;
    stack->pub.depth = from->depth;
    stack->pub.flags = from->flags;
    stack->defined = true;
    profile->undefined_stacks--;
    return 0;
}

/* ---- values --------------------------------------------------------------------------------- */

/* KNOWN: its stack, ID_MAP_NONE: to be looked up. */
static int put_change(Profile *profile, const DecodedChange *change, uint32_t known,
                      uint32_t snapshot)
{
    Values now = values_from(&change->now), sum = profile->sum;
    uint32_t index = known;
    Series *series;

    if (known == ID_MAP_NONE && model_stack(profile, change->trace_id, &index) < 0)
        return -ENOMEM;
    series = model_series(profile, index);
    for (int m = 0; m < METRIC_MAX; m++)
        sum.v[m] = wrap_add(sum.v[m], wrap_sub(now.v[m], series->now.v[m]));
    if (series_put(series, &profile->pool, snapshot, &now) < 0)
        return -ENOMEM;
    profile->sum = sum;
    return 0;
}

/*
 * Changes hit stacks in no order, and a large profile is larger than any cache: fetch ahead what a
 * change will touch, its id's place first, then the series of its stack, then the free end of the
 * chunk that this points to.
 */
enum { FETCH_STEP = 8, AHEAD = 32 };
_Static_assert((int)AHEAD > 2 * FETCH_STEP, "what was looked up stays until it is used");

/* AHEAD holds the stack of change I, as far as it was known when it was looked up, at I % AHEAD. */
static inline void fetch_ahead(const Profile *profile, const DecodedSnapshot *from, size_t at,
                               uint32_t *ahead)
{
    const DecodedChange *changes = from->changes.items;
    size_t count = from->changes.count, look = at + 2 * FETCH_STEP;
    uint32_t near = ahead[(at + FETCH_STEP) % AHEAD];

    if (look + FETCH_STEP < count)
        id_map_fetch(&profile->stack_ids, changes[look + FETCH_STEP].trace_id);
    if (look < count) {
        uint32_t index = id_map_find(&profile->stack_ids, changes[look].trace_id);
        ahead[look % AHEAD] = index;
        if (index != ID_MAP_NONE)
            __builtin_prefetch(model_series(profile, index), 1);
    }
    if (at + FETCH_STEP < count && near != ID_MAP_NONE)
        series_fetch(model_series(profile, near));
}

/* The first ones are not fetched ahead, nor known. */
static int put_changes(Profile *profile, const DecodedSnapshot *from, uint32_t snapshot)
{
    uint32_t ahead[AHEAD];

    memset(ahead, 0xff, sizeof ahead);
    for (size_t i = 0; i < from->changes.count; i++) {
        fetch_ahead(profile, from, i, ahead);
        if (put_change(profile, &from->changes.items[i], ahead[i % AHEAD], snapshot) < 0)
            return -ENOMEM;
    }
    return 0;
}

static uint64_t rising_time(Profile *profile, uint64_t time_ns, uint64_t offset)
{
    uint64_t previous;

    if (profile->snapshots.count == 0)
        return time_ns < TIME_LAST - 1 ? time_ns : TIME_LAST - 1;
    previous = profile->snapshots.items[profile->snapshots.count - 1].time_ns;
    if (time_ns < previous)
        model_damage(profile, -EBADMSG, offset, "time runs backwards by %.9f s",
                     (double)(previous - time_ns) / 1e9);
    if (time_ns <= previous)
        time_ns = previous + 1;
    return time_ns < TIME_LAST ? time_ns : TIME_LAST - 1;
}

static int put_moment(Profile *profile, const DecodedSnapshot *from, uint64_t offset)
{
    ProfileSnapshot *snapshot;
    uint64_t time_ns = rising_time(profile, from->time_ns, offset);
    int64_t live;

    snapshot = vector_put(&profile->snapshots, &profile->budget);
    if (!snapshot)
        return -ENOMEM;
    *snapshot = (ProfileSnapshot){
        .time_ns = time_ns,
        .kind = from->kind,
        .total = from->has_total ? values_from(&from->total) : profile->sum,
        .rss_bytes = from->rss_bytes,
        .own_bytes = from->own_bytes,
        .threads = from->threads,
    };
    live = snapshot->total.v[METRIC_LIVE_BYTES];
    if (live > profile->snapshots.items[profile->peak_snapshot].total.v[METRIC_LIVE_BYTES])
        profile->peak_snapshot = profile->snapshots.count - 1;
    if (from->peak_bytes > profile->peak_bytes) {
        profile->peak_bytes = from->peak_bytes;
        profile->peak_time_ns = from->peak_time_ns;
    }
    return 0;
}

static int put_marks(Profile *profile, const DecodedSnapshot *from)
{
    for (size_t i = 0; i < from->marks.count; i++) {
        const DecodedMark *mark = &from->marks.items[i];
        ProfileMark *slot = vector_put(&profile->marks, &profile->budget);
        if (!slot)
            return -ENOMEM;
        *slot = (ProfileMark){.time_ns = mark->time_ns, .text = "", .thread_id = mark->thread_id};
        if (copy_text(profile, mark->text, &slot->text) < 0)
            return -ENOMEM;
    }
    return 0;
}

static void put_rest(Profile *profile, const DecodedSnapshot *from)
{
    if (from->has_losses) {
        const DecodedLosses *l = &from->losses;
        profile->losses = (ProfileLosses){
            l->stack_table_full,  l->live_map_full, l->missed_frees, l->write_failed,
            l->reentrant_skipped, l->depth_cut,     l->unwind_ended, l->windows_dropped,
        };
    }
    if (from->has_inherited)
        profile->inherited = values_from(&from->inherited);
    if (from->has_end) {
        profile->ended = true;
        profile->end_reason = from->end_reason <= END_ABORT ? from->end_reason : END_UNKNOWN;
        profile->end_status = from->end_status;
    }
}

static void note_undefined(Profile *profile, size_t frames, size_t stacks, uint64_t offset)
{
    if (profile->undefined_stacks > stacks)
        model_damage(profile, -EBADMSG, offset, "%zu stacks are used but not defined",
                     profile->undefined_stacks - stacks);
    if (profile->undefined_frames > frames)
        model_damage(profile, -EBADMSG, offset, "%zu frames are used but not defined",
                     profile->undefined_frames - frames);
}

int model_put_snapshot(Profile *profile, const DecodedSnapshot *from, uint64_t offset)
{
    uint32_t index = (uint32_t)profile->snapshots.count;
    size_t frames = profile->undefined_frames, stacks = profile->undefined_stacks;

    if (profile->snapshots.count >= UINT32_MAX || profile->stacks.count >= UINT32_MAX / 2)
        return -ENOMEM;
    if (from->has_process && (from->process.pid || from->process.short_name[0]) &&
        model_put_process(profile, &from->process, offset) < 0)
        return -ENOMEM;
    if (model_put_modules(profile, from, offset) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < from->frames.count; i++) {
        if (put_frame(profile, &from->frames.items[i], offset) < 0)
            return -ENOMEM;
    }
    for (size_t i = 0; i < from->stacks.count; i++) {
        const DecodedStack *stack = &from->stacks.items[i];
        const uint32_t *ids = stack->depth ? &from->ptr_ids.items[stack->first] : NULL;
        if (put_stack(profile, stack, ids, offset) < 0)
            return -ENOMEM;
    }
    if (put_changes(profile, from, index) < 0)
        return -ENOMEM;
    if (put_moment(profile, from, offset) < 0 || put_marks(profile, from) < 0 ||
        model_put_windows(profile, from, offset) < 0)
        return -ENOMEM;
    put_rest(profile, from);
    note_undefined(profile, frames, stacks, offset);
    return 0;
}
