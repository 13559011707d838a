// SPDX-License-Identifier: Apache-2.0
/*
 * Minimum, median and maximum over the iterations of a window, as text and JSON.
 *
 * Stacks of the view with equal paths (at its granularity) form a group, found by sorting them by
 * path; window_stats() then has the figures of each group. Groups are shown largest maximum first,
 * because a stack that occurs in some iterations only has a median of 0 and is what one looks for.
 * One thread.
 */
#include "cli/window_report.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "cli/term.h"
#include "export/alloc_site.h"
#include "export/json_piece.h"
#include "export/names.h"
#include "export/numbers.h"
#include "profile/window_stats.h"

enum { DEFAULT_TOP = 20, PATH_ROWS = 8 };

typedef struct Group {
    uint32_t stack; /* one of them, for the path */
    WindowStats stats;
    uint32_t flags;
} Group;

typedef struct Groups {
    Group *items;
    size_t count;
    WindowStats all;
    WindowPeaks peaks;
} Groups;

static WindowFigure figure_of(Metric metric)
{
    switch (metric) {
    case METRIC_TOTAL_BYTES:
        return WINDOW_BYTES;
    case METRIC_TEMPORARY:
        return WINDOW_TEMPORARY;
    case METRIC_LIVE_BYTES:
        return WINDOW_LIVE_BYTES;
    case METRIC_LIVE_COUNT:
        return WINDOW_LIVE_COUNT;
    default:
        return WINDOW_ALLOCATIONS;
    }
}

static bool is_bytes(WindowFigure figure)
{
    return figure == WINDOW_BYTES || figure == WINDOW_LIVE_BYTES || figure == WINDOW_FREED_BYTES;
}

static const char *amount(char buffer[NUMBER_BYTES], WindowFigure figure, int64_t value)
{
    return is_bytes(figure) ? number_bytes(buffer, value) : number_count(buffer, value);
}

/* ---- groups
 * ---------------------------------------------------------------------------------------- */

static int compare_paths(const void *a, const void *b, void *data)
{
    const View *view = data;
    const uint32_t *p, *q;
    size_t m = labels_path(view->labels, *(const uint32_t *)a, &p);
    size_t n = labels_path(view->labels, *(const uint32_t *)b, &q);
    size_t common = m < n ? m : n;
    for (size_t i = 0; i < common; i++)
        if (p[i] != q[i])
            return p[i] < q[i] ? -1 : 1;
    return m < n ? -1 : m > n;
}

/* groups[stack] = group; returns how many, with one stack of each in firsts. */
static size_t group_stacks(const View *view, uint32_t *order, uint32_t *groups, uint32_t *firsts)
{
    size_t count = 0;
    for (size_t i = 0; i < view->stack_count; i++)
        order[i] = view->stacks[i].stack;
    qsort_r(order, view->stack_count, sizeof *order, compare_paths, (void *)view);
    for (size_t i = 0; i < view->stack_count; i++) {
        if (i == 0 || compare_paths(&order[i - 1], &order[i], (void *)view) != 0)
            firsts[count++] = order[i];
        groups[order[i]] = (uint32_t)(count - 1);
    }
    return count;
}

static int compare_groups(const void *a, const void *b, void *data)
{
    const Group *x = a, *y = b;
    WindowFigure figure = *(const WindowFigure *)data;
    if (x->stats.max.v[figure] != y->stats.max.v[figure])
        return x->stats.max.v[figure] > y->stats.max.v[figure] ? -1 : 1;
    if (x->stats.total.v[figure] != y->stats.total.v[figure])
        return x->stats.total.v[figure] > y->stats.total.v[figure] ? -1 : 1;
    return x->stack < y->stack ? -1 : x->stack > y->stack;
}

static int fill_groups(const View *view, uint32_t *groups, const uint32_t *firsts, Groups *made)
{
    size_t stack_count = profile_stack_count(view->profile);
    WindowFigure figure = figure_of(view->metric);
    WindowStats *stats = calloc(made->count + 1, sizeof *stats);
    made->items = calloc(made->count + 1, sizeof *made->items);
    int r = stats && made->items ? 0 : -ENOMEM;
    if (r == 0)
        r = window_stats(view->window, groups, stack_count, made->count, stats);
    for (size_t i = 0; r == 0 && i < made->count; i++)
        made->items[i] = (Group){.stack = firsts[i], .stats = stats[i]};
    for (size_t i = 0; r == 0 && i < view->stack_count; i++) {
        uint32_t stack = view->stacks[i].stack;
        made->items[groups[stack]].flags |= profile_stack(view->profile, stack)->flags;
    }
    /* all together: those of the view, which may be filtered */
    for (size_t i = 0; i < stack_count; i++)
        groups[i] = groups[i] == ID_NONE ? ID_NONE : 0;
    r = r < 0 ? r : window_stats(view->window, groups, stack_count, 1, &made->all);
    r = r < 0 ? r : window_peaks(view->window, &made->peaks);
    if (r == 0)
        qsort_r(made->items, made->count, sizeof *made->items, compare_groups, &figure);
    free(stats);
    return r;
}

