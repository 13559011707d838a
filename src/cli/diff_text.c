// SPDX-License-Identifier: Apache-2.0
/*
 * The readable diff. Each changed row: what happened and by how much, then its path, allocating
 * function first as in reports, with the first frame that differs from the other side marked, and
 * with the lines it allocates from. Paths are cut around the marked frame. Fits the width.
 */
#include "cli/diff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "cli/term.h"
#include "export/names.h"
#include "export/numbers.h"

enum {
    DEFAULT_TOP = 20,
    PATH_MAX_ROWS = 8, /* frames shown of a path unless full */
    SITES_SHOWN = 4,
    INDENT = 9,
};

static const char *signed_metric(char buffer[NUMBER_BYTES + 1], Metric metric, int64_t value)
{
    char number[NUMBER_BYTES];
    number_metric(number, metric, value < 0 ? -value : value);
    snprintf(buffer, NUMBER_BYTES + 1, "%c%s", value < 0 ? '-' : '+', number);
    return buffer;
}

static const DiffGroup *group_of(const DiffView *view, const DiffRow *row, DiffSide side)
{
    return row->group[side] == ID_NONE
               ? NULL
               : stack_diff_group(compare_diff(view->compare), side, row->group[side]);
}

static int64_t value_of(const DiffView *view, const DiffRow *row, DiffSide side)
{
    const DiffGroup *group = group_of(view, row, side);
    if (!group)
        return 0;
    return (row->worst_only ? group->worst : group->values).v[view->metric];
}

static const char *kind_color(const DiffView *view, DiffKind kind)
{
    if (!view->color)
        return "";
    return kind == DIFF_NEW || kind == DIFF_MORE ? "\033[1;31m" : "\033[1;32m";
}

static void write_headline(const DiffView *view, const DiffRow *row, FILE *out)
{
    char change[NUMBER_BYTES + 1], before[NUMBER_BYTES], after[NUMBER_BYTES];
    number_metric(before, view->metric, value_of(view, row, DIFF_BEFORE));
    number_metric(after, view->metric, value_of(view, row, DIFF_AFTER));
    fprintf(out, "%s%-6s %s%s  %s %s %s%s%s%s\n", kind_color(view, row->kind),
            diff_kind_name(row->kind), signed_metric(change, view->metric, row->change),
            view->color ? "\033[0m" : "", before, view->ascii ? "->" : "→", after,
            row->worst_only ? "  in the worst iteration only" : "",
            row->match == DIFF_MATCH_RENAMED   ? "  (names renumbered)"
            : row->match == DIFF_MATCH_SIMILAR ? "  (paired by likeness)"
                                               : "",
            row->ambiguous ? "  (ambiguous)" : "");
}

static void write_sites(const DiffView *view, const DiffRow *row, DiffSide side, size_t index,
                        FILE *out)
{
    CompareSite sites[SITES_SHOWN];
    size_t count = compare_sites(view->compare, side, row->group[side], index, view->metric, sites,
                                 SITES_SHOWN);
    for (size_t i = 0; i < count && i < SITES_SHOWN; i++)
        fprintf(out, "%s%s", i ? ", " : "  ", sites[i].place);
    if (count > SITES_SHOWN)
        fprintf(out, ", %zu more", count - SITES_SHOWN);
}

static void write_frame(const DiffView *view, const DiffRow *row, DiffSide side, size_t index,
                        FILE *out)
{
    const DiffGroup *group = group_of(view, row, side);
    StackDiff *diff = compare_diff(view->compare);
    const char *function = stack_diff_function(diff, group->frames[index]);
    bool marked = row->differs[side] == index;
    unsigned width = view->width > INDENT + 30 ? view->width - INDENT - 24 : 30;
    fprintf(out, "%*s%s", INDENT - 2, "", marked ? view->ascii ? "> " : "▸ " : "  ");
    term_write_name(out, function, width);
    if (strcmp(function, "?") == 0)
        fprintf(out, " in %s", stack_diff_module(diff, group->frames[index]));
    write_sites(view, row, side, index, out);
    fputc('\n', out);
}

/* The frames from the leaf to the marked one and one beyond it; the rest in one line. */
static void write_path(const DiffView *view, const DiffRow *row, DiffSide side, FILE *out)
{
    const DiffGroup *group = group_of(view, row, side);
    size_t marked = row->differs[side] == ID_NONE ? 0 : row->differs[side];
    size_t head = view->full || group->depth <= PATH_MAX_ROWS ? group->depth : PATH_MAX_ROWS - 4;
    for (size_t i = 0; i < group->depth; i++) {
        bool near = i + 1 >= marked && i <= marked + 1;
        if (i < head || near) {
            write_frame(view, row, side, i, out);
            continue;
        }
        size_t end = i < marked && marked > 1 ? marked - 1 : group->depth;
        fprintf(out, "%*s%s %zu more\n", INDENT, "", view->ascii ? "..." : "⋮", end - i);
        i = end - 1;
    }
    uint32_t flags = compare_flags(view->compare, side, row->group[side]);
    if (flags & (STACK_DEPTH_CUT | STACK_ENDED_EARLY))
        fprintf(out, "%*s(%s)\n", INDENT, "",
                flags & STACK_DEPTH_CUT ? "cut at the depth limit"
                                        : "ends early: no unwind information");
}

