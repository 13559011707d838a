// SPDX-License-Identifier: Apache-2.0
/*
 * Sorts paths, so that each differs from its predecessor by a suffix; suffixes become nodes, in
 * preorder. Any order of labels will do as long as equal beginnings lie together, so paths are
 * compared with memcmp(). Sorting n paths costs n log n comparisons once; k new ones cost
 * k log k, a merge, and one pass over all steps.
 */
#include "web/flame_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/alloc_site.h"

static int grow(void *array, size_t *capacity, size_t want, size_t item_bytes)
{
    void **memory = array;
    if (want <= *capacity)
        return 0;
    size_t bigger = *capacity * 2 > want ? *capacity * 2 : want + 1024;
    void *grown = realloc(*memory, bigger * item_bytes);
    if (!grown)
        return -ENOMEM;
    *memory = grown;
    *capacity = bigger;
    return 0;
}

/* ---- paths ---------------------------------------------------------------------------------- */

int flame_index_step(FlameIndex *index, uint32_t label)
{
    if (index->step_count >= UINT32_MAX)
        return -EOVERFLOW;
    int r =
        grow(&index->steps, &index->step_capacity, index->step_count + 1, sizeof(*index->steps));
    if (r == 0)
        index->steps[index->step_count++] = label;
    return r;
}

int flame_index_path(FlameIndex *index, uint32_t stack)
{
    int r =
        grow(&index->paths, &index->path_capacity, index->path_count + 1, sizeof(*index->paths));
    if (r < 0)
        return r;
    size_t first = 0;
    if (index->path_count) {
        const FlamePath *last = &index->paths[index->path_count - 1];
        first = (size_t)last->first + last->depth;
    }
    index->paths[index->path_count++] =
        (FlamePath){(uint32_t)first, (uint32_t)(index->step_count - first), stack};
    return 0;
}

static uint32_t mark_of(uint32_t flags, size_t depth)
{
    return flags & STACK_LOST          ? FLAME_LOST
           : flags & STACK_DEPTH_CUT   ? FLAME_CUT
           : flags & STACK_ENDED_EARLY ? FLAME_EARLY
           : depth == 0                ? FLAME_LOST
                                       : FLAME_ROOT;
}

/* The part of a path (leaf first) that is shown: [*first, *end). False: none. */
static bool cut_to_focus(const uint32_t *path, bool inverted, uint32_t focus, size_t *first,
                         size_t *end)
{
    if (focus == FLAME_ROOT)
        return true;
    if (inverted) {
        while (*first < *end && path[*first] != focus)
            ++*first;
    } else {
        while (*end > *first && path[*end - 1] != focus)
            --*end;
    }
    return *first < *end;
}

static int put_steps(FlameIndex *index, const uint32_t *path, size_t first, size_t end,
                     bool inverted, uint32_t mark)
{
    int r = 0;
    if (mark != FLAME_ROOT && !inverted)
        r = flame_index_step(index, mark);
    for (size_t i = first; r == 0 && i < end; i++)
        r = flame_index_step(index, path[inverted ? i : end - 1 - (i - first)]);
    if (r == 0 && mark != FLAME_ROOT && inverted)
        r = flame_index_step(index, mark);
    return r;
}

int flame_index_stacks(FlameIndex *index, const Profile *profile, const Labels *labels,
                       bool inverted, uint32_t focus, uint32_t first_stack)
{
    int r = 0;
    for (uint32_t i = first_stack; r == 0 && i < profile_stack_count(profile); i++) {
        const uint32_t *path;
        size_t end = labels_path(labels, i, &path);
        size_t first = alloc_site_skip(labels, path, end);
        uint32_t mark = mark_of(profile_stack(profile, i)->flags, end);
        if (!cut_to_focus(path, inverted, focus, &first, &end))
            continue;
        if (focus != FLAME_ROOT && !inverted)
            mark = FLAME_ROOT; /* the mark is outside of what is shown */
        r = put_steps(index, path, first, end, inverted, mark);
        if (r == 0)
            r = flame_index_path(index, i);
    }
    return r;
}

/* ---- order ---------------------------------------------------------------------------------- */

