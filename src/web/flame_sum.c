// SPDX-License-Identifier: Apache-2.0
/*
 * From an index and figures to the tree that is sent.
 *
 *   present   nodes that a stack with a value passes through, renumbered, still in preorder
 *   weights   each stack's at its node, then from the back into the parents
 *   keep      as many of the heaviest nodes as fit with the `other` nodes that they make necessary
 *   sums      each stack's figures at what is shown of its node, then into the parents
 *   emit      preorder again, children by size
 *
 * The weight of a node is the sum of the absolute figures of its stacks, so a node never weighs
 * less than its children, whatever a file says, and the heaviest nodes are a tree. Taking the k
 * heaviest costs k nodes and one `other` for each of them that lacks a child; with each further
 * node that cost does not fall, so the largest k that fits is found by counting up.
 */
#include "web/flame_sum.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/series.h"

#define NONE UINT32_MAX

typedef struct Work {
    const FlameIndex *index;
    const FlameValues *values;
    Metric metric;
    uint32_t *number;  /* per index node: its number here, NONE: no stack passes */
    uint32_t *present; /* paths of the index whose stacks have a value */
    size_t stack_count;
    size_t count;
    FlameNode *nodes;  /* parents are numbers here */
    uint64_t *weight;  /* per node, like all that follows */
    uint32_t *missing; /* children that are not kept */
    bool *kept;
} Work;

static void work_done(Work *work)
{
    free(work->number);
    free(work->present);
    free(work->nodes);
    free(work->weight);
    free(work->missing);
    free(work->kept);
}

/* ---- present and weights -------------------------------------------------------------------- */

static bool has_value(const FlameValues *values, uint32_t stack)
{
    int64_t any = 0;
    if (values->chosen && !values->chosen[stack])
        return false;
    for (unsigned s = 0; s < values->sides; s++)
        for (int m = 0; m < METRIC_MAX; m++)
            any |= values->stacks[s][stack].v[m];
    return any != 0;
}

static int find_present(Work *work)
{
    const FlameIndex *index = work->index;
    work->number = malloc((index->node_count + 1) * sizeof(*work->number));
    work->present = malloc((index->path_count + 1) * sizeof(*work->present));
    if (!work->number || !work->present)
        return -ENOMEM;
    memset(work->number, 0xff, index->node_count * sizeof(*work->number));
    work->number[0] = 0;
    for (size_t i = 0; i < index->path_count; i++) {
        if (!has_value(work->values, index->paths[i].stack))
            continue;
        work->present[work->stack_count++] = (uint32_t)i;
        work->number[index->ends[i]] = 0;
    }
    /* not from each end up its parents: in one pass the processor fetches ahead */
    for (size_t n = index->node_count; n-- > 1;)
        if (work->number[n] != NONE)
            work->number[index->nodes[n].parent] = 0;
    for (size_t n = 0; n < index->node_count; n++)
        if (work->number[n] != NONE)
            work->number[n] = (uint32_t)work->count++;
    return 0;
}

static int take_room(Work *work)
{
    size_t count = work->count;
    bool ok = (work->nodes = malloc(count * sizeof(*work->nodes))) &&
              (work->weight = calloc(count, sizeof(*work->weight))) &&
              (work->missing = calloc(count, sizeof(*work->missing))) &&
              (work->kept = calloc(count, sizeof(*work->kept)));
    return ok ? 0 : -ENOMEM;
}

