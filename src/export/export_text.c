// SPDX-License-Identifier: Apache-2.0
/*
 * The readable report: a head (text_head.c) and a call tree that fits the width of the view.
 *
 * The tree starts at the allocating functions, below each its callers; --inverted turns it. Only
 * where paths part does it branch and indent, and only where a figure changes is it printed: the
 * frames of one path stand below each other. Branches under 1 % of the sum are gathered in one
 * line. Allocator plumbing (operator new, std::allocator) is left out, its callers are named. An
 * interval has two trees, added and removed. Cost: one tree in memory, printing is linear.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "export/alloc_site.h"
#include "export/call_tree.h"
#include "export/names.h"
#include "export/numbers.h"
#include "export/text_head.h"

enum {
    FIGURE_COLUMNS = 30,        /* share, bytes, count and the gaps */
    NARROW_FIGURE_COLUMNS = 20, /* without the count; names then without their place */
    NARROW_WIDTH = 68,          /* as the head has it */
    DEFAULT_TOP = 10,
    ALWAYS_ROOTS = 5,
    MAX_CHILDREN = 12,
    CHAIN_HEAD = 12, /* frames of an unbranched path that are shown unless `full` */
    CHAIN_TAIL = 2,
    MIN_NAME_COLUMNS = 8,
    MANY_FRAMES = 1000000,
};

typedef struct TextTree {
    const View *view;
    const Tree *tree;
    FILE *out;
    Metric metric, bytes, count; /* what the three columns show */
    int64_t whole;
    NameBuffer safe, location, shown, prefix;
    int error;
} TextTree;

static const char *pick(const TextTree *t, const char *unicode, const char *ascii)
{
    return t->view->ascii ? ascii : unicode;
}

static bool is_narrow(const TextTree *t)
{
    return t->view->width < NARROW_WIDTH;
}

static unsigned figure_columns(const TextTree *t)
{
    return is_narrow(t) ? NARROW_FIGURE_COLUMNS : FIGURE_COLUMNS;
}

static void figures_print(TextTree *t, const TreeNode *node)
{
    char share[NUMBER_BYTES], bytes[NUMBER_BYTES], count[NUMBER_BYTES];
    if (!node) {
        fprintf(t->out, "%*s", (int)figure_columns(t), "");
        return;
    }
    fprintf(t->out, "%7s %10s", number_percent(share, node->values[0].v[t->metric], t->whole),
            metric_is_bytes(t->bytes) ? number_bytes(bytes, node->values[0].v[t->bytes])
                                      : number_count_short(bytes, node->values[0].v[t->bytes], 10));
    if (!is_narrow(t))
        fprintf(t->out, " %9s", number_count_short(count, node->values[0].v[t->count], 9));
    fputs("  ", t->out);
}

/* "file:line", else the module; its buffer is t->location. */
static const char *location_text(TextTree *t, const Label *label)
{
    name_buffer_clear(&t->location);
    /* The name of an unknown function has the module in it. */
    const char *place = label->file ? label->file : label->known ? label->module : "";
    if (!name_append_terminal(&t->location, name_base(place), t->view->ascii))
        return NULL;
    if (label->file && label->line) {
        char line[16];
        int n = snprintf(line, sizeof(line), ":%u", label->line);
        return name_append(&t->location, line, (size_t)n);
    }
    return t->location.data;
}

static const char *function_text(TextTree *t, const TreeNode *node, const Label *label)
{
    name_buffer_clear(&t->safe);
    if (!name_append_terminal(&t->safe, label->function, t->view->ascii))
        return NULL;
    if (node->repeat_max > 1) {
        char repeat[48];
        int n =
            node->repeat_min == node->repeat_max
                ? snprintf(repeat, sizeof(repeat), " (x%u)", node->repeat_max)
                : snprintf(repeat, sizeof(repeat), " (x%u-%u)", node->repeat_min, node->repeat_max);
        return name_append(&t->safe, repeat, (size_t)n);
    }
    return t->safe.data;
}

