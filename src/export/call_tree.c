// SPDX-License-Identifier: Apache-2.0
/*
 * Folds paths into a tree by sorting: the paths are copied into one array, turned so that they
 * start at the wanted end, sorted lexicographically, and then each differs from its predecessor
 * by a suffix, which becomes new nodes. That needs no hash table, gives preorder for nothing, and
 * costs 4 bytes per frame (8 with collapsing) beside the nodes. Results are the same on every run.
 */
#include "export/call_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/alloc_site.h"

typedef struct Path {
    const uint32_t *labels;  /* from the root of the tree outwards */
    const uint32_t *repeats; /* NULL: all 1 */
    uint32_t depth;
    uint32_t row;
} Path;

typedef struct Paths {
    Path *paths;
    uint32_t *labels, *repeats;
} Paths;

static void paths_done(Paths *p)
{
    free(p->paths);
    free(p->labels);
    free(p->repeats);
}

static int paths_make(const TreeRow *rows, size_t row_count, const TreeOptions *options, Paths *p)
{
    size_t frames = 0;
    for (size_t i = 0; i < row_count; i++)
        frames += rows[i].depth;
    p->paths = malloc((row_count + 1) * sizeof(*p->paths));
    p->labels = malloc((frames + 1) * sizeof(*p->labels));
    p->repeats = options->collapse ? malloc((frames + 1) * sizeof(*p->repeats)) : NULL;
    if (!p->paths || !p->labels || (options->collapse && !p->repeats))
        return -ENOMEM;
    size_t used = 0;
    for (size_t i = 0; i < row_count; i++) {
        const TreeRow *row = &rows[i];
        Path *path = &p->paths[i];
        *path = (Path){p->labels + used, p->repeats ? p->repeats + used : NULL, 0, (uint32_t)i};
        size_t start = used;
        for (size_t j = 0; j < row->depth; j++) {
            uint32_t label = row->path[options->leaf_first ? j : row->depth - 1 - j];
            if (p->repeats && used > start && p->labels[used - 1] == label) {
                p->repeats[used - 1]++;
                continue;
            }
            if (p->repeats)
                p->repeats[used] = 1;
            p->labels[used++] = label;
        }
        path->depth = (uint32_t)(used - start);
    }
    return 0;
}