static int compare_paths(const FlameIndex *index, uint32_t left, uint32_t right)
{
    const FlamePath *a = &index->paths[left], *b = &index->paths[right];
    uint32_t depth = a->depth < b->depth ? a->depth : b->depth;
    int r = depth ? memcmp(index->steps + a->first, index->steps + b->first,
                           depth * sizeof(*index->steps))
                  : 0;
    if (r)
        return r;
    if (a->depth != b->depth)
        return a->depth < b->depth ? -1 : 1;
    return left < right ? -1 : left > right;
}

static int compare_order(const void *a, const void *b, void *index)
{
    return compare_paths(index, *(const uint32_t *)a, *(const uint32_t *)b);
}

static int update_order(FlameIndex *index)
{
    size_t old = index->ordered, count = index->path_count;
    uint32_t *merged = malloc((count + 1) * sizeof(*merged));
    uint32_t *fresh = malloc((count - old + 1) * sizeof(*fresh));
    if (!merged || !fresh) {
        free(merged);
        free(fresh);
        return -ENOMEM;
    }
    for (size_t i = old; i < count; i++)
        fresh[i - old] = (uint32_t)i;
    qsort_r(fresh, count - old, sizeof(*fresh), compare_order, index);
    for (size_t i = 0, a = 0, b = 0; i < count; i++) {
        bool take_old =
            b == count - old || (a < old && compare_paths(index, index->order[a], fresh[b]) < 0);
        merged[i] = take_old ? index->order[a++] : fresh[b++];
    }
    free(fresh);
    free(index->order);
    index->order = merged;
    index->ordered = count;
    return 0;
}

/* ---- nodes ---------------------------------------------------------------------------------- */

static uint32_t shared_depth(const FlameIndex *index, const FlamePath *a, const FlamePath *b)
{
    uint32_t i = 0, depth = a->depth < b->depth ? a->depth : b->depth;
    while (i < depth && index->steps[a->first + i] == index->steps[b->first + i])
        i++;
    return i;
}

static int put_node(FlameIndex *index, uint32_t label, uint32_t parent, uint32_t level)
{
    int r =
        grow(&index->nodes, &index->node_capacity, index->node_count + 1, sizeof(*index->nodes));
    if (r == 0 && index->node_count >= UINT32_MAX)
        r = -EOVERFLOW;
    if (r == 0)
        index->nodes[index->node_count++] = (FlameNode){label, parent, level};
    return r;
}

static uint32_t deepest(const FlameIndex *index)
{
    uint32_t depth = 0;
    for (size_t i = 0; i < index->path_count; i++)
        depth = index->paths[i].depth > depth ? index->paths[i].depth : depth;
    return depth;
}

static int make_nodes(FlameIndex *index, uint32_t *open)
{
    const FlamePath *previous = NULL;
    index->node_count = 0;
    int r = put_node(index, FLAME_ROOT, FLAME_ROOT, 0);
    open[0] = 0;
    for (size_t i = 0; r == 0 && i < index->path_count; i++) {
        const FlamePath *path = &index->paths[index->order[i]];
        uint32_t level = previous ? shared_depth(index, previous, path) : 0;
        for (; r == 0 && level < path->depth; level++) {
            r = put_node(index, index->steps[path->first + level], open[level], level + 1);
            open[level + 1] = (uint32_t)index->node_count - 1;
        }
        index->ends[index->order[i]] = open[path->depth];
        previous = path;
    }
    return r;
}

int flame_index_build(FlameIndex *index)
{
    int r = index->ordered < index->path_count ? update_order(index) : 0;
    uint32_t *ends = r == 0 ? realloc(index->ends, (index->path_count + 1) * sizeof(*ends)) : NULL;
    uint32_t *open = calloc((size_t)deepest(index) + 1, sizeof(*open));
    if (ends)
        index->ends = ends;
    if (r == 0)
        r = ends && open ? make_nodes(index, open) : -ENOMEM;
    free(open);
    return r;
}

void flame_index_clear(FlameIndex *index)
{
    index->step_count = index->path_count = index->ordered = index->node_count = 0;
}

void flame_index_done(FlameIndex *index)
{
    free(index->steps);
    free(index->paths);
    free(index->order);
    free(index->nodes);
    free(index->ends);
    *index = (FlameIndex){0};
}