static uint64_t magnitude(int64_t value)
{
    return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

static uint64_t add_capped(uint64_t a, uint64_t b)
{
    return a + b < a ? UINT64_MAX : a + b;
}

static void weigh_stack(Work *work, uint32_t node, uint32_t stack)
{
    for (unsigned s = 0; s < work->values->sides; s++) {
        int64_t value = work->values->stacks[s][stack].v[work->metric];
        work->weight[node] = add_capped(work->weight[node], magnitude(value));
    }
}

/* Node and stack of the present path I. */
static uint32_t present_at(const Work *work, size_t i, uint32_t *ret_stack)
{
    uint32_t path = work->present[i];
    *ret_stack = work->index->paths[path].stack;
    return work->number[work->index->ends[path]];
}

static int weigh(Work *work)
{
    const FlameIndex *index = work->index;
    int r = take_room(work);
    if (r < 0)
        return r;
    for (size_t n = 0; n < index->node_count; n++) {
        uint32_t number = work->number[n];
        if (number == NONE)
            continue;
        work->nodes[number] = index->nodes[n];
        work->nodes[number].parent = n ? work->number[index->nodes[n].parent] : NONE;
    }
    for (size_t i = 0; i < work->stack_count; i++) {
        uint32_t stack, node = present_at(work, i, &stack);
        weigh_stack(work, node, stack);
    }
    for (size_t n = work->count - 1; n > 0; n--) {
        uint32_t parent = work->nodes[n].parent;
        work->weight[parent] = add_capped(work->weight[parent], work->weight[n]);
        work->missing[parent]++;
    }
    return 0;
}

/* ---- keep ----------------------------------------------------------------------------------- */

static int compare_weight(const void *a, const void *b, void *context)
{
    const Work *work = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    if (work->weight[x] != work->weight[y])
        return work->weight[x] > work->weight[y] ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* Weights by order of magnitude: four classes for each power of two. */
enum { CLASSES = 65 * 4 };

static unsigned class_of(uint64_t weight)
{
    if (weight < 4)
        return (unsigned)weight;
    unsigned bits = 63 - (unsigned)__builtin_clzll(weight);
    return bits * 4 + (unsigned)(weight >> (bits - 2) & 3);
}

/* The heaviest nodes, at least LIMIT of them, in no order; returns how many. */
static size_t choose_heavy(const Work *work, size_t limit, uint32_t *heavy)
{
    size_t sizes[CLASSES] = {0}, count = 0;
    unsigned least = CLASSES;
    for (size_t n = 0; n < work->count; n++)
        sizes[class_of(work->weight[n])]++;
    while (count < limit && least > 0)
        count += sizes[--least];
    count = 0;
    for (size_t n = 0; n < work->count; n++)
        if (class_of(work->weight[n]) >= least)
            heavy[count++] = (uint32_t)n;
    return count;
}

/* An `other` that would stand for a single node costs as much as the node. */
static void keep_singles(Work *work)
{
    for (uint32_t n = 1; n < work->count; n++) {
        uint32_t parent = work->nodes[n].parent;
        bool leaf = n + 1 == work->count || work->nodes[n + 1].parent != n;
        if (work->kept[n] || !leaf || !work->kept[parent] || work->missing[parent] != 1)
            continue;
        work->kept[n] = true;
        work->missing[parent] = 0;
    }
}

static int keep_heaviest(Work *work, size_t limit)
{
    uint32_t *heavy = malloc((work->count + 1) * sizeof(*heavy));
    if (!heavy)
        return -ENOMEM;
    size_t count = choose_heavy(work, limit, heavy), used = 0;
    qsort_r(heavy, count, sizeof(*heavy), compare_weight, work);
    for (size_t i = 0; i < count; i++) {
        uint32_t n = heavy[i], parent = work->nodes[n].parent;
        bool completes = parent != NONE && work->missing[parent] == 1;
        size_t more = 1 + (work->missing[n] > 0) - completes;
        if (used + more > limit)
            break;
        used += more;
        work->kept[n] = true;
        if (parent != NONE)
            work->missing[parent]--;
    }
    free(heavy);
    keep_singles(work);
    return 0;
}

static int keep(Work *work, size_t limit)
{
    if (work->count > limit)
        return keep_heaviest(work, limit);
    memset(work->kept, true, work->count);
    memset(work->missing, 0, work->count * sizeof(*work->missing));
    return 0;
}

/* ---- sums and emit -------------------------------------------------------------------------- */

/* What is shown: kept nodes, then one `other` for each that lacks children. */
typedef struct Shown {
    const Work *work;
    size_t count, kept;
    uint32_t *node;  /* of Work; of an `other`: its parent */
    uint32_t *first; /* per shown: its first child in `children`; one more at the end */
    uint32_t *children;
    Values *total[FLAME_SIDES]; /* per shown */
    int64_t *self[FLAME_SIDES]; /* of an `other`: what its stacks have, its total */
    uint32_t *hidden;           /* per `other` */
    uint32_t *place; /* per node of Work: its number here, or that of the `other` it is in */
} Shown;

static void shown_done(Shown *shown)
{
    free(shown->node);
    free(shown->first);
    free(shown->children);
    free(shown->hidden);
    free(shown->place);
    for (int s = 0; s < FLAME_SIDES; s++) {
        free(shown->total[s]);
        free(shown->self[s]);
    }
}

static int shown_room(Shown *shown)
{
    const Work *work = shown->work;
    size_t others = 0;
    for (size_t n = 0; n < work->count; n++) {
        shown->kept += work->kept[n];
        others += work->kept[n] && work->missing[n];
    }
    shown->count = shown->kept + others;
    bool ok = (shown->node = calloc(shown->count + 1, sizeof(*shown->node))) &&
              (shown->first = calloc(shown->count + 3, sizeof(*shown->first))) &&
              (shown->children = calloc(shown->count + 1, sizeof(*shown->children))) &&
              (shown->hidden = calloc(others + 1, sizeof(*shown->hidden))) &&
              (shown->place = calloc(work->count, sizeof(*shown->place)));
    for (unsigned s = 0; ok && s < work->values->sides; s++)
        ok = (shown->total[s] = calloc(shown->count + 1, sizeof(*shown->total[s]))) &&
             (shown->self[s] = calloc(shown->count + 1, sizeof(*shown->self[s])));
    return ok ? 0 : -ENOMEM;
}

/* Numbers what is shown, and finds the `other` of each node that is not. */
static void shown_fill(Shown *shown, uint32_t *other_of)
{
    const Work *work = shown->work;
    uint32_t next = 0, other = (uint32_t)shown->kept;
    for (uint32_t n = 0; n < work->count; n++) {
        if (!work->kept[n])
            continue;
        shown->place[n] = next;
        shown->node[next++] = n;
        if (work->missing[n]) {
            other_of[n] = other;
            shown->node[other++] = n;
        }
    }
    for (uint32_t n = 1; n < work->count; n++) {
        uint32_t parent = work->nodes[n].parent;
        if (work->kept[n])
            continue;
        uint32_t at = work->kept[parent] ? other_of[parent] : shown->place[parent];
        shown->place[n] = at;
        shown->hidden[at - shown->kept]++;
    }
}

static uint32_t shown_parent(const Shown *shown, uint32_t at)
{
    uint32_t node = shown->node[at];
    return at < shown->kept ? shown->place[shown->work->nodes[node].parent] : shown->place[node];
}

/* All figures, of what is shown only. A parent has a smaller number than its children. */
static void shown_sum(Shown *shown)
{
    const Work *work = shown->work;
    for (size_t i = 0; i < work->stack_count; i++) {
        uint32_t stack, at = shown->place[present_at(work, i, &stack)];
        for (unsigned s = 0; s < work->values->sides; s++) {
            const Values *values = &work->values->stacks[s][stack];
            values_add(&shown->total[s][at], values);
            shown->self[s][at] = wrap_add(shown->self[s][at], values->v[work->metric]);
        }
    }
    for (uint32_t at = (uint32_t)shown->count - 1; at > 0; at--)
        for (unsigned s = 0; s < work->values->sides; s++)
            values_add(&shown->total[s][shown_parent(shown, at)], &shown->total[s][at]);
}

static int64_t shown_size(const Shown *shown, uint32_t at)
{
    int64_t sum = 0;
    for (unsigned s = 0; s < shown->work->values->sides; s++)
        sum = wrap_add(sum, shown->total[s][at].v[shown->work->metric]);
    return sum;
}

static int compare_size(const void *a, const void *b, void *context)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    int64_t p = shown_size(context, x), q = shown_size(context, y);
    return p != q ? (p > q ? -1 : 1) : x < y ? -1 : x > y;
}

/* Children of each, by counting, then by size. */
static void shown_sort(Shown *shown)
{
    /* first[p + 2] counts those of p; when all are placed first[p + 1] is the end of p */
    for (uint32_t i = 1; i < shown->count; i++)
        shown->first[shown_parent(shown, i) + 2]++;
    for (size_t i = 2; i <= shown->count + 1; i++)
        shown->first[i] += shown->first[i - 1];
    for (uint32_t i = 1; i < shown->count; i++)
        shown->children[shown->first[shown_parent(shown, i) + 1]++] = i;
    for (size_t i = 0; i < shown->kept; i++) {
        size_t count = shown->first[i + 1] - shown->first[i];
        if (count > 1)
            qsort_r(shown->children + shown->first[i], count, sizeof(*shown->children),
                    compare_size, shown);
    }
}

static void emit(const Shown *shown, uint32_t at, uint32_t level, FlameTree *tree)
{
    const Work *work = shown->work;
    bool other = at >= shown->kept;
    size_t to = tree->count++;
    tree->label[to] = other ? FLAME_OTHER : work->nodes[shown->node[at]].label;
    tree->level[to] = level;
    tree->hidden[to] = other ? shown->hidden[at - shown->kept] : 0;
    for (unsigned s = 0; s < work->values->sides; s++) {
        tree->total[s][to] = shown->total[s][at];
        tree->self[s][to] = shown->self[s][at];
    }
}

/* Preorder without recursion: a stack deep as the program's would be a danger. */
static int emit_all(const Shown *shown, FlameTree *tree)
{
    uint32_t *stack = malloc((shown->count + 1) * sizeof(*stack));
    uint32_t *levels = malloc((shown->count + 1) * sizeof(*levels));
    size_t depth = 0;
    if (stack && levels) {
        stack[depth] = 0;
        levels[depth++] = 0;
    }
    while (depth > 0) {
        uint32_t at = stack[--depth], level = levels[depth];
        emit(shown, at, level, tree);
        for (uint32_t c = shown->first[at + 1]; c > shown->first[at]; c--) {
            stack[depth] = shown->children[c - 1];
            levels[depth++] = level + 1;
        }
    }
    int r = stack && levels ? 0 : -ENOMEM;
    free(stack);
    free(levels);
    return r;
}

static int tree_room(FlameTree *tree, size_t count, unsigned sides)
{
    bool ok = (tree->label = calloc(count, sizeof(*tree->label))) &&
              (tree->level = calloc(count, sizeof(*tree->level))) &&
              (tree->hidden = calloc(count, sizeof(*tree->hidden)));
    for (unsigned s = 0; ok && s < sides; s++)
        ok = (tree->total[s] = calloc(count, sizeof(*tree->total[s]))) &&
             (tree->self[s] = calloc(count, sizeof(*tree->self[s])));
    return ok ? 0 : -ENOMEM;
}

static int show(const Work *work, FlameTree *tree)
{
    Shown shown = {.work = work};
    uint32_t *other_of = calloc(work->count, sizeof(*other_of));
    int r = other_of ? shown_room(&shown) : -ENOMEM;
    if (r == 0)
        r = tree_room(tree, shown.count, work->values->sides);
    if (r == 0) {
        shown_fill(&shown, other_of);
        shown_sum(&shown);
        shown_sort(&shown);
        r = emit_all(&shown, tree);
    }
    free(other_of);
    shown_done(&shown);
    return r;
}

int flame_sum(const FlameIndex *index, const FlameValues *values, Metric metric, size_t limit,
              FlameTree *ret_tree)
{
    Work work = {.index = index, .values = values, .metric = metric};
    FlameTree tree = {0};
    int r = find_present(&work);
    if (r == 0)
        r = weigh(&work);
    if (r == 0)
        r = keep(&work, limit < 2 ? 2 : limit);
    if (r == 0)
        r = show(&work, &tree);
    tree.all_count = work.count;
    tree.stack_count = work.stack_count;
    work_done(&work);
    if (r < 0)
        flame_tree_done(&tree);
    else
        *ret_tree = tree;
    return r;
}

void flame_tree_done(FlameTree *tree)
{
    free(tree->label);
    free(tree->level);
    free(tree->hidden);
    for (int s = 0; s < FLAME_SIDES; s++) {
        free(tree->total[s]);
        free(tree->self[s]);
    }
    *tree = (FlameTree){0};
}
