// SPDX-License-Identifier: Apache-2.0
/*
 * The head of a text report, at most ten lines: what ran, how long, its peak, its sums, and what
 * the recorder could not see. Sums are those of the last snapshot whatever the view shows. All that
 * comes from the profile is escaped for the terminal and cut to the width.
 */
#include "export/text_head.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/names.h"
#include "export/numbers.h"
#include "profile/liveness.h"
#include "profile/window_stats.h"

char *losses_text(const Profile *profile)
{
    const ProfileLosses *l = profile_losses(profile);
    const struct {
        uint64_t count;
        const char *one, *many;
    } rows[] = {
        {l->stack_table_full, "allocation without its stack", "allocations without their stack"},
        {l->live_map_full, "block whose release was not followed",
         "blocks whose release was not followed"},
        {l->missed_frees, "release not seen", "releases not seen"},
        {l->write_failed, "byte not written", "bytes not written"},
        {l->reentrant_skipped, "call not counted", "calls not counted"},
        {l->depth_cut, "allocation with a stack cut at the depth limit",
         "allocations with stacks cut at the depth limit"},
        {l->unwind_ended, "allocation with a stack that ends early",
         "allocations with stacks that end early"},
        {l->windows_dropped, "window dropped", "windows dropped"},
    };
    NameBuffer text = {0};
    bool ok = name_append(&text, "", 0) != NULL;
    for (size_t i = 0; ok && i < sizeof(rows) / sizeof(rows[0]); i++) {
        char number[NUMBER_BYTES], part[160];
        if (rows[i].count == 0)
            continue;
        int n = snprintf(part, sizeof(part), "%s%s %s", text.length ? ", " : "",
                         number_count(number, (int64_t)rows[i].count),
                         rows[i].count == 1 ? rows[i].one : rows[i].many);
        ok = name_append(&text, part, (size_t)n) != NULL;
    }
    if (!ok)
        name_buffer_done(&text);
    return text.data;
}

const char *end_text(const Profile *profile, char *buffer, size_t capacity)
{
    int status;
    if (profile_end(profile, &status) != END_UNKNOWN) {
        liveness_end_text(profile, buffer, capacity);
        return buffer;
    }
    switch (liveness_of(profile)) {
    case LIVENESS_RUNNING:
        return "still running";
    case LIVENESS_GONE:
        return "killed, or the file is cut off";
    case LIVENESS_UNKNOWN:
        break;
    }
    return "still running, or killed";
}

char *command_text(const Profile *profile)
{
    const ProfileProcess *p = profile_process(profile);
    NameBuffer text = {0};
    const char *data = name_append(&text, "", 0);
    for (size_t i = 0; data && i < p->argument_count; i++) {
        if (i)
            name_append(&text, " ", 1);
        data = name_append_shell(&text, p->arguments[i], false);
    }
    if (data && p->argument_count == 0) {
        const char *name = p->full_path && *p->full_path ? p->full_path : p->short_name;
        data = name_append(&text, name ? name : "", name ? strlen(name) : 0);
    }
    if (!data)
        name_buffer_done(&text);
    return text.data;
}

/* One line, escaped, cut to the width. */
static void line_write(const View *view, const char *text, const char *style, FILE *out)
{
    NameBuffer safe = {0}, shown = {0};
    if (text && name_append_terminal(&safe, text, view->ascii) &&
        name_shorten(&shown, safe.data, view->width, view->ascii))
        fprintf(out, "%s%s%s\n", view->color ? style : "", shown.data,
                view->color && *style ? "\033[0m" : "");
    name_buffer_done(&safe);
    name_buffer_done(&shown);
}

static bool is_narrow(const View *view)
{
    enum { FIGURES_WIDTH = 68 };
    return view->width < FIGURES_WIDTH;
}

static const char *blocks(const View *view, char *buffer, int64_t count)
{
    return is_narrow(view) ? number_count_short(buffer, count, 5) : number_count(buffer, count);
}