static void write_row(const DiffView *view, const DiffRow *row, FILE *out)
{
    DiffSide side = row->group[DIFF_AFTER] != ID_NONE ? DIFF_AFTER : DIFF_BEFORE;
    write_headline(view, row, out);
    write_path(view, row, side, out);
    if (row->match == DIFF_MATCH_SIMILAR) {
        const DiffGroup *before = group_of(view, row, DIFF_BEFORE);
        uint32_t at = row->differs[DIFF_BEFORE];
        fprintf(out, "%*sbefore, in this place: ", INDENT, "");
        term_write_name(out,
                        at == ID_NONE
                            ? "(nothing: the path ended)"
                            : stack_diff_function(compare_diff(view->compare), before->frames[at]),
                        view->width > 50 ? view->width - 34 : 30);
        fputc('\n', out);
    }
    if (row->kind == DIFF_MORE && row->match != DIFF_MATCH_SIMILAR) {
        CompareSite sites[2][SITES_SHOWN];
        size_t count[2];
        for (int s = 0; s < DIFF_SIDES; s++)
            count[s] = compare_sites(view->compare, (DiffSide)s, row->group[s], 0, view->metric,
                                     sites[s], SITES_SHOWN);
        if (count[0] != count[1] && count[0] > 0) {
            fprintf(out, "%*sbefore, from:", INDENT, "");
            write_sites(view, row, DIFF_BEFORE, 0, out);
            fputc('\n', out);
        }
    }
    fputc('\n', out);
}

int diff_write_rows(const DiffView *view, size_t most, unsigned kinds, FILE *out)
{
    size_t shown = 0, left = 0;
    for (size_t i = 0; i < view->changed; i++) {
        if (!(kinds & 1u << view->rows[i].kind))
            continue;
        if (shown < most) {
            write_row(view, &view->rows[i], out);
            shown++;
        } else {
            left++;
        }
    }
    if (left > 0)
        fprintf(out, "%s %zu more changed stack%s (--top %zu shows all)\n",
                view->ascii ? "..." : "…", left, left == 1 ? "" : "s", shown + left);
    return ferror(out) ? -EIO : 0;
}

static void write_side(const DiffView *view, DiffSide side, FILE *out)
{
    char number[NUMBER_BYTES], count[NUMBER_BYTES];
    const CompareTotals *totals = compare_totals(view->compare, side);
    const CompareSource *source = compare_source(view->compare, side);
    fprintf(out, "%-7s", side == DIFF_BEFORE ? "before" : "after");
    fprintf(out, "%12s  ", number_metric(number, view->metric, totals->values.v[view->metric]));
    term_write_name(out, view->title[side], view->width > 60 ? view->width - 22 : 40);
    if (source->window) {
        fprintf(out, "\n%21s%s iterations", "", number_count(count, (int64_t)totals->iterations));
        if (totals->worst.v[view->metric] != totals->values.v[view->metric])
            fprintf(out, ", the worst %s",
                    number_metric(number, view->metric, totals->worst.v[view->metric]));
        if (window_unfinished(source->window) > 0)
            fprintf(out, ", %s unfinished",
                    number_count(count, (int64_t)window_unfinished(source->window)));
    }
    fputc('\n', out);
}

static void write_head(const DiffView *view, FILE *out)
{
    const ProfileWindow *window = compare_source(view->compare, DIFF_AFTER)->window;
    fprintf(out, "%s%s", view->color ? "\033[1m" : "",
            window ? metric_words_of_window(view->metric) : metric_words(view->metric));
    if (window) {
        fputs(" per iteration of window ", out);
        term_write_name(out, window->name, view->width / 2);
        fputs(" (median)", out);
    }
    fprintf(out, "%s\n", view->color ? "\033[0m" : "");
    write_side(view, DIFF_BEFORE, out);
    write_side(view, DIFF_AFTER, out);
    fputc('\n', out);
}

int diff_write_text(const DiffView *view, FILE *out)
{
    const DiffSummary *s = &view->summary;
    write_head(view, out);
    if (view->changed == 0) {
        fprintf(out, "no stack changed (%zu compared)\n", s->count[DIFF_SAME]);
    } else {
        fprintf(out, "%zu new, %zu more, %zu fewer, %zu gone, %zu the same\n\n", s->count[DIFF_NEW],
                s->count[DIFF_MORE], s->count[DIFF_FEWER], s->count[DIFF_GONE],
                s->count[DIFF_SAME]);
        diff_write_rows(view, view->top ? view->top : DEFAULT_TOP, ~0u, out);
    }
    if (s->similar > 0)
        fprintf(out, "%zu stack%s paired by likeness, not by equal names\n", s->similar,
                s->similar == 1 ? " was" : "s were");
    if (s->ambiguous > 0)
        fprintf(out, "%zu changed stack%s ambiguous: another would have paired as well\n",
                s->ambiguous, s->ambiguous == 1 ? " is" : "s are");
    return ferror(out) ? -EIO : 0;
}
