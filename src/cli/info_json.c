// SPDX-License-Identifier: Apache-2.0
/*
 * `memhawk info --json` (jansson). Times are numbers in nanoseconds and, beside them, RFC 3339 for
 * people. The words are those of the JSON report (docs/JSON.md).
 */
#include <errno.h>
#include <jansson.h>

#include "cli/info.h"
#include "export/json_piece.h"

static json_t *number(uint64_t value)
{
    return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

static json_t *time_text(uint64_t time_ns)
{
    char buffer[64];
    info_time(time_ns, buffer, sizeof(buffer));
    return *buffer ? json_string(buffer) : json_null();
}

static json_t *make_process(const Profile *profile)
{
    const ProfileProcess *process = profile_process(profile);
    json_t *arguments = json_array(), *object = json_object();
    for (size_t i = 0; i < process->argument_count; i++)
        json_array_append_new(arguments, json_name(process->arguments[i]));
    json_object_set_new(object, "name", json_name(process->short_name));
    json_object_set_new(object, "path", json_name(process->full_path));
    json_object_set_new(object, "pid", json_integer(process->pid));
    json_object_set_new(object, "parent_pid", json_integer(process->parent_pid));
    json_object_set_new(object, "forked", json_boolean(process->forked));
    json_object_set_new(object, "host", json_name(process->host_name));
    json_object_set_new(object, "arguments", arguments);
    json_object_set_new(object, "start_ns", number(process->start_ns));
    json_object_set_new(object, "start", time_text(process->start_ns));
    json_object_set_new(object, "allocator", json_name(process->allocator));
    json_object_set_new(object, "warning", json_name(process->warning));
    return object;
}

static json_t *make_recorder(const Profile *profile)
{
    const ProfileProcess *process = profile_process(profile);
    json_t *object = json_object();
    json_object_set_new(object, "writer", json_name(process->writer));
    json_object_set_new(object, "format_version", json_integer(process->format_version));
    json_object_set_new(object, "interval_ms", json_integer(process->interval_ms));
    json_object_set_new(object, "max_depth", json_integer(process->max_depth));
    json_object_set_new(object, "unwind", json_name(process->unwind_mode));
    return object;
}

static json_t *make_run(const Profile *profile)
{
    static const char *const reasons[] = {"unknown", "exit",   "_exit", "quick_exit",
                                          "exec",    "signal", "abort"};
    size_t count = profile_snapshot_count(profile);
    int status = 0;
    uint64_t peak_ns = 0, peak = profile_peak(profile, &peak_ns);
    EndReason reason = profile_end(profile, &status);
    json_t *object = json_object();
    json_object_set_new(object, "first_ns", number(profile_first_ns(profile)));
    json_object_set_new(object, "last_ns", number(profile_last_ns(profile)));
    json_object_set_new(object, "snapshots", number(count));
    json_object_set_new(object, "stacks", number(profile_stack_count(profile)));
    json_object_set_new(object, "peak_bytes", number(peak));
    json_object_set_new(object, "peak_ns", number(peak_ns));
    json_object_set_new(object, "ended", json_boolean(profile_is_ended(profile)));
    json_object_set_new(object, "end_reason", json_string(reasons[reason]));
    json_object_set_new(object, "end_status", status < 0 ? json_null() : json_integer(status));
    if (count) {
        const ProfileSnapshot *last = profile_snapshot(profile, count - 1);
        json_object_set_new(object, "last", json_values(&last->total));
        json_object_set_new(object, "rss_bytes", number(last->rss_bytes));
        json_object_set_new(object, "recorder_bytes", number(last->own_bytes));
    }
    json_object_set_new(object, "inherited", json_values(profile_inherited(profile)));
    return object;
}

static json_t *make_losses(const Profile *profile)
{
    const ProfileLosses *losses = profile_losses(profile);
    return json_pack(
        "{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "stack_table_full",
        (json_int_t)losses->stack_table_full, "live_map_full", (json_int_t)losses->live_map_full,
        "missed_frees", (json_int_t)losses->missed_frees, "write_failed",
        (json_int_t)losses->write_failed, "reentrant_skipped",
        (json_int_t)losses->reentrant_skipped, "depth_cut", (json_int_t)losses->depth_cut,
        "unwind_ended", (json_int_t)losses->unwind_ended, "windows_dropped",
        (json_int_t)losses->windows_dropped);
}

static json_t *make_module(const Session *session, uint32_t index)
{
    const ProfileModule *module = profile_module(session->profile, index);
    const char *found = NULL;
    char build_id[80];
    SymbolSource source = symbol_source(session->symbolizer, session->profile, index, &found);
    json_t *object = json_object();
    info_build_id(module, build_id, sizeof(build_id));
    json_object_set_new(object, "path", json_name(module->path));
    json_object_set_new(object, "build_id", *build_id ? json_string(build_id) : json_null());
    json_object_set_new(object, "bias", json_hex(module->bias));
    json_object_set_new(object, "load_ns", number(module->load_ns));
    json_object_set_new(object, "unload_ns", number(module->unload_ns));
    json_object_set_new(object, "deleted", json_boolean(module->deleted));
    json_object_set_new(object, "names", json_string(symbol_source_name(source)));
    json_object_set_new(object, "names_from", json_name(found));
    return object;
}

static json_t *make_windows(const Profile *profile)
{
    json_t *array = json_array();
    for (size_t i = 0; i < profile_window_count(profile); i++) {
        const ProfileWindow *window = profile_window(profile, i);
        json_t *object = json_object();
        json_object_set_new(object, "name", json_name(window->name));
        json_object_set_new(object, "scope",
                            json_string(window->process_scope ? "process" : "thread"));
        json_object_set_new(object, "iterations", number(window->iterations));
        json_array_append_new(array, object);
    }
    return array;
}

static json_t *make_marks(const Profile *profile)
{
    json_t *array = json_array();
    for (size_t i = 0; i < profile_mark_count(profile); i++) {
        const ProfileMark *mark = profile_mark(profile, i);
        json_t *object = json_object();
        json_object_set_new(object, "time_ns", number(mark->time_ns));
        json_object_set_new(object, "text", json_name(mark->text));
        json_object_set_new(object, "thread_id", json_integer(mark->thread_id));
        json_array_append_new(array, object);
    }
    return array;
}

int info_print_json(const Session *session, FILE *out)
{
    const Profile *profile = session->profile;
    const ProfileError *damage = profile_damage(profile);
    json_t *modules = json_array(), *root = json_object();
    for (uint32_t i = 0; i < profile_module_count(profile); i++)
        json_array_append_new(modules, make_module(session, i));
    json_object_set_new(root, "version", json_integer(1));
    json_object_set_new(root, "file", json_name(profile_path(profile)));
    json_object_set_new(root, "file_bytes", number(profile_file_bytes(profile)));
    json_object_set_new(root, "process", make_process(profile));
    json_object_set_new(root, "recorder", make_recorder(profile));
    json_object_set_new(root, "run", make_run(profile));
    json_object_set_new(root, "losses", make_losses(profile));
    json_object_set_new(root, "damage",
                        damage ? json_pack("{s:I,s:o}", "offset", (json_int_t)damage->offset,
                                           "message", json_name(damage->message))
                               : json_null());
    json_object_set_new(root, "modules", modules);
    json_object_set_new(root, "windows", make_windows(profile));
    json_object_set_new(root, "marks", make_marks(profile));
    int r = json_dumpf(root, out, JSON_INDENT(2)) == 0 ? 0 : -EIO;
    fputc('\n', out);
    json_decref(root);
    return r;
}