static void figures_write(const View *view, FILE *out)
{
    char a[NUMBER_BYTES], b[NUMBER_BYTES], c[NUMBER_BYTES], d[NUMBER_BYTES];
    const Profile *profile = view->profile;
    uint64_t when = 0, peak = profile_peak(profile, &when);
    size_t snapshots = profile_snapshot_count(profile);
    const Values none = {0};
    const Values *total = snapshots ? &profile_snapshot(profile, snapshots - 1)->total : &none;
    const int64_t *v = total->v;
    uint64_t since = when > profile_first_ns(profile) ? when - profile_first_ns(profile) : 0;
    const Values *inherited = profile_inherited(profile);
    const char *gap = is_narrow(view) ? " " : "  "; /* 40 columns hold what remains then */
    fprintf(out,
            is_narrow(view) ? "  peak         %10s at %s\n"
                            : "  peak         %10s  live, %s after the start\n",
            number_bytes(a, (int64_t)peak), number_duration(b, since));
    fprintf(out, "  allocations  %10s%sof %s", number_count(a, v[METRIC_TOTAL_COUNT]), gap,
            number_bytes(b, v[METRIC_TOTAL_BYTES]));
    if (!is_narrow(view))
        fprintf(out, " in all, %s temporary (%s)", number_count(c, v[METRIC_TEMPORARY]),
                number_percent(d, v[METRIC_TEMPORARY], v[METRIC_TOTAL_COUNT]));
    fprintf(out, "\n  live at end  %10s%sin %s blocks", number_bytes(a, v[METRIC_LIVE_BYTES]), gap,
            blocks(view, b, v[METRIC_LIVE_COUNT]));
    if (!is_narrow(view))
        fprintf(out, ", overhead %s", number_bytes(c, v[METRIC_OVERHEAD]));
    fputc('\n', out);
    if (inherited && inherited->v[METRIC_LIVE_COUNT])
        fprintf(out, "  inherited    %10s%sin %s blocks%s\n",
                number_bytes(a, inherited->v[METRIC_LIVE_BYTES]), gap,
                blocks(view, b, inherited->v[METRIC_LIVE_COUNT]),
                is_narrow(view) ? "" : " of the parent, at the fork");
}

/* A note under a word of its own, broken at blanks, further lines below its text. */
static void note_write(const View *view, const char *word, const char *text, const char *style,
                       FILE *out)
{
    enum { INDENT = 15 };
    NameBuffer safe = {0};
    unsigned room = view->width > INDENT + 20 ? view->width - INDENT : 20;
    const char *rest = name_append_terminal(&safe, text, view->ascii);
    for (bool first = true; rest && *rest; first = false) {
        size_t take = strlen(rest);
        if (name_columns(rest) > room) { /* the last blank that fits; bytes are columns or more */
            take = room;
            while (take > 0 && rest[take] != ' ')
                take--;
            take = take ? take : strcspn(rest, " ");
        }
        fprintf(out, "  %-11s  %s%.*s%s\n", first ? word : "", view->color ? style : "", (int)take,
                rest, view->color && *style ? "\033[0m" : "");
        rest += take;
        rest += *rest == ' ';
    }
    name_buffer_done(&safe);
}

static void notes_write(const View *view, FILE *out)
{
    static const char yellow[] = "\033[33m";
    const ProfileProcess *p = profile_process(view->profile);
    const ProfileError *damage = profile_damage(view->profile);
    char *losses = losses_text(view->profile), *line = NULL;
    if (losses && *losses)
        note_write(view, "losses", losses, yellow, out);
    free(losses);
    if (damage && asprintf(&line, "%s (at byte %" PRIu64 " of the file)", damage->message,
                           damage->offset) >= 0) {
        note_write(view, "damage", line, yellow, out);
        free(line);
    }
    if (p->warning && *p->warning)
        note_write(view, "warning", p->warning, yellow, out);
    if (view->filter)
        note_write(view, "filter", view->filter, "", out);
}

int text_head_write(const View *view, FILE *out)
{
    const Profile *profile = view->profile;
    const ProfileProcess *p = profile_process(profile);
    char span[NUMBER_BYTES], end[64], *command = command_text(profile), *line = NULL;
    if (!command)
        return -ENOMEM;
    uint64_t first = profile_first_ns(profile), last = profile_last_ns(profile);
    line_write(view, view->title ? view->title : command, "\033[1m", out);
    free(command);
    const char *host = p->host_name && *p->host_name ? p->host_name : NULL;
    if (asprintf(&line, "pid %u%s%s, %s, %s", p->pid, host ? " on " : "", host ? host : "",
                 number_duration(span, last > first ? last - first : 0),
                 end_text(profile, end, sizeof(end))) < 0)
        return -ENOMEM;
    line_write(view, line, "", out);
    free(line);
    fputc('\n', out);
    figures_write(view, out);
    notes_write(view, out);
    fputc('\n', out);
    return 0;
}

const char *moment_words(const View *view)
{
    int status;
    if (view->at_peak)
        return "the peak, ";
    bool ended = profile_end(view->profile, &status) != END_UNKNOWN;
    return ended && view->at_ns == profile_last_ns(view->profile) ? "the end, " : "";
}

