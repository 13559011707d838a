// SPDX-License-Identifier: Apache-2.0
/*
 * `memhawk info` as text, 80 columns where paths allow it. Names are made harmless for terminals.
 * One pass over what info.h gathered; no state, one thread.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/info.h"
#include "cli/term.h"
#include "export/names.h"
#include "export/numbers.h"
#include "export/text_head.h"
#include "profile/liveness.h"

enum { MARKS_SHOWN = 50 };

static void print_text(FILE *out, const char *what, const char *value)
{
    fprintf(out, "%-13s ", what);
    term_write_clean(out, value && *value ? value : "-");
    fputc('\n', out);
}

/* The same for a list with ", " between its parts: one part a line. */
static void print_list(FILE *out, const char *what, char *list)
{
    char *rest = list, *part;
    while ((part = rest)) {
        rest = strstr(part, ", ");
        if (rest) {
            *rest = 0;
            rest += 2;
        }
        print_text(out, what, part);
        what = "";
    }
}

static void print_process(const Session *session, FILE *out)
{
    const ProfileProcess *process = profile_process(session->profile);
    char text[512], time[64];
    fprintf(out, "%-13s ", "process");
    term_write_clean(out, process->short_name);
    fprintf(out, ", pid %u", process->pid);
    if (process->parent_pid)
        fprintf(out, ", %s pid %u", process->forked ? "forked by" : "started by",
                process->parent_pid);
    if (process->host_name && *process->host_name) {
        fputs(", on ", out);
        term_write_clean(out, process->host_name);
    }
    fputc('\n', out);
    print_text(out, "program", process->full_path);
    char *command = command_text(session->profile);
    print_text(out, "command", command);
    free(command);
    info_time(process->start_ns, time, sizeof(time));
    print_text(out, "started", time);
    liveness_end_text(session->profile, text, sizeof(text));
    print_text(out, "end", text);
}

static const char *or_unknown(const char *text)
{
    return text && *text ? text : "?";
}

static void print_recorder(const Session *session, FILE *out)
{
    const ProfileProcess *process = profile_process(session->profile);
    char text[512];
    if (process->format_version == 0) {
        print_text(out, "written by", "the original MemHawk (format version 0)");
        return;
    }
    snprintf(text, sizeof(text), "%s (format version %u)", or_unknown(process->writer),
             process->format_version);
    print_text(out, "written by", text);
    snprintf(text, sizeof(text), "every %u ms, depth %u, unwinding by %s", process->interval_ms,
             process->max_depth, or_unknown(process->unwind_mode));
    print_text(out, "settings", text);
    print_text(out, "allocator", process->allocator);
}

static void print_size(const Session *session, FILE *out)
{
    const Profile *profile = session->profile;
    size_t count = profile_snapshot_count(profile), peaks = 0;
    uint64_t first_ns = profile_first_ns(profile), last_ns = profile_last_ns(profile), peak_ns = 0;
    char a[NUMBER_BYTES], b[NUMBER_BYTES];
    for (size_t i = 0; i < count; i++)
        peaks += profile_snapshot(profile, i)->kind == 1;
    fprintf(out, "%-13s %s\n", "span",
            number_duration(a, last_ns > first_ns ? last_ns - first_ns : 0));
    fprintf(out, "%-13s %s, %zu of them early for a new peak\n", "snapshots",
            number_count(a, (int64_t)count), peaks);
    fprintf(out, "%-13s %s\n", "file", number_bytes(a, (int64_t)profile_file_bytes(profile)));
    fprintf(out, "%-13s %s, of %s frames\n", "stacks",
            number_count(a, (int64_t)profile_stack_count(profile)),
            number_count(b, (int64_t)profile_frame_count(profile)));
    uint64_t peak = profile_peak(profile, &peak_ns);
    if (count)
        fprintf(out, "%-13s %s at %s\n", "peak", number_bytes(a, (int64_t)peak),
                number_duration(b, peak_ns > first_ns ? peak_ns - first_ns : 0));
}

