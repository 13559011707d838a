// SPDX-License-Identifier: Apache-2.0
/*
 * The diff as JSON, described in docs/WINDOWS.md (version 1: additions keep the number). One row a
 * line, changed ones only, largest change first; all metrics of both sides, paths leaf first.
 */
#include "cli/diff.h"

#include <errno.h>
#include <jansson.h>

#include "export/json_piece.h"

enum { SITES_MAX = 16 };

static json_t *sites_array(const DiffView *view, DiffSide side, uint32_t group, size_t index)
{
    CompareSite sites[SITES_MAX];
    size_t count = compare_sites(view->compare, side, group, index, view->metric, sites, SITES_MAX);
    json_t *array = json_array();
    for (size_t i = 0; array && i < count && i < SITES_MAX; i++)
        json_array_append_new(array, json_pack("{s:o, s:I}", "place", json_name(sites[i].place),
                                               "value", (json_int_t)sites[i].value));
    return array;
}

static json_t *frames_array(const DiffView *view, DiffSide side, uint32_t index)
{
    StackDiff *diff = compare_diff(view->compare);
    const DiffGroup *group = stack_diff_group(diff, side, index);
    json_t *array = json_array();
    for (size_t i = 0; array && i < group->depth; i++) {
        CompareSite site = {""};
        compare_sites(view->compare, side, index, i, view->metric, &site, 1);
        json_array_append_new(
            array, json_pack("{s:o, s:o, s:o}", "function",
                             json_name(stack_diff_function(diff, group->frames[i])), "module",
                             json_name(stack_diff_module(diff, group->frames[i])), "place",
                             site.place[0] ? json_name(site.place) : json_null()));
    }
    return array;
}

static json_t *side_object(const DiffView *view, const DiffRow *row, DiffSide side)
{
    uint32_t index = row->group[side];
    if (index == ID_NONE)
        return json_null();
    const DiffGroup *group = stack_diff_group(compare_diff(view->compare), side, index);
    uint32_t flags = compare_flags(view->compare, side, index);
    json_t *o = json_pack(
        "{s:o, s:o, s:o, s:o, s:b}", "values", json_values(&group->values), "frames",
        frames_array(view, side, index), "sites",
        group->depth ? sites_array(view, side, index, 0) : json_array(), "first_difference",
        row->differs[side] == ID_NONE ? json_null() : json_integer(row->differs[side]), "truncated",
        (flags & (STACK_DEPTH_CUT | STACK_ENDED_EARLY)) != 0);
    if (o && compare_source(view->compare, side)->window)
        json_object_set_new(o, "worst", json_values(&group->worst));
    return o;
}

static json_t *row_object(const DiffView *view, const DiffRow *row)
{
    return json_pack("{s:s, s:s, s:b, s:b, s:I, s:o, s:o}", "kind", diff_kind_name(row->kind),
                     "match", diff_match_name(row->match), "ambiguous", (int)row->ambiguous,
                     "worst_only", (int)row->worst_only, "change", (json_int_t)row->change,
                     "before", side_object(view, row, DIFF_BEFORE), "after",
                     side_object(view, row, DIFF_AFTER));
}

static json_t *source_object(const DiffView *view, DiffSide side)
{
    const CompareSource *source = compare_source(view->compare, side);
    const CompareTotals *totals = compare_totals(view->compare, side);
    json_t *o =
        json_pack("{s:o, s:o, s:o}", "file", json_name(profile_path(source->session->profile)),
                  "title", json_name(view->title[side]), "values", json_values(&totals->values));
    if (o && source->window) {
        json_object_set_new(o, "worst", json_values(&totals->worst));
        json_object_set_new(o, "iterations", json_integer((json_int_t)totals->iterations));
        json_object_set_new(o, "unfinished",
                            json_integer((json_int_t)window_unfinished(source->window)));
    } else if (o) {
        json_object_set_new(o, "time_ns", json_integer((json_int_t)source->at_ns));
    }
    return o;
}

static json_t *summary_object(const DiffView *view)
{
    const DiffSummary *s = &view->summary;
    json_t *o = json_object();
    for (int kind = 0; o && kind < DIFF_KINDS; kind++)
        json_object_set_new(o, diff_kind_name((DiffKind)kind),
                            json_integer((json_int_t)s->count[kind]));
    if (o) {
        json_object_set_new(o, "ambiguous", json_integer((json_int_t)s->ambiguous));
        json_object_set_new(o, "paired_by_likeness", json_integer((json_int_t)s->similar));
        json_object_set_new(o, "nothing_in_common", json_boolean(s->nothing_in_common));
    }
    return o;
}

int diff_write_json(const DiffView *view, FILE *out)
{
    const ProfileWindow *window = compare_source(view->compare, DIFF_AFTER)->window;
    fprintf(out, "{\"version\": 1, \"kind\": \"diff\", \"metric\": \"%s\",\n\"window\": ",
            json_metric_key(view->metric));
    int r = json_piece_write(window ? json_name(window->name) : json_null(), out);
    fputs(",\n\"before\": ", out);
    r = r < 0 ? r : json_piece_write(source_object(view, DIFF_BEFORE), out);
    fputs(",\n\"after\": ", out);
    r = r < 0 ? r : json_piece_write(source_object(view, DIFF_AFTER), out);
    fputs(",\n\"summary\": ", out);
    r = r < 0 ? r : json_piece_write(summary_object(view), out);
    fputs(",\n\"rows\": [", out);
    for (size_t i = 0; r == 0 && i < view->changed; i++) {
        fputs(i ? ",\n" : "\n", out);
        r = json_piece_write(row_object(view, &view->rows[i]), out);
    }
    fputs("]}\n", out);
    return r < 0 ? r : ferror(out) ? -EIO : 0;
}