static int make_groups(const View *view, Groups *ret_groups)
{
    size_t stack_count = profile_stack_count(view->profile);
    uint32_t *groups = malloc((stack_count + 1) * sizeof *groups);
    uint32_t *order = malloc((stack_count + 1) * sizeof *order);
    uint32_t *firsts = malloc((stack_count + 1) * sizeof *firsts);
    Groups made = {0};
    int r = groups && order && firsts ? 0 : -ENOMEM;
    if (r == 0) {
        memset(groups, 0xff, stack_count * sizeof *groups);
        made.count = group_stacks(view, order, groups, firsts);
        r = fill_groups(view, groups, firsts, &made);
    }
    free(groups);
    free(order);
    free(firsts);
    if (r < 0)
        free(made.items);
    else
        *ret_groups = made;
    return r;
}

/* ---- text
 * -------------------------------------------------------------------------------------------- */

static void write_figures(const char *name, WindowFigure figure, const WindowStats *stats,
                          FILE *out)
{
    char min[NUMBER_BYTES], median[NUMBER_BYTES], max[NUMBER_BYTES], sum[NUMBER_BYTES];
    fprintf(out, "%-14s %11s %11s %11s %13s\n", name, amount(min, figure, stats->min.v[figure]),
            amount(median, figure, stats->median.v[figure]),
            amount(max, figure, stats->max.v[figure]), amount(sum, figure, stats->total.v[figure]));
}

static void write_head(const View *view, const Groups *groups, FILE *out)
{
    char count[NUMBER_BYTES], duration[NUMBER_BYTES], min[NUMBER_BYTES], median[NUMBER_BYTES],
        max[NUMBER_BYTES];
    const ProfileWindow *window = view->window;
    fputs("window ", out);
    term_write_name(out, window->name, view->width > 30 ? view->width - 8 : 30);
    fprintf(out, "\n%s, %s iteration%s, %s in sum",
            window->process_scope ? "scope process" : "scope thread",
            number_count(count, (int64_t)window->iterations), window->iterations == 1 ? "" : "s",
            number_duration(duration, window_duration_ns(window)));
    if (window_unfinished(window) > 0)
        fprintf(out, ", %s unfinished (not counted)",
                number_count(count, (int64_t)window_unfinished(window)));
    fprintf(out, "\n\n%-14s %11s %11s %11s %13s\n", "per iteration", "min", "median", "max", "sum");
    for (int f = 0; f < WINDOW_FIGURE_MAX; f++)
        write_figures(window_figure_name((WindowFigure)f), (WindowFigure)f, &groups->all, out);
    fprintf(out, "%-14s %11s %11s %11s\n\n", "peak-bytes",
            number_bytes(min, (int64_t)groups->peaks.min_bytes),
            number_bytes(median, (int64_t)groups->peaks.median_bytes),
            number_bytes(max, (int64_t)groups->peaks.max_bytes));
}

/* The path of a group; places come from the label, or from its one stack. */
static void write_path(const View *view, const Group *group, FILE *out)
{
    enum { COLUMN = 4 };
    const uint32_t *path;
    size_t depth = labels_path(view->labels, group->stack, &path);
    size_t skip = alloc_site_skip(view->labels, path, depth);
    size_t last = view->full || depth - skip <= PATH_ROWS ? depth : skip + PATH_ROWS - 1;
    unsigned room = view->width > COLUMN + 40 ? view->width - COLUMN - 20 : 40;
    for (size_t i = skip; i < last; i++) {
        const Label *label = labels_get(view->labels, path[i]);
        fprintf(out, "%*s", COLUMN, "");
        term_write_name(out, label->function, room);
        if (label->file) {
            fputs("  ", out);
            term_write_clean(out, name_base(label->file));
        }
        if (label->file && label->line)
            fprintf(out, ":%u", label->line);
        fputc('\n', out);
    }
    if (last < depth)
        fprintf(out, "%*s%s %zu more\n", COLUMN, "", view->ascii ? "..." : "⋮", depth - last);
    if (group->flags & (STACK_DEPTH_CUT | STACK_ENDED_EARLY))
        fprintf(out, "%*s(%s)\n", COLUMN, "",
                group->flags & STACK_DEPTH_CUT ? "cut at the depth limit" : "ends early");
    if (depth == 0)
        fprintf(out, "%*s[unknown]\n", COLUMN, "");
    fputc('\n', out);
}