static void print_totals(const Session *session, FILE *out)
{
    size_t count = profile_snapshot_count(session->profile);
    char a[NUMBER_BYTES], b[NUMBER_BYTES];
    if (!count)
        return;
    const ProfileSnapshot *last = profile_snapshot(session->profile, count - 1);
    const int64_t *v = last->total.v;
    fprintf(out, "%-13s %s of %s\n", "allocations", number_count(a, v[METRIC_TOTAL_COUNT]),
            number_bytes(b, v[METRIC_TOTAL_BYTES]));
    fprintf(out, "%-13s %s in %s blocks\n", "live at end", number_bytes(a, v[METRIC_LIVE_BYTES]),
            number_count(b, v[METRIC_LIVE_COUNT]));
    const Values *inherited = profile_inherited(session->profile);
    if (inherited && inherited->v[METRIC_LIVE_COUNT])
        fprintf(out, "%-13s %s in %s blocks, taken over at fork\n", "of these",
                number_bytes(a, inherited->v[METRIC_LIVE_BYTES]),
                number_count(b, inherited->v[METRIC_LIVE_COUNT]));
    if (last->rss_bytes)
        fprintf(out, "%-13s %s\n", "resident", number_bytes(a, (int64_t)last->rss_bytes));
    if (last->own_bytes)
        fprintf(out, "%-13s %s\n", "recorder", number_bytes(a, (int64_t)last->own_bytes));
}

static void print_troubles(const Session *session, FILE *out)
{
    const ProfileError *damage = profile_damage(session->profile);
    char text[1024], *losses = losses_text(session->profile);
    if (losses && *losses)
        print_list(out, "losses", losses);
    else
        print_text(out, "losses", "none");
    free(losses);
    if (damage)
        snprintf(text, sizeof(text), "byte %" PRIu64 ": %s", damage->offset, damage->message);
    print_text(out, "damage", damage ? text : "none");
    const char *warning = profile_process(session->profile)->warning;
    if (warning && *warning)
        print_text(out, "warning", warning);
}

static void print_module(const Session *session, uint32_t index, FILE *out)
{
    const ProfileModule *module = profile_module(session->profile, index);
    const char *found = NULL;
    char build_id[80];
    SymbolSource source = symbol_source(session->symbolizer, session->profile, index, &found);
    info_build_id(module, build_id, sizeof(build_id));
    fputs("  ", out);
    term_write_clean(out, module->path);
    fprintf(out, "%s%s\n    build-id %s, names: %s", module->deleted ? " (deleted)" : "",
            module->unload_ns ? " (unloaded)" : "", *build_id ? build_id : "-",
            symbol_source_name(source));
    if (found && strcmp(found, module->path) != 0) {
        fputs(" in ", out);
        term_write_clean(out, found);
    }
    fputc('\n', out);
}

static void print_windows(const Session *session, FILE *out)
{
    size_t count = profile_window_count(session->profile);
    char iterations[NUMBER_BYTES];
    if (count)
        fprintf(out, "windows: %zu\n", count);
    for (size_t i = 0; i < count; i++) {
        const ProfileWindow *window = profile_window(session->profile, i);
        fputs("  ", out);
        term_write_clean(out, window->name);
        fprintf(out, " (%s): %s iterations\n", window->process_scope ? "process" : "thread",
                number_count(iterations, (int64_t)window->iterations));
    }
}

static void print_marks(const Session *session, FILE *out)
{
    size_t count = profile_mark_count(session->profile);
    uint64_t first_ns = profile_first_ns(session->profile);
    char time[NUMBER_BYTES];
    if (count)
        fprintf(out, "marks: %zu\n", count);
    for (size_t i = 0; i < count && i < MARKS_SHOWN; i++) {
        const ProfileMark *mark = profile_mark(session->profile, i);
        uint64_t since_ns = mark->time_ns > first_ns ? mark->time_ns - first_ns : 0;
        fprintf(out, "  %s  ", number_duration(time, since_ns));
        term_write_clean(out, mark->text);
        fputc('\n', out);
    }
    if (count > MARKS_SHOWN)
        fprintf(out, "  and %zu more; --json has all\n", count - MARKS_SHOWN);
}

void info_print_text(const Session *session, FILE *out)
{
    size_t modules = profile_module_count(session->profile);
    print_process(session, out);
    print_recorder(session, out);
    print_size(session, out);
    print_totals(session, out);
    print_troubles(session, out);
    fprintf(out, "modules: %zu\n", modules);
    for (uint32_t i = 0; i < modules; i++)
        print_module(session, i, out);
    print_windows(session, out);
    print_marks(session, out);
}
