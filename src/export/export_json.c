// SPDX-License-Identifier: Apache-2.0
/*
 * The report as JSON, described in docs/JSON.md (version 1: additions keep the number). The head is
 * one object per member, then stacks follow one per line, largest first. The frames of an address
 * are the same wherever it occurs, so their text is made once per address and kept; beyond that,
 * memory is that of one stack.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/alloc_site.h"
#include "export/frames.h"
#include "export/json_piece.h"
#include "export/names.h"
#include "export/text_head.h"
#include "profile/window_stats.h"

static double seconds(const View *view, uint64_t time_ns)
{
    uint64_t first = profile_first_ns(view->profile);
    return time_ns > first ? (double)(time_ns - first) / 1e9 : 0;
}

static json_t *window_object(const ProfileWindow *window)
{
    return json_pack("{s:o, s:s, s:I, s:I, s:I}", "name", json_name(window->name), "scope",
                     window->process_scope ? "process" : "thread", "iterations",
                     (json_int_t)window->iterations, "unfinished",
                     (json_int_t)window_unfinished(window), "duration_ns",
                     (json_int_t)window_duration_ns(window));
}

/* The snapshot that stands for a moment, as PREFIX_ns and PREFIX_s; null before the first. */
static void snapshot_put(json_t *object, const View *view, const char *prefix, uint64_t time_ns)
{
    char ns[32], s[32];
    int64_t index = profile_snapshot_at(view->profile, time_ns);
    uint64_t taken = index < 0 ? 0 : profile_snapshot(view->profile, (size_t)index)->time_ns;
    snprintf(ns, sizeof(ns), "%s_ns", prefix);
    snprintf(s, sizeof(s), "%s_s", prefix);
    json_object_set_new(object, ns, index < 0 ? json_null() : json_integer((json_int_t)taken));
    json_object_set_new(object, s, index < 0 ? json_null() : json_real(seconds(view, taken)));
}

static json_t *view_object(const View *view)
{
    json_t *o =
        json_pack("{s:s, s:s, s:s, s:o, s:I, s:f}", "kind", view->interval ? "interval" : "moment",
                  "metric", json_metric_key(view->metric), "granularity",
                  view->granularity == GRANULARITY_LINE ? "line" : "function", "filter",
                  json_name(view->filter), "time_ns", (json_int_t)view->at_ns, "time_s",
                  seconds(view, view->at_ns));
    if (o && view->window) {
        json_object_set_new(o, "kind", json_string("window"));
        json_object_set_new(o, "window", window_object(view->window));
    } else if (o && view->interval) {
        json_object_set_new(o, "from_ns", json_integer((json_int_t)view->from_ns));
        json_object_set_new(o, "from_s", json_real(seconds(view, view->from_ns)));
        snapshot_put(o, view, "from_snapshot", view->from_ns);
    } else if (o) {
        json_object_set_new(o, "at_peak", json_boolean(view->at_peak));
    }
    if (o && !view->window)
        snapshot_put(o, view, "snapshot", view->at_ns);
    if (o)
        json_object_set_new(o, "top",
                            view->top ? json_integer((json_int_t)view->top) : json_null());
    return o;
}

static json_t *process_object(const View *view)
{
    const ProfileProcess *p = profile_process(view->profile);
    json_t *arguments = json_array();
    for (size_t i = 0; arguments && i < p->argument_count; i++)
        json_array_append_new(arguments, json_name(p->arguments[i]));
    return json_pack("{s:o, s:o, s:o, s:I, s:I, s:I, s:f, s:o, s:I, s:o, s:o, s:I, s:b, s:o, s:o}",
                     "name", json_name(p->short_name), "path", json_name(p->full_path), "arguments",
                     arguments, "pid", (json_int_t)p->pid, "parent_pid", (json_int_t)p->parent_pid,
                     "start_ns", (json_int_t)p->start_ns, "duration_s",
                     seconds(view, profile_last_ns(view->profile)), "host", json_name(p->host_name),
                     "interval_ms", (json_int_t)p->interval_ms, "unwind", json_name(p->unwind_mode),
                     "writer", json_name(p->writer), "max_depth", (json_int_t)p->max_depth,
                     "forked", (int)p->forked, "allocator", json_name(p->allocator), "warning",
                     json_name(p->warning));
}

static json_t *peak_object(const View *view)
{
    uint64_t when = 0, bytes = profile_peak(view->profile, &when);
    return json_pack("{s:I, s:f, s:I}", "time_ns", (json_int_t)when, "time_s", seconds(view, when),
                     "bytes", (json_int_t)bytes);
}

static json_t *totals_object(const View *view)
{
    size_t count = profile_snapshot_count(view->profile);
    return json_values(count ? &profile_snapshot(view->profile, count - 1)->total
                             : &(const Values){0});
}

