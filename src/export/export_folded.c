// SPDX-License-Identifier: Apache-2.0
/*
 * Brendan Gregg's folded stacks: one line per distinct path, root first (leaf first with
 * --inverted), frames joined by ';', a blank, the value. So that a line reads in one way only, a
 * ';' in a name becomes ':' and blanks and control characters become '_'. The value is the metric
 * of the view; for an interval what was added less what was removed would lose one of the two, so
 * lines carry two columns there, removed and added, as difffolded.pl has them (before, after).
 * Values of 0 and below are left out. One pass over the tree, memory for one line.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "export/call_tree.h"
#include "export/names.h"
#include "export/numbers.h"

static int line_write(const View *view, const TreeNode *node, const NameBuffer *line, FILE *out)
{
    int64_t added = node->values[0].v[view->metric], removed = node->values[1].v[view->metric];
    if (added <= 0 && removed <= 0)
        return 0;
    int r = view->interval
                ? fprintf(out, "%s %" PRId64 " %" PRId64 "\n", line->data, removed, added)
                : fprintf(out, "%s %" PRId64 "\n", line->data, added);
    return r < 0 ? -EIO : 0;
}

static const char *frame_append(const View *view, const TreeNode *node, NameBuffer *line)
{
    if (node->level > 1 && !name_append(line, ";", 1))
        return NULL;
    const char *data = name_append_folded(line, tree_label(view, node->label)->function);
    if (data && node->repeat_max > 1) {
        char repeat[32];
        int n = snprintf(repeat, sizeof(repeat), "_(x%" PRIu32 ")", node->repeat_max);
        data = name_append(line, repeat, (size_t)n);
    }
    return data;
}

static int lines_write(const View *view, const Tree *tree, size_t *ends, FILE *out)
{
    NameBuffer line = {0};
    int r = name_append(&line, "", 0) ? 0 : -ENOMEM;
    for (size_t n = 0; r == 0 && n < tree->count; n++) {
        const TreeNode *node = &tree->nodes[n];
        if (n > 0) { /* the line is cut back to the parent's end */
            line.length = ends[node->level - 1];
            if (!frame_append(view, node, &line))
                r = -ENOMEM;
            ends[node->level] = line.length;
        }
        if (r == 0 && n > 0)
            r = line_write(view, node, &line, out);
    }
    name_buffer_done(&line);
    return r;
}

static int write_folded(const View *view, FILE *out)
{
    TreeRows rows;
    Tree tree = {0};
    int r = tree_rows_of_view(view, false, &rows);
    if (r < 0)
        return r;
    size_t count = view->top && view->top < view->stack_count ? view->top : view->stack_count;
    r = tree_build(rows.rows, count, &(TreeOptions){view->inverted, view->collapse}, &tree);
    tree_rows_done(&rows);
    if (r < 0)
        return r;
    uint32_t deepest = 0;
    for (size_t n = 0; n < tree.count; n++)
        deepest = tree.nodes[n].level > deepest ? tree.nodes[n].level : deepest;
    size_t *ends = calloc((size_t)deepest + 1, sizeof(*ends));
    r = ends ? lines_write(view, &tree, ends, out) : -ENOMEM;
    free(ends);
    tree_done(&tree);
    return r;
}

const Exporter export_folded = {
    .name = "folded",
    .extension = "folded",
    .what = "one line per call path, for flamegraph.pl and others",
    .write = write_folded,
};
