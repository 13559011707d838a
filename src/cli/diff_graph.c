// SPDX-License-Identifier: Apache-2.0
/*
 * A diff as a picture, or as data for one: the differential flame graph (the page is export/html's)
 * and folded stacks with two columns. Paired stacks are drawn on the path that they have after.
 */
#include "cli/diff.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/export.h"
#include "export/names.h"

static const DiffGroup *group_of(const DiffView *view, const DiffRow *row, DiffSide side)
{
    return row->group[side] == ID_NONE
               ? NULL
               : stack_diff_group(compare_diff(view->compare), side, row->group[side]);
}

/* The widest frame id in use, plus 1. */
static size_t count_frames(const DiffView *view)
{
    size_t count = 0;
    for (int s = 0; s < DIFF_SIDES; s++)
        for (uint32_t g = 0; g < stack_diff_group_count(compare_diff(view->compare), (DiffSide)s);
             g++) {
            const DiffGroup *group = stack_diff_group(compare_diff(view->compare), (DiffSide)s, g);
            for (size_t i = 0; i < group->depth; i++)
                if (group->frames[i] >= count)
                    count = (size_t)group->frames[i] + 1;
        }
    return count;
}

static void fill_rows(const DiffView *view, ExportDiffRow *rows)
{
    for (size_t i = 0; i < view->row_count; i++) {
        const DiffGroup *before = group_of(view, &view->rows[i], DIFF_BEFORE);
        const DiffGroup *after = group_of(view, &view->rows[i], DIFF_AFTER);
        const DiffGroup *drawn = after ? after : before;
        rows[i] = (ExportDiffRow){.path = drawn->frames, .depth = drawn->depth};
        if (before)
            rows[i].before = before->values;
        if (after)
            rows[i].after = after->values;
    }
}

int diff_write_html(const DiffView *view, FILE *out)
{
    size_t frame_count = count_frames(view);
    ExportDiffFrame *frames = calloc(frame_count + 1, sizeof *frames);
    ExportDiffRow *rows = calloc(view->row_count + 1, sizeof *rows);
    const ProfileWindow *window = compare_source(view->compare, DIFF_AFTER)->window;
    char title[300] = "memhawk diff";
    int r = frames && rows ? 0 : -ENOMEM;
    if (window)
        snprintf(title, sizeof title, "memhawk diff: window %s, per iteration", window->name);
    if (r == 0) {
        for (uint32_t i = 0; i < frame_count; i++)
            frames[i] =
                (ExportDiffFrame){.function = stack_diff_function(compare_diff(view->compare), i),
                                  .module = stack_diff_module(compare_diff(view->compare), i)};
        fill_rows(view, rows);
        r = export_html_diff(&(ExportDiff){.title = title,
                                           .before_title = view->title[DIFF_BEFORE],
                                           .after_title = view->title[DIFF_AFTER],
                                           .metric = view->metric,
                                           .frames = frames,
                                           .frame_count = frame_count,
                                           .rows = rows,
                                           .row_count = view->row_count},
                             out);
    }
    free(frames);
    free(rows);
    return r;
}

static int64_t value_of(const DiffView *view, const DiffRow *row, DiffSide side)
{
    const DiffGroup *group = group_of(view, row, side);
    return group ? group->values.v[view->metric] : 0;
}

int diff_write_folded(const DiffView *view, FILE *out)
{
    NameBuffer name = {0};
    int r = 0;
    for (size_t i = 0; i < view->row_count && r == 0; i++) {
        const DiffRow *row = &view->rows[i];
        const DiffGroup *after = group_of(view, row, DIFF_AFTER);
        const DiffGroup *group = after ? after : group_of(view, row, DIFF_BEFORE);
        for (size_t f = group->depth; f-- > 0;) {
            name_buffer_clear(&name);
            const char *function =
                stack_diff_function(compare_diff(view->compare), group->frames[f]);
            if (!name_append_folded(&name, function)) {
                r = -ENOMEM;
                break;
            }
            fprintf(out, "%s%s", name.data, f ? ";" : "");
        }
        fprintf(out, " %" PRId64 " %" PRId64 "\n", value_of(view, row, DIFF_BEFORE),
                value_of(view, row, DIFF_AFTER));
    }
    name_buffer_done(&name);
    return r < 0 ? r : ferror(out) ? -EIO : 0;
}