static json_t *sum_object(const View *view)
{
    if (!view->interval)
        return json_values(&view->total);
    return json_pack("{s:o, s:o}", "added", json_values(&view->total), "removed",
                     json_values(&view->total_removed));
}

static json_t *losses_object(const View *view)
{
    const ProfileLosses *l = profile_losses(view->profile);
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "stack_table_full",
                     (json_int_t)l->stack_table_full, "live_map_full", (json_int_t)l->live_map_full,
                     "missed_frees", (json_int_t)l->missed_frees, "write_failed",
                     (json_int_t)l->write_failed, "reentrant_skipped",
                     (json_int_t)l->reentrant_skipped, "depth_cut", (json_int_t)l->depth_cut,
                     "unwind_ended", (json_int_t)l->unwind_ended, "windows_dropped",
                     (json_int_t)l->windows_dropped);
}

static json_t *end_object(const View *view)
{
    static const char *const words[] = {"unknown", "exit",   "_exit", "quick_exit",
                                        "exec",    "signal", "abort"};
    int status = 0;
    EndReason reason = profile_end(view->profile, &status);
    if ((size_t)reason >= sizeof(words) / sizeof(words[0]))
        reason = END_UNKNOWN;
    json_t *o = json_pack("{s:s}", "reason", words[reason]);
    if (o && reason != END_UNKNOWN && reason != END_EXEC && reason != END_ABORT)
        json_object_set_new(o, "status", status < 0 ? json_null() : json_integer(status));
    return o;
}

static json_t *damage_object(const View *view)
{
    const ProfileError *damage = profile_damage(view->profile);
    if (!damage)
        return json_null();
    return json_pack("{s:I, s:o}", "offset", (json_int_t)damage->offset, "message",
                     json_name(damage->message));
}

static json_t *module_object(const ProfileModule *m)
{
    char build_id[129];
    module_build_id(m, build_id, sizeof(build_id));
    return json_pack("{s:I, s:o, s:o, s:o, s:I, s:I, s:b}", "id", (json_int_t)m->module_id, "path",
                     json_name(m->path), "build_id", json_name(*build_id ? build_id : NULL), "bias",
                     json_hex(m->bias), "load_ns", (json_int_t)m->load_ns, "unload_ns",
                     (json_int_t)m->unload_ns, "deleted", (int)m->deleted);
}

static json_t *modules_array(const View *view)
{
    json_t *modules = json_array();
    for (size_t i = 0; modules && i < profile_module_count(view->profile); i++)
        if (json_array_append_new(modules,
                                  module_object(profile_module(view->profile, (uint32_t)i)))) {
            json_decref(modules);
            return NULL;
        }
    return modules;
}

static int head_write(const View *view, FILE *out)
{
    const struct {
        const char *key;
        json_t *(*make)(const View *view);
    } members[] = {
        {"view", view_object},     {"process", process_object}, {"peak", peak_object},
        {"totals", totals_object}, {"sum", sum_object},         {"losses", losses_object},
        {"end", end_object},       {"damage", damage_object},   {"modules", modules_array},
    };
    fprintf(out, "{\"format\":\"memhawk-report\",\n\"version\":1");
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        fprintf(out, ",\n\"%s\":", members[i].key);
        int r = json_piece_write(members[i].make(view), out);
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- stacks --------------------------------------------------------------------------------- */

typedef struct FrameText {
    char *text;        /* its objects, joined by commas; NULL: not made yet */
    uint32_t count;    /* of objects */
    uint32_t plumbing; /* of them at the leaf end, allocator plumbing */
} FrameText;

static json_t *frame_object(const View *view, const ProfileFrame *frame, const ExportFrame *f)
{
    char build_id[129] = "";
    if (frame->module != ID_NONE)
        module_build_id(profile_module(view->profile, frame->module), build_id, sizeof(build_id));
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b}", "function",
                     f->known ? json_name(f->function) : json_null(), "raw", json_name(f->raw),
                     "file", json_name(f->file), "line",
                     f->line ? json_integer((json_int_t)f->line) : json_null(), "module",
                     json_name(frame_module_path(view, frame)), "build_id",
                     json_name(*build_id ? build_id : NULL), "offset",
                     json_hex(frame_offset(view, frame)), "inlined", (int)f->inlined);
}