/* Function and place in what the prefix leaves free; the place gives way first. */
static void name_print(TextTree *t, const TreeNode *node, unsigned used, bool strong)
{
    const Label *label = tree_label(t->view, node->label);
    unsigned width = t->view->width > used ? t->view->width - used : 0;
    width = width < MIN_NAME_COLUMNS ? MIN_NAME_COLUMNS : width;
    const char *function = function_text(t, node, label);
    const char *place = is_narrow(t) ? "" : location_text(t, label);
    if (!function || !place) {
        t->error = -ENOMEM;
        return;
    }
    unsigned place_columns = name_columns(place);
    NameBuffer short_place = {0};
    if (place_columns > width * 2 / 5 && name_columns(function) + 2 + place_columns > width) {
        place = name_shorten(&short_place, place, width * 2 / 5, t->view->ascii);
        place_columns = place ? name_columns(place) : 0;
    }
    unsigned room = width - (place_columns ? place_columns + 2 : 0);
    function = name_shorten(&t->shown, function, room, t->view->ascii);
    bool color = t->view->color;
    if (function && place)
        fprintf(t->out, "%s%s%s%s%s%s%s\n", color && strong ? "\033[1m" : "", function,
                color && strong ? "\033[0m" : "", *place ? "  " : "", color ? "\033[2m" : "", place,
                color ? "\033[0m" : "");
    else
        t->error = -ENOMEM;
    name_buffer_done(&short_place);
}

/* The prefix, from its right end if it is longer than half of the room. */
static unsigned prefix_print(TextTree *t, const char *branch)
{
    const char *prefix = t->prefix.data;
    unsigned columns = name_columns(prefix), most = t->view->width / 4;
    while (columns > most) {
        uint32_t code;
        prefix += name_sequence(prefix, &code);
        columns--;
    }
    fprintf(t->out, "%s%s%s%s", t->view->color ? "\033[2m" : "", prefix, branch,
            t->view->color ? "\033[0m" : "");
    return figure_columns(t) + columns + name_columns(branch);
}

static void line_print(TextTree *t, const TreeNode *node, bool figures, const char *branch,
                       bool strong)
{
    figures_print(t, figures ? node : NULL);
    name_print(t, node, prefix_print(t, branch), strong);
}