/* What stands for a moment: the last snapshot that is not after it, or the start of the run. */
static const char *snapshot_words(const View *view, uint64_t time_ns, char *buffer, size_t capacity)
{
    char when[NUMBER_BYTES];
    uint64_t first = profile_first_ns(view->profile);
    int64_t index = profile_snapshot_at(view->profile, time_ns);
    if (index < 0)
        return "the start";
    uint64_t taken = profile_snapshot(view->profile, (size_t)index)->time_ns;
    snprintf(buffer, capacity, "the snapshot at %s",
             number_duration(when, taken > first ? taken - first : 0));
    return buffer;
}

/* Whether a moment and the snapshot that stands for it look the same. */
static bool is_snapshot(const View *view, uint64_t time_ns)
{
    char asked[NUMBER_BYTES], shown[NUMBER_BYTES];
    uint64_t first = profile_first_ns(view->profile), taken = first;
    int64_t index = profile_snapshot_at(view->profile, time_ns);
    if (index >= 0)
        taken = profile_snapshot(view->profile, (size_t)index)->time_ns;
    number_duration(asked, time_ns > first ? time_ns - first : 0);
    number_duration(shown, taken > first ? taken - first : 0);
    return strcmp(asked, shown) == 0;
}

char *as_of_text(const View *view)
{
    char to[64], from[64], *text = NULL;
    if (view->window ||
        (is_snapshot(view, view->at_ns) && (!view->interval || is_snapshot(view, view->from_ns))))
        return NULL;
    const char *end = snapshot_words(view, view->at_ns, to, sizeof(to));
    const char *begin =
        view->interval ? snapshot_words(view, view->from_ns, from, sizeof(from)) : "";
    if (asprintf(&text, "as of %s%s%s", begin, *begin ? " and " : "", end) < 0)
        return NULL;
    return text;
}

static void as_of_write(const View *view, FILE *out)
{
    char *text = as_of_text(view), *line = NULL;
    if (text && asprintf(&line, "  %s", text) >= 0) {
        line_write(view, line, "", out);
        free(line);
    }
    free(text);
}

char *window_text(const ProfileWindow *window)
{
    char count[NUMBER_BYTES], left[NUMBER_BYTES], *text = NULL;
    uint64_t unfinished = window_unfinished(window);
    int n = asprintf(&text, "window %s, %s iteration%s%s%s%s", window->name,
                     number_count(count, (int64_t)window->iterations),
                     window->iterations == 1 ? "" : "s", unfinished ? ", " : "",
                     unfinished ? number_count(left, (int64_t)unfinished) : "",
                     unfinished ? " unfinished" : "");
    return n < 0 ? NULL : text;
}

void text_heading_write(const View *view, bool removed, FILE *out)
{
    char sum[NUMBER_BYTES], from[NUMBER_BYTES], to[NUMBER_BYTES], *line = NULL;
    uint64_t first = profile_first_ns(view->profile);
    const Values *total = removed ? &view->total_removed : &view->total;
    number_metric(sum, view->metric, total->v[view->metric]);
    number_duration(to, view->at_ns > first ? view->at_ns - first : 0);
    number_duration(from, view->from_ns > first ? view->from_ns - first : 0);
    size_t stacks = 0;
    for (size_t i = 0; i < view->stack_count; i++)
        stacks += (removed ? view->stacks[i].removed : view->stacks[i].values).v[view->metric] != 0;
    char count[NUMBER_BYTES];
    number_count(count, (int64_t)stacks);
    const char *s = stacks == 1 ? "" : "s";
    char words[64];
    snprintf(words, sizeof(words), "%s",
             view->window ? metric_words_of_window(view->metric) : metric_words(view->metric));
    words[0] = (char)toupper((unsigned char)words[0]);
    char *window = view->window ? window_text(view->window) : NULL;
    int n = view->window     ? asprintf(&line, "%s in %s: %s, %s stack%s", words,
                                    window ? window : "the window", sum, count, s)
            : view->interval ? asprintf(&line, "%s %s from %s to %s: %s, %s stack%s", words,
                                        removed ? "removed" : "added", from, to, sum, count, s)
                             : asprintf(&line, "%s at %s%s: %s, %s stack%s", words,
                                        moment_words(view), to, sum, count, s);
    free(window);
    if (n < 0)
        return;
    line_write(view, line, "\033[1m", out);
    free(line);
    if (!removed)
        as_of_write(view, out);
}
