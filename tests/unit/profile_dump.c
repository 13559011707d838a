// SPDX-License-Identifier: Apache-2.0
/*
 * A profile as text, through the public header only: what it is about, modules, stacks with their
 * frames, the state of every stack at every snapshot, windows, marks, damage. The golden tests
 * compare it with a file that was checked by hand.
 */
#include "profile_dump.h"

#include <inttypes.h>
#include <stdlib.h>

static void dump_values(const Values *values, FILE *out)
{
    for (int m = 0; m < METRIC_MAX; m++)
        fprintf(out, " %s=%" PRId64, metric_name((Metric)m), values->v[m]);
    fputc('\n', out);
}

static void dump_process(const Profile *profile, FILE *out)
{
    const ProfileProcess *p = profile_process(profile);
    const ProfileLosses *l = profile_losses(profile);
    int status;
    EndReason end = profile_end(profile, &status);
    uint64_t peak_time, peak = profile_peak(profile, &peak_time);

    fprintf(out, "process name=%s path=%s pid=%u parent=%u start=%" PRIu64 "\n", p->short_name,
            p->full_path, p->pid, p->parent_pid, p->start_ns);
    fprintf(out, "writer version=%u name=%s host=%s interval=%u unwind=%s depth=%u forked=%d\n",
            p->format_version, p->writer, p->host_name, p->interval_ms, p->unwind_mode,
            p->max_depth, p->forked);
    fprintf(out, "allocator %s\nwarning %s\narguments", p->allocator,
            p->warning ? p->warning : "(none)");
    for (size_t i = 0; i < p->argument_count; i++)
        fprintf(out, " [%s]", p->arguments[i]);
    fprintf(out, "\nspan %" PRIu64 " %" PRIu64 "\n", profile_first_ns(profile),
            profile_last_ns(profile));
    fprintf(out, "peak bytes=%" PRIu64 " time=%" PRIu64 " recorded=%" PRIu64 "\n", peak, peak_time,
            profile_peak_recorded_ns(profile));
    fprintf(out, "end ended=%d reason=%d status=%d\n", profile_is_ended(profile), (int)end, status);
    fprintf(out,
            "losses %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
            " %" PRIu64 " %" PRIu64 "\n",
            l->stack_table_full, l->live_map_full, l->missed_frees, l->write_failed,
            l->reentrant_skipped, l->depth_cut, l->unwind_ended, l->windows_dropped);
    fprintf(out, "inherited");
    dump_values(profile_inherited(profile), out);
}

static void dump_modules(const Profile *profile, FILE *out)
{
    for (uint32_t i = 0; i < profile_module_count(profile); i++) {
        const ProfileModule *m = profile_module(profile, i);
        fprintf(out,
                "module %u id=%u path=%s bias=%#" PRIx64 " load=%" PRIu64 " unload=%" PRIu64
                " deleted=%d build-id=",
                i, m->module_id, m->path, m->bias, m->load_ns, m->unload_ns, m->deleted);
        for (size_t k = 0; k < m->build_id_size; k++)
            fprintf(out, "%02x", m->build_id[k]);
        for (size_t k = 0; k < m->segment_count; k++)
            fprintf(out, " [%#" PRIx64 "+%#" PRIx64 "]", m->segments[k].addr, m->segments[k].size);
        fputc('\n', out);
    }
}

static void dump_stacks(const Profile *profile, FILE *out)
{
    for (uint32_t i = 0; i < profile_stack_count(profile); i++) {
        const ProfileStack *stack = profile_stack(profile, i);
        fprintf(out, "stack %u id=%u flags=%u", i, stack->trace_id, stack->flags);
        for (size_t k = 0; k < stack->depth; k++) {
            const ProfileFrame *frame = profile_frame(profile, stack->frames[k]);
            fprintf(out, " %#" PRIx64 "%s@", frame->address, frame->exact ? "!" : "");
            if (frame->module == ID_NONE)
                fputc('?', out);
            else
                fprintf(out, "%u", frame->module);
        }
        fputc('\n', out);
    }
}

static void dump_snapshots(const Profile *profile, FILE *out)
{
    size_t stacks = profile_stack_count(profile);
    Values *values = malloc((stacks + 1) * sizeof *values);

    for (size_t i = 0; values && i < profile_snapshot_count(profile); i++) {
        const ProfileSnapshot *s = profile_snapshot(profile, i);
        fprintf(out,
                "snapshot %zu time=%" PRIu64 " kind=%u rss=%" PRIu64 " own=%" PRIu64
                " threads=%u\n",
                i, s->time_ns, s->kind, s->rss_bytes, s->own_bytes, s->threads);
        fprintf(out, "  total");
        dump_values(&s->total, out);
        profile_state(profile, s->time_ns, values);
        for (size_t k = 0; k < stacks; k++) {
            fprintf(out, "  stack %zu", k);
            dump_values(&values[k], out);
        }
    }
    free(values);
}

static void dump_window(const ProfileWindow *window, FILE *out)
{
    fprintf(out, "window %s process=%d begun=%" PRIu64 " iterations=%" PRIu64 "\n", window->name,
            window->process_scope, window->begun, window->iterations);
    for (size_t s = 0; s < window->shape_count; s++) {
        const ProfileWindowShape *shape = &window->shapes[s];
        fprintf(
            out,
            "  shape iterations=%" PRIu64 " duration=%" PRIu64 " peak=%" PRIu64 "..%" PRIu64 "\n",
            shape->iterations, shape->duration_ns, shape->min_peak_bytes, shape->max_peak_bytes);
        for (size_t r = 0; r < shape->row_count; r++) {
            const WindowValues *v = &shape->rows[r].values;
            fprintf(out,
                    "    stack %u %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
                    shape->rows[r].stack, v->allocations, v->bytes, v->frees, v->freed_bytes,
                    v->temporary);
        }
    }
}

void profile_dump(const Profile *profile, FILE *out)
{
    const ProfileError *damage;

    dump_process(profile, out);
    dump_modules(profile, out);
    dump_stacks(profile, out);
    dump_snapshots(profile, out);
    for (size_t i = 0; i < profile_window_count(profile); i++)
        dump_window(profile_window(profile, i), out);
    for (size_t i = 0; i < profile_mark_count(profile); i++) {
        const ProfileMark *mark = profile_mark(profile, i);
        fprintf(out, "mark %" PRIu64 " thread=%u %s\n", mark->time_ns, mark->thread_id, mark->text);
    }
    fprintf(out, "damages %zu\n", profile_damage_count(profile));
    for (size_t i = 0; (damage = profile_damage_at(profile, i)); i++)
        fprintf(out, "damage code=%d offset=%" PRIu64 " %s\n", damage->code, damage->offset,
                damage->message);
}