static void write_group(const View *view, const Group *group, FILE *out)
{
    WindowFigure figure = figure_of(view->metric);
    char min[NUMBER_BYTES], median[NUMBER_BYTES], max[NUMBER_BYTES], part[NUMBER_BYTES];
    bool everywhere = group->stats.iterations == view->window->iterations;
    fprintf(out, "%10s %10s %10s  %11s\n", amount(min, figure, group->stats.min.v[figure]),
            amount(median, figure, group->stats.median.v[figure]),
            amount(max, figure, group->stats.max.v[figure]),
            everywhere ? "all" : number_count(part, (int64_t)group->stats.iterations));
    write_path(view, group, out);
}

int window_report_text(const View *view, FILE *out)
{
    Groups groups;
    int r = make_groups(view, &groups);
    if (r < 0)
        return r;
    write_head(view, &groups, out);
    size_t top = view->top ? view->top : DEFAULT_TOP;
    if (groups.count == 0)
        fputs("nothing was allocated or released in it\n", out);
    else
        fprintf(out, "%s of each stack\n%10s %10s %10s  %11s\n",
                window_figure_name(figure_of(view->metric)), "min", "median", "max", "iterations");
    for (size_t i = 0; i < groups.count && i < top; i++)
        write_group(view, &groups.items[i], out);
    if (groups.count > top)
        fprintf(out, "%s %zu more (--top %zu shows all)\n", view->ascii ? "..." : "…",
                groups.count - top, groups.count);
    free(groups.items);
    return ferror(out) ? -EIO : 0;
}

/* ---- JSON
 * -------------------------------------------------------------------------------------------- */

static json_t *figures_object(const WindowFigures *figures)
{
    static const char *const keys[WINDOW_FIGURE_MAX] = {
        "allocations", "bytes", "temporary", "live_bytes", "live_count", "frees", "freed_bytes"};
    json_t *o = json_object();
    for (int f = 0; o && f < WINDOW_FIGURE_MAX; f++)
        json_object_set_new(o, keys[f], json_integer((json_int_t)figures->v[f]));
    return o;
}

static json_t *stats_object(const WindowStats *stats)
{
    return json_pack("{s:I, s:o, s:o, s:o, s:o}", "iterations", (json_int_t)stats->iterations,
                     "total", figures_object(&stats->total), "min", figures_object(&stats->min),
                     "median", figures_object(&stats->median), "max", figures_object(&stats->max));
}

static json_t *group_object(const View *view, const Group *group)
{
    const uint32_t *path;
    size_t depth = labels_path(view->labels, group->stack, &path);
    json_t *o = stats_object(&group->stats), *frames = json_array();
    for (size_t i = 0; frames && i < depth; i++) {
        const Label *label = labels_get(view->labels, path[i]);
        json_array_append_new(
            frames, json_pack("{s:o, s:o, s:o, s:o}", "function", json_name(label->function),
                              "module", json_name(label->module), "file", json_name(label->file),
                              "line", label->line ? json_integer(label->line) : json_null()));
    }
    if (o) {
        json_object_set_new(o, "in_all",
                            json_boolean(group->stats.iterations == view->window->iterations));
        json_object_set_new(
            o, "truncated",
            json_boolean((group->flags & (STACK_DEPTH_CUT | STACK_ENDED_EARLY)) != 0));
        json_object_set_new(o, "frames", frames);
    }
    return o;
}

static json_t *window_object(const View *view, const Groups *groups)
{
    const ProfileWindow *window = view->window;
    return json_pack(
        "{s:o, s:s, s:I, s:I, s:I, s:{s:I, s:I, s:I}, s:o}", "name", json_name(window->name),
        "scope", window->process_scope ? "process" : "thread", "iterations",
        (json_int_t)window->iterations, "unfinished", (json_int_t)window_unfinished(window),
        "duration_ns", (json_int_t)window_duration_ns(window), "peak_bytes", "min",
        (json_int_t)groups->peaks.min_bytes, "median", (json_int_t)groups->peaks.median_bytes,
        "max", (json_int_t)groups->peaks.max_bytes, "all", stats_object(&groups->all));
}

int window_report_json(const View *view, FILE *out)
{
    Groups groups;
    int r = make_groups(view, &groups);
    if (r < 0)
        return r;
    fprintf(out, "{\"version\": 1, \"kind\": \"iterations\", \"sort\": \"%s\",\n\"window\": ",
            window_figure_name(figure_of(view->metric)));
    r = json_piece_write(window_object(view, &groups), out);
    fputs(",\n\"stacks\": [", out);
    for (size_t i = 0; i < groups.count && r == 0; i++) {
        fputs(i ? ",\n" : "\n", out);
        r = json_piece_write(group_object(view, &groups.items[i]), out);
    }
    fputs("]}\n", out);
    free(groups.items);
    return r < 0 ? r : ferror(out) ? -EIO : 0;
}