static int frame_text_make(FrameReader *reader, uint32_t frame, FrameText *text)
{
    const ExportFrame *frames;
    NameBuffer joined = {0};
    int count = frame_reader_get(reader, frame, &frames), r = count < 0 ? count : 0;
    bool plumbing = true;
    for (int i = 0; r == 0 && i < count; i++) {
        const ProfileFrame *f = profile_frame(reader->view->profile, frame);
        json_t *object = frame_object(reader->view, f, &frames[i]);
        char *dumped = object ? json_dumps(object, JSON_COMPACT) : NULL;
        if (!dumped || (i && !name_append(&joined, ",", 1)) ||
            !name_append(&joined, dumped, strlen(dumped)))
            r = -ENOMEM;
        free(dumped);
        json_decref(object);
        plumbing = plumbing && alloc_site_is_plumbing(frames[i].function);
        text->plumbing += plumbing;
    }
    if (r < 0)
        name_buffer_done(&joined);
    text->text = joined.data;
    text->count = (uint32_t)(count < 0 ? 0 : count);
    return r;
}

static json_t *flags_array(uint32_t flags)
{
    static const struct {
        uint32_t flag;
        const char *name;
    } names[] = {{STACK_DEPTH_CUT, "depth-cut"},
                 {STACK_ENDED_EARLY, "ended-early"},
                 {STACK_BY_FRAME_POINTER, "by-frame-pointer"},
                 {STACK_THROUGH_SIGNAL, "through-signal"},
                 {STACK_LOST, "lost"}};
    json_t *array = json_array();
    for (size_t i = 0; array && i < sizeof(names) / sizeof(names[0]); i++)
        if (flags & names[i].flag)
            json_array_append_new(array, json_string(names[i].name));
    return array;
}

static json_t *stack_object(const View *view, const ViewStack *s, const ProfileStack *stack,
                            size_t site)
{
    json_t *o = view->interval ? json_pack("{s:o, s:o}", "added", json_values(&s->values),
                                           "removed", json_values(&s->removed))
                               : json_values(&s->values);
    if (!o || json_object_set_new(o, "id", json_integer((json_int_t)stack->trace_id)) ||
        json_object_set_new(o, "flags", flags_array(stack->flags)) ||
        json_object_set_new(o, "site", json_integer((json_int_t)site))) {
        json_decref(o);
        return NULL;
    }
    return o;
}

/* The index of the allocation site among the objects of all frames. */
static size_t site_index(const ProfileStack *stack, const FrameText *texts)
{
    size_t skip = 0, count = 0;
    bool skipping = true;
    for (size_t i = 0; i < stack->depth; i++) {
        const FrameText *t = &texts[stack->frames[i]];
        skip += skipping ? t->plumbing : 0;
        skipping = skipping && t->plumbing == t->count;
        count += t->count;
    }
    return skip < count ? skip : count ? count - 1 : 0;
}

static int stack_write(FrameReader *reader, FrameText *texts, const ViewStack *s, FILE *out)
{
    const View *view = reader->view;
    const ProfileStack *stack = profile_stack(view->profile, s->stack);
    int r = 0;
    for (size_t i = 0; r == 0 && i < stack->depth; i++)
        if (!texts[stack->frames[i]].text)
            r = frame_text_make(reader, stack->frames[i], &texts[stack->frames[i]]);
    if (r < 0)
        return r;
    json_t *object = stack_object(view, s, stack, site_index(stack, texts));
    char *values = object ? json_dumps(object, JSON_COMPACT) : NULL;
    json_decref(object);
    if (!values)
        return -ENOMEM;
    values[strlen(values) - 1] = '\0'; /* its closing brace: frames follow */
    fprintf(out, "%s,\"frames\":[", values);
    free(values);
    for (size_t i = 0; i < stack->depth; i++)
        fprintf(out, "%s%s", i ? "," : "", texts[stack->frames[i]].text);
    return fputs("]}", out) < 0 ? -EIO : 0;
}

static int write_json(const View *view, FILE *out)
{
    size_t frame_count = profile_frame_count(view->profile);
    FrameText *texts = calloc(frame_count + 1, sizeof(*texts));
    FrameReader reader;
    if (!texts)
        return -ENOMEM;
    frame_reader_init(&reader, view);
    int r = head_write(view, out);
    if (r == 0)
        fputs(",\n\"stacks\":[", out);
    for (size_t i = 0; r == 0 && i < view->stack_count && (!view->top || i < view->top); i++) {
        fputs(i ? ",\n" : "\n", out);
        r = stack_write(&reader, texts, &view->stacks[i], out);
    }
    if (r == 0)
        fputs("\n]}\n", out);
    for (size_t i = 0; i < frame_count; i++)
        free(texts[i].text);
    free(texts);
    frame_reader_done(&reader);
    return r < 0 ? r : ferror(out) ? -EIO : 0;
}

const Exporter export_json = {
    .name = "json",
    .extension = "json",
    .what = "every figure and frame, for programs (docs/JSON.md)",
    .write = write_json,
};
