// SPDX-License-Identifier: Apache-2.0
/*
 * /api/v1/process: everything about one profile but its figures over time. Costs its modules and
 * marks; parents cost a short lock of each other process before. No state.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/export.h"
#include "export/json_piece.h"
#include "profile/series.h"
#include "web/api.h"
#include "web/process_json.h"
#include "web/query.h"

static json_t *number(uint64_t value)
{
    return json_integer((json_int_t)value);
}

static json_t *or_null(const char *text)
{
    return text && *text ? json_name(text) : json_null();
}

static json_t *build_id(const ProfileModule *module)
{
    char text[129] = "";
    size_t size = module->build_id ? module->build_id_size : 0;
    for (size_t i = 0; i < size && i < (sizeof(text) - 1) / 2; i++)
        snprintf(text + 2 * i, 3, "%02x", module->build_id[i]);
    return or_null(text);
}

static bool is_of_system(const char *path)
{
    return strncmp(path, "/usr/", 5) == 0 || strncmp(path, "/lib", 4) == 0;
}

/* What would bring more names; NULL: nothing, or not known yet. */
static json_t *hint(const ProfileModule *module, int source)
{
    if (source < 0 || source == SYMBOL_DWARF || module->path[0] == '[')
        return json_null();
    if (source == SYMBOL_NONE)
        return json_string(module->deleted ? "the file was replaced while it was in use: put the "
                                             "old one below a folder and give --sysroot"
                                           : "no such file here with this build-id: give "
                                             "--sysroot, --debug-dir or --debuginfod");
    if (is_of_system(module->path))
        return json_string("function names only: install its debug symbols (Debian, Ubuntu: "
                           "find-dbgsym-packages names the package), or give --debuginfod");
    return json_string(source == SYMBOL_DYNSYM
                           ? "exported names only: do not strip it, and compile with -g"
                           : "function names only: compile with -g for lines and inlined calls");
}

static json_t *modules(const HubProcess *process)
{
    const Profile *profile = process->profile;
    json_t *array = json_array();
    for (uint32_t i = 0; i < profile_module_count(profile); i++) {
        const ProfileModule *module = profile_module(profile, i);
        int source = hub_module_source(process, i);
        const char *symbols = source < 0 ? "pending" : symbol_source_name((SymbolSource)source);
        json_array_append_new(
            array, json_pack("{s:o, s:o, s:o, s:o, s:b, s:s, s:o}", "path", json_name(module->path),
                             "build_id", build_id(module), "loaded",
                             process_json_time(module->load_ns), "unloaded",
                             module->unload_ns ? process_json_time(module->unload_ns) : json_null(),
                             "deleted", module->deleted, "symbols", symbols, "hint",
                             hint(module, source)));
    }
    return array;
}

static json_t *marks(const Profile *profile)
{
    json_t *array = json_array();
    for (size_t i = 0; i < profile_mark_count(profile); i++) {
        const ProfileMark *mark = profile_mark(profile, i);
        json_array_append_new(
            array, json_pack("{s:o, s:o, s:I}", "time", process_json_time(mark->time_ns), "text",
                             json_name(mark->text), "thread", (json_int_t)mark->thread_id));
    }
    return array;
}

static json_t *damage(const Profile *profile)
{
    const ProfileError *error;
    json_t *array = json_array();
    for (size_t i = 0; (error = profile_damage_at(profile, i)); i++)
        json_array_append_new(array, json_pack("{s:I, s:o}", "offset", (json_int_t)error->offset,
                                               "message", json_name(error->message)));
    return array;
}

static json_t *coverage(const Profile *profile)
{
    for (size_t i = profile_snapshot_count(profile); i > 0; i--) {
        const ProfileSnapshot *snapshot = profile_snapshot(profile, i - 1);
        const int64_t *v = snapshot->total.v;
        if (snapshot->rss_bytes)
            return json_pack(
                "{s:o, s:I, s:I, s:o, s:o}", "time", process_json_time(snapshot->time_ns),
                "live_bytes", (json_int_t)v[METRIC_LIVE_BYTES], "usable_bytes",
                (json_int_t)wrap_add(v[METRIC_LIVE_BYTES], v[METRIC_OVERHEAD]), "own_bytes",
                number(snapshot->own_bytes), "rss_bytes", number(snapshot->rss_bytes));
    }
    return json_null();
}