static void note_print(TextTree *t, const char *branch, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void note_print(TextTree *t, const char *branch, const char *format, ...)
{
    va_list arguments;
    figures_print(t, NULL);
    prefix_print(t, branch);
    va_start(arguments, format);
    vfprintf(t->out, format, arguments);
    va_end(arguments);
    fputc('\n', t->out);
}

/* In the figures that are shown. */
static bool same_values(const TextTree *t, const TreeNode *a, const TreeNode *b)
{
    const int64_t *x = a->values[0].v, *y = b->values[0].v;
    return x[t->metric] == y[t->metric] && x[t->bytes] == y[t->bytes] && x[t->count] == y[t->count];
}

/* The only child of a node if it has all of its value, else 0. */
static uint32_t chain_next(const TextTree *t, uint32_t node)
{
    const TreeNode *n = &t->tree->nodes[node];
    if (node + 1 >= n->end || t->tree->nodes[node + 1].end != n->end)
        return 0;
    return same_values(t, n, &t->tree->nodes[node + 1]) ? node + 1 : 0;
}

/* Prints the unbranched path below a node; returns where it ends. */
static uint32_t chain_print(TextTree *t, uint32_t node)
{
    size_t length = 0, i = 0;
    for (uint32_t n = chain_next(t, node); n; n = chain_next(t, n))
        length++;
    bool cut = !t->view->full && length > CHAIN_HEAD + CHAIN_TAIL + 1;
    uint32_t last = node;
    for (uint32_t n = chain_next(t, node); n; n = chain_next(t, n), i++) {
        last = n;
        if (cut && i == CHAIN_HEAD)
            note_print(t, "", "%s %zu more frames", pick(t, "\xe2\x8b\xae", ":"),
                       length - CHAIN_HEAD - CHAIN_TAIL);
        if (!cut || i < CHAIN_HEAD || i >= length - CHAIN_TAIL)
            line_print(t, &t->tree->nodes[n], false, "", false);
    }
    return last;
}

static void node_print(TextTree *t, uint32_t node, const char *branch, const char *indent,
                       bool root);

/* How many of the sorted children are shown. */
static size_t children_shown(const TextTree *t, const uint32_t *children, size_t count, bool roots)
{
    size_t most = roots ? t->view->top ? t->view->top : DEFAULT_TOP : MAX_CHILDREN, shown = 0;
    /* Who asks for 50 roots gets 50, however small; who does not, sees a few at least. */
    size_t always = roots ? t->view->top ? most : ALWAYS_ROOTS : 0;
    while (shown < count && shown < most) {
        int64_t value = t->tree->nodes[children[shown]].values[0].v[t->metric];
        if (value <= 0 || (shown >= always && (double)value * 100 < (double)t->whole))
            break;
        shown++;
    }
    return shown;
}

static void rest_print(TextTree *t, const uint32_t *children, size_t from, size_t count,
                       const char *branch)
{
    TreeNode rest = {0};
    size_t some = 0;
    for (size_t i = from; i < count; i++) {
        const TreeNode *c = &t->tree->nodes[children[i]];
        some += c->values[0].v[t->metric] > 0;
        for (size_t m = 0; m < METRIC_MAX; m++)
            rest.values[0].v[m] += c->values[0].v[m];
    }
    if (some == 0)
        return;
    figures_print(t, &rest);
    prefix_print(t, branch);
    char number[NUMBER_BYTES];
    fprintf(t->out, "%s %s more\n", pick(t, "\xe2\x80\xa6", "..."),
            number_count(number, (int64_t)some));
}

static void children_print(TextTree *t, uint32_t node, bool roots)
{
    size_t count = tree_child_count(t->tree, node);
    uint32_t *children = malloc((count + 1) * sizeof(*children));
    if (!children) {
        t->error = -ENOMEM;
        return;
    }
    tree_children(t->tree, node, t->metric, children);
    size_t shown = children_shown(t, children, count, roots);
    bool rest = false;
    for (size_t i = shown; i < count; i++)
        rest = rest || t->tree->nodes[children[i]].values[0].v[t->metric] > 0;
    for (size_t i = 0; i < shown; i++) {
        bool last = i + 1 == shown && !rest;
        if (roots)
            node_print(t, children[i], "", "", true);
        else
            node_print(t, children[i],
                       last ? pick(t, "\xe2\x94\x94 ", "`-") : pick(t, "\xe2\x94\x9c ", "|-"),
                       last ? "  " : pick(t, "\xe2\x94\x82 ", "| "), false);
    }
    rest_print(t, children, shown, count, roots ? "" : pick(t, "\xe2\x94\x94 ", "`-"));
    free(children);
}

/* Recurses only where paths part, so the depth is that of branching. */
static void node_print(TextTree *t, uint32_t node, const char *branch, const char *indent,
                       bool root)
{
    size_t length = t->prefix.length;
    line_print(t, &t->tree->nodes[node], true, branch, root);
    if (!name_append(&t->prefix, indent, strlen(indent))) {
        t->error = -ENOMEM;
        return;
    }
    uint32_t end = chain_print(t, node);
    if (t->error == 0)
        children_print(t, end, false);
    t->prefix.length = length;
    t->prefix.data[length] = '\0';
    if (root)
        fputc('\n', t->out);
}

/* Which figures stand beside the share. */
static void columns_choose(TextTree *t)
{
    bool total = t->metric == METRIC_TOTAL_BYTES || t->metric == METRIC_TOTAL_COUNT;
    t->bytes = total                           ? METRIC_TOTAL_BYTES
               : t->metric == METRIC_OVERHEAD  ? METRIC_OVERHEAD
               : t->metric == METRIC_TEMPORARY ? METRIC_TEMPORARY
                                               : METRIC_LIVE_BYTES;
    t->count = total || t->metric == METRIC_TEMPORARY ? METRIC_TOTAL_COUNT : METRIC_LIVE_COUNT;
}

/* What stands above the figures and names. */
static void columns_print(const TextTree *t)
{
    const View *view = t->view;
    const char *bytes = view->metric == METRIC_TEMPORARY  ? "temporary"
                        : view->metric == METRIC_OVERHEAD ? "overhead"
                                                          : "bytes";
    const char *count = t->count == METRIC_TOTAL_COUNT ? "allocs" : "blocks";
    const char *wide =
        view->inverted ? "function, below it what it called" : "allocated by, below it the callers";
    fprintf(t->out, "%s%7s %10s", view->color ? "\033[2m" : "", "share", bytes);
    if (is_narrow(t))
        fprintf(t->out, "  %s", view->inverted ? "function" : "allocated by");
    else
        fprintf(t->out, " %9s  %s", count, wide);
    fprintf(t->out, "%s\n", view->color ? "\033[0m" : "");
}

/*
 * In a profile with millions of frames the tree is cut where it is under a thousandth of the whole:
 * nothing under a hundredth is branched to. 0: no cutting.
 */
static int64_t cut_choose(const TreeRow *rows, size_t count, Metric metric)
{
    size_t frames = 0;
    int64_t whole = 0;
    for (size_t i = 0; i < count; i++) {
        frames += rows[i].depth;
        whole += rows[i].values[0]->v[metric];
    }
    return frames > MANY_FRAMES ? whole / 1000 : 0;
}

/* A tree of the rows that have a figure to show: the others would only branch it. */
static int shown_tree_build(const TextTree *t, const TreeRow *rows, Tree *ret_tree)
{
    const View *view = t->view;
    size_t count = 0;
    TreeRow *shown = malloc((view->stack_count + 1) * sizeof(*shown));
    if (!shown)
        return -ENOMEM;
    for (size_t i = 0; i < view->stack_count; i++) {
        const int64_t *v = rows[i].values[0]->v;
        if (v[t->metric] || v[t->bytes] || v[t->count])
            shown[count++] = rows[i];
    }
    int r = tree_build(shown, count,
                       &(TreeOptions){.leaf_first = !view->inverted,
                                      .collapse = view->collapse,
                                      .cut_below = cut_choose(shown, count, view->metric),
                                      .metric = view->metric},
                       ret_tree);
    free(shown);
    return r;
}

static int section_write(const View *view, const TreeRow *rows, FILE *out)
{
    Tree tree = {0};
    TextTree t = {.view = view, .tree = &tree, .out = out, .metric = view->metric};
    columns_choose(&t);
    int r = shown_tree_build(&t, rows, &tree);
    if (r < 0)
        return r;
    tree_accumulate(&tree);
    t.whole = tree.nodes[0].values[0].v[view->metric];
    if (!name_append(&t.prefix, "", 0)) {
        t.error = -ENOMEM;
    } else if (t.whole <= 0) {
        fprintf(out, "  nothing\n\n");
    } else {
        columns_print(&t);
        children_print(&t, 0, true);
    }
    name_buffer_done(&t.safe);
    name_buffer_done(&t.location);
    name_buffer_done(&t.shown);
    name_buffer_done(&t.prefix);
    tree_done(&tree);
    return t.error;
}

/* What starts a program or a thread is the same on every path and says nothing. */
static void starts_leave_out(const View *view, TreeRow *rows)
{
    for (size_t i = 0; !view->full && i < view->stack_count; i++)
        rows[i].depth -= alloc_site_skip_start(view->labels, rows[i].path, rows[i].depth);
}

static int write_text(const View *view, FILE *out)
{
    TreeRows made;
    int r = text_head_write(view, out);
    if (r >= 0)
        r = tree_rows_of_view(view, true, &made);
    if (r < 0)
        return r;
    starts_leave_out(view, made.rows);
    for (int removed = 0; r >= 0 && removed <= (view->interval ? 1 : 0); removed++) {
        text_heading_write(view, removed, out);
        for (size_t i = 0; i < view->stack_count; i++)
            made.rows[i].values[0] = removed ? &view->stacks[i].removed : &view->stacks[i].values,
            made.rows[i].values[1] = NULL;
        r = section_write(view, made.rows, out);
    }
    tree_rows_done(&made);
    return r < 0 ? r : ferror(out) ? -EIO : 0;
}

const Exporter export_text = {
    .name = "text",
    .extension = "txt",
    .what = "a readable call tree (default)",
    .write = write_text,
};