static int path_compare(const void *a, const void *b)
{
    const Path *x = a, *y = b;
    uint32_t depth = x->depth < y->depth ? x->depth : y->depth;
    for (uint32_t i = 0; i < depth; i++)
        if (x->labels[i] != y->labels[i])
            return x->labels[i] < y->labels[i] ? -1 : 1;
    if (x->depth != y->depth)
        return x->depth < y->depth ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static int node_append(Tree *tree, uint32_t label, uint32_t parent, uint32_t level)
{
    if (tree->count == tree->capacity) {
        size_t capacity = tree->capacity ? tree->capacity * 2 : 256;
        TreeNode *nodes = realloc(tree->nodes, capacity * sizeof(*nodes));
        if (!nodes)
            return -ENOMEM;
        tree->nodes = nodes;
        tree->capacity = capacity;
    }
    if (tree->count >= ID_NONE)
        return -EOVERFLOW;
    tree->nodes[tree->count++] =
        (TreeNode){.label = label, .parent = parent, .level = level, .repeat_min = UINT32_MAX};
    return 0;
}

static void values_add(Values *sum, const Values *v)
{
    for (size_t m = 0; v && m < METRIC_MAX; m++)
        sum->v[m] += v->v[m];
}

/* Adds a path below the open one, whose first `shared` levels they have in common. */
static int path_insert(Tree *tree, const Path *path, uint32_t shared, uint32_t *open)
{
    for (uint32_t i = shared; i < path->depth; i++) {
        int r = node_append(tree, path->labels[i], open[i], i + 1);
        if (r < 0)
            return r;
        open[i + 1] = (uint32_t)tree->count - 1;
    }
    for (uint32_t i = 0; i < path->depth; i++) {
        TreeNode *node = &tree->nodes[open[i + 1]];
        uint32_t repeat = path->repeats ? path->repeats[i] : 1;
        node->repeat_min = repeat < node->repeat_min ? repeat : node->repeat_min;
        node->repeat_max = repeat > node->repeat_max ? repeat : node->repeat_max;
    }
    return 0;
}

static uint32_t shared_depth(const Path *a, const Path *b)
{
    uint32_t i = 0;
    while (i < a->depth && i < b->depth && a->labels[i] == b->labels[i])
        i++;
    return i;
}

/* What is needed to see a subtree's sum before its nodes are made; NULL members: no cutting. */
typedef struct Cut {
    uint32_t *shared; /* levels that a path has in common with its predecessor */
    int64_t *before;  /* sum of all paths before this one */
    size_t count;
    int64_t below;
    size_t until; /* paths before this one end at `depth` */
    uint32_t depth;
} Cut;

static int cut_prepare(const TreeRow *rows, size_t row_count, const Path *paths,
                       const TreeOptions *options, Cut *cut)
{
    *cut = (Cut){.count = row_count, .below = options->cut_below};
    if (options->cut_below <= 0)
        return 0;
    cut->shared = calloc(row_count + 1, sizeof(*cut->shared));
    cut->before = calloc(row_count + 1, sizeof(*cut->before));
    if (!cut->shared || !cut->before)
        return -ENOMEM;
    for (size_t i = 0; i < row_count; i++) {
        int64_t value = 0;
        for (size_t set = 0; set < TREE_SETS; set++)
            if (rows[paths[i].row].values[set])
                value += rows[paths[i].row].values[set]->v[options->metric];
        cut->before[i + 1] = cut->before[i] + value;
        cut->shared[i] = i ? shared_depth(&paths[i - 1], &paths[i]) : 0;
    }
    return 0;
}

/* How much of a path becomes nodes: up to the first whose subtree is small. The ranges scanned here
 * are, over all paths, as long as all paths together. */
static uint32_t cut_depth(Cut *cut, const Path *paths, size_t i)
{
    if (!cut->before)
        return paths[i].depth;
    if (i < cut->until)
        return paths[i].depth < cut->depth ? paths[i].depth : cut->depth;
    for (uint32_t level = i ? cut->shared[i] : 0; level < paths[i].depth; level++) {
        size_t end = i + 1;
        while (end < cut->count && cut->shared[end] > level)
            end++;
        if (cut->before[end] - cut->before[i] < cut->below) {
            cut->until = end;
            cut->depth = level + 1;
            return level + 1;
        }
    }
    return paths[i].depth;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static int nodes_make(const TreeRow *rows, size_t row_count, Path *paths,
                      const TreeOptions *options, Tree *tree)
{
    uint32_t deepest = 0;
    for (size_t i = 0; i < row_count; i++)
        deepest = paths[i].depth > deepest ? paths[i].depth : deepest;
    uint32_t *open = calloc((size_t)deepest + 1, sizeof(*open)); /* open[0]: the root */
    Cut cut;
    int r = cut_prepare(rows, row_count, paths, options, &cut);
    if (r == 0)
        r = open ? node_append(tree, ID_NONE, ID_NONE, 0) : -ENOMEM;
    uint32_t last_depth = 0; /* of the predecessor, as cut */
    for (size_t i = 0; r == 0 && i < row_count; i++) {
        uint32_t shared = i ? shared_depth(&paths[i - 1], &paths[i]) : 0;
        paths[i].depth = cut_depth(&cut, paths, i);
        shared = smaller(smaller(shared, last_depth), paths[i].depth);
        last_depth = paths[i].depth;
        r = path_insert(tree, &paths[i], shared, open);
        TreeNode *own = &tree->nodes[open[paths[i].depth]];
        for (size_t set = 0; r == 0 && set < TREE_SETS; set++)
            values_add(&own->values[set], rows[paths[i].row].values[set]);
    }
    free(open);
    free(cut.shared);
    free(cut.before);
    return r;
}

/* A subtree ends where the next node of the same or a lower level begins. */
static void ends_fill(Tree *tree)
{
    for (size_t n = 0; n < tree->count; n++)
        tree->nodes[n].end = (uint32_t)n + 1;
    for (size_t n = tree->count - 1; n > 0; n--) {
        TreeNode *parent = &tree->nodes[tree->nodes[n].parent];
        parent->end = tree->nodes[n].end > parent->end ? tree->nodes[n].end : parent->end;
    }
    tree->nodes[0].repeat_min = tree->nodes[0].repeat_max = 1;
}

int tree_build(const TreeRow *rows, size_t row_count, const TreeOptions *options, Tree *ret_tree)
{
    Paths paths = {0};
    Tree tree = {0};
    int r = row_count >= ID_NONE ? -EOVERFLOW : paths_make(rows, row_count, options, &paths);
    if (r == 0) {
        qsort(paths.paths, row_count, sizeof(*paths.paths), path_compare);
        r = nodes_make(rows, row_count, paths.paths, options, &tree);
    }
    paths_done(&paths);
    if (r < 0) {
        tree_done(&tree);
        return r;
    }
    ends_fill(&tree);
    *ret_tree = tree;
    return 0;
}

void tree_done(Tree *tree)
{
    free(tree->nodes);
    *tree = (Tree){0};
}

void tree_accumulate(Tree *tree)
{
    for (size_t n = tree->count - 1; n > 0; n--)
        for (size_t set = 0; set < TREE_SETS; set++)
            values_add(&tree->nodes[tree->nodes[n].parent].values[set],
                       &tree->nodes[n].values[set]);
}

size_t tree_child_count(const Tree *tree, uint32_t node)
{
    size_t count = 0;
    for (uint32_t c = node + 1; c < tree->nodes[node].end; c = tree->nodes[c].end)
        count++;
    return count;
}

typedef struct Order {
    const Tree *tree;
    Metric metric;
} Order;

static int child_compare(const void *a, const void *b, void *context)
{
    const Order *order = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    const Values *u = order->tree->nodes[x].values, *w = order->tree->nodes[y].values;
    int64_t p = u[0].v[order->metric] + u[1].v[order->metric];
    int64_t q = w[0].v[order->metric] + w[1].v[order->metric];
    return p != q ? (p > q ? -1 : 1) : x < y ? -1 : x > y;
}

void tree_children(const Tree *tree, uint32_t node, Metric metric, uint32_t *ret_children)
{
    size_t count = 0;
    for (uint32_t c = node + 1; c < tree->nodes[node].end; c = tree->nodes[c].end)
        ret_children[count++] = c;
    qsort_r(ret_children, count, sizeof(*ret_children), child_compare, &(Order){tree, metric});
}

/* Labels that stand at the root end of stacks that do not reach it, numbered down from ID_NONE. */
enum { MARK_CUT, MARK_ENDED, MARK_LOST, MARK_EMPTY, MARK_MAX };
#define MARK_LABEL(mark) (ID_NONE - 1 - (uint32_t)(mark))

static const Label marks[MARK_MAX] = {
    [MARK_CUT] = {.function = "[cut at the depth limit]", .module = ""},
    [MARK_ENDED] = {.function = "[stack ends early]", .module = ""},
    [MARK_LOST] = {.function = "[stack not recorded]", .module = ""},
    [MARK_EMPTY] = {.function = "[no frames]", .module = ""},
};

const Label *tree_label(const View *view, uint32_t label)
{
    return label >= MARK_LABEL(MARK_MAX - 1) && label < ID_NONE ? &marks[MARK_LABEL(label)]
                                                                : labels_get(view->labels, label);
}

uint32_t tree_label_index(const View *view, uint32_t label)
{
    return label >= MARK_LABEL(MARK_MAX - 1) && label < ID_NONE
               ? (uint32_t)labels_count(view->labels) + MARK_LABEL(label)
               : label;
}

uint32_t tree_label_count(const View *view)
{
    return (uint32_t)labels_count(view->labels) + MARK_MAX;
}

static int mark_of(uint32_t flags, size_t depth)
{
    return flags & STACK_LOST          ? MARK_LOST
           : flags & STACK_DEPTH_CUT   ? MARK_CUT
           : flags & STACK_ENDED_EARLY ? MARK_ENDED
           : depth == 0                ? MARK_EMPTY
                                       : MARK_MAX;
}

const char *tree_mark(const ProfileStack *stack)
{
    int mark = mark_of(stack->flags, stack->depth);
    return mark == MARK_MAX ? NULL : marks[mark].function;
}

static size_t marked_frames(const View *view)
{
    size_t frames = 0;
    const uint32_t *path;
    for (size_t i = 0; i < view->stack_count; i++) {
        size_t depth = labels_path(view->labels, view->stacks[i].stack, &path);
        uint32_t flags = profile_stack(view->profile, view->stacks[i].stack)->flags;
        if (mark_of(flags, depth) != MARK_MAX)
            frames += depth + 1;
    }
    return frames;
}

int tree_rows_of_view(const View *view, bool sites, TreeRows *ret_rows)
{
    TreeRows made = {.rows = malloc((view->stack_count + 1) * sizeof(*made.rows)),
                     .storage = malloc((marked_frames(view) + 1) * sizeof(*made.storage))};
    if (!made.rows || !made.storage) {
        tree_rows_done(&made);
        return -ENOMEM;
    }
    uint32_t *next = made.storage;
    for (size_t i = 0; i < view->stack_count; i++) {
        const ViewStack *s = &view->stacks[i];
        TreeRow *row = &made.rows[i];
        *row = (TreeRow){.values = {&s->values, view->interval ? &s->removed : NULL}};
        row->depth = labels_path(view->labels, s->stack, &row->path);
        size_t skip = sites ? alloc_site_skip(view->labels, row->path, row->depth) : 0;
        row->path += skip;
        row->depth -= skip;
        int mark = mark_of(profile_stack(view->profile, s->stack)->flags, row->depth);
        if (mark == MARK_MAX)
            continue;
        if (row->depth)
            memcpy(next, row->path, row->depth * sizeof(*next));
        next[row->depth] = MARK_LABEL(mark);
        row->path = next;
        next += ++row->depth;
    }
    *ret_rows = made;
    return 0;
}

void tree_rows_done(TreeRows *rows)
{
    free(rows->rows);
    free(rows->storage);
    *rows = (TreeRows){0};
}