static json_t *metrics(const Profile *profile)
{
    size_t count = profile_snapshot_count(profile);
    json_t *object = json_object();
    for (int m = 0; m < METRIC_MAX; m++)
        json_object_set_new(
            object, metric_name((Metric)m),
            json_integer(count ? profile_snapshot(profile, count - 1)->total.v[m] : 0));
    return object;
}

static json_t *formats(void)
{
    json_t *array = json_array();
    for (const Exporter *const *exporter = export_all; *exporter; exporter++)
        json_array_append_new(array,
                              json_pack("{s:s, s:s, s:s}", "name", (*exporter)->name, "extension",
                                        (*exporter)->extension, "what", (*exporter)->what));
    json_array_append_new(array, json_pack("{s:s, s:s, s:s}", "name", "binpb", "extension", "binpb",
                                           "what", "the profile file itself"));
    return array;
}

static json_t *arguments(const ProfileProcess *about)
{
    json_t *array = json_array();
    for (size_t i = 0; i < about->argument_count; i++)
        json_array_append_new(array, json_name(about->arguments[i]));
    return array;
}

static void set_about(json_t *object, const ProfileProcess *about)
{
    json_object_set_new(object, "arguments", arguments(about));
    json_object_set_new(object, "full_path", json_name(about->full_path));
    json_object_set_new(object, "host", or_null(about->host_name));
    json_object_set_new(object, "interval_ms", json_integer(about->interval_ms));
    json_object_set_new(object, "unwind", or_null(about->unwind_mode));
    json_object_set_new(object, "max_depth", json_integer(about->max_depth));
    json_object_set_new(object, "forked", json_boolean(about->forked));
    json_object_set_new(object, "allocator", or_null(about->allocator));
    json_object_set_new(object, "warning", or_null(about->warning));
    json_object_set_new(object, "writer", or_null(about->writer));
}

static json_t *whole(const HubProcess *process, uint32_t parent_id)
{
    const Profile *profile = process->profile;
    uint64_t peak_ns = 0;
    json_t *object = process_json(process, parent_id);
    if (!object)
        return NULL;
    profile_peak(profile, &peak_ns);
    set_about(object, profile_process(profile));
    json_object_set_new(object, "file_bytes", number(profile_file_bytes(profile)));
    json_object_set_new(object, "model_bytes", number(profile_memory_bytes(profile)));
    json_object_set_new(object, "peak_time",
                        profile_snapshot_count(profile) ? process_json_time(peak_ns) : json_null());
    json_object_set_new(object, "losses", process_json_losses(profile));
    json_object_set_new(object, "damage", damage(profile));
    json_object_set_new(object, "message", or_null(process->message));
    json_object_set_new(object, "coverage", coverage(profile));
    json_object_set_new(object, "marks", marks(profile));
    json_object_set_new(object, "modules", modules(process));
    json_object_set_new(object, "symbols",
                        json_pack("{s:I, s:I}", "done", (json_int_t)process->symbols_done, "total",
                                  (json_int_t)process->symbols_all));
    json_object_set_new(object, "metrics", metrics(profile));
    json_object_set_new(object, "formats", formats());
    return object;
}

int api_process(Hub *hub, const ApiQuery *query, ApiReply *reply)
{
    ProcessPlace *places;
    size_t count;
    int r = process_places(hub, &places, &count);
    if (r < 0)
        return r;
    HubProcess *process = query_acquire(hub, query, reply, "id");
    json_t *object = NULL;
    if (process) {
        object = whole(process, process_parent(places, count, process->id));
        hub_release(hub, process);
    }
    free(places);
    return process ? api_reply_json(reply, object) : 0;
}
