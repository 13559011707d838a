// SPDX-License-Identifier: Apache-2.0
/*
 * Pairs the call stacks of two sides by names.
 *
 * stack_groups.c has made integers of names and groups of equal stacks; here groups are paired:
 *
 *   1. exact    groups with the same frames                          hash look-up
 *   2. renamed  the same normal frames; several: nearest value       stack_match.c
 *   3. similar  longest common subsequence of normal frames          stack_match.c
 *
 * What stays alone is new or gone. The first frame that differs is found against the partner, or
 * for lonely stacks against the neighbours in the other side's order from the root, where the
 * longest common outer part must be next to it.
 *
 * Cost: steps 1 and 2 linear, step 3 bounded by stack_match.c. No globals, one thread.
 */
#include "profile/stack_diff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/stack_groups.h"
#include "profile/stack_match.h"

const char *diff_kind_name(DiffKind kind)
{
    static const char *const names[] = {"same", "more", "fewer", "new", "gone"};
    return names[kind];
}

const char *diff_match_name(DiffMatch match)
{
    static const char *const names[] = {"none", "exact", "renamed", "similar"};
    return names[match];
}

/* ---- the first frame that differs --------------------------------------------------------- */

/* How many normal frames agree, counted from the root. */
static size_t common_outer(const Group *a, const Group *b)
{
    size_t n = 0;
    while (n < a->public.depth && n < b->public.depth &&
           a->normals[a->public.depth - 1 - n] == b->normals[b->public.depth - 1 - n])
        n++;
    return n;
}

static int compare_from_root(const void *a, const void *b, void *data)
{
    Group *const *groups = data;
    const Group *x = groups[*(const uint32_t *)a], *y = groups[*(const uint32_t *)b];
    size_t n = common_outer(x, y);
    if (n == x->public.depth || n == y->public.depth)
        return x->public.depth < y->public.depth ? -1 : x->public.depth > y->public.depth;
    uint32_t p = x->normals[x->public.depth - 1 - n], q = y->normals[y->public.depth - 1 - n];
    return p < q ? -1 : p > q;
}

static int sort_from_root(Side *side)
{
    uint32_t *order = realloc(side->by_root, (side->count + 1) * sizeof *order);
    if (!order)
        return -ENOMEM;
    for (size_t i = 0; i < side->count; i++)
        order[i] = (uint32_t)i;
    qsort_r(order, side->count, sizeof *order, compare_from_root, side->groups);
    side->by_root = order;
    return 0;
}

/* True when `a` sorts before `b`; they may be of different sides. */
static bool is_before(const Group *a, const Group *b)
{
    Group *pair[2] = {(Group *)a, (Group *)b};
    uint32_t x = 0, y = 1;
    return compare_from_root(&x, &y, pair) < 0;
}

static uint32_t frame_at(const Group *group, size_t from_root)
{
    return from_root < group->public.depth ? (uint32_t)(group->public.depth - 1 - from_root)
                                           : ID_NONE;
}

static uint32_t differs_alone(const Side *other, const Group *group)
{
    size_t low = 0, high = other->count, best = 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (is_before(other->groups[other->by_root[middle]], group))
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = low > 0 ? low - 1 : 0; i <= low && i < other->count; i++) {
        size_t n = common_outer(other->groups[other->by_root[i]], group);
        best = n > best ? n : best;
    }
    /* the same path but for numbers in names: the leaf stands for it */
    return frame_at(group, best < group->public.depth || best == 0 ? best : best - 1);
}

static void find_differing(const StackDiff *diff, DiffRow *row)
{
    const Group *group[DIFF_SIDES] = {NULL, NULL};
    for (int s = 0; s < DIFF_SIDES; s++) {
        row->differs[s] = ID_NONE;
        if (row->group[s] != ID_NONE)
            group[s] = diff->sides[s].groups[row->group[s]];
    }
    if (group[DIFF_BEFORE] && group[DIFF_AFTER]) {
        if (row->match != DIFF_MATCH_SIMILAR)
            return;
        size_t n = common_outer(group[DIFF_BEFORE], group[DIFF_AFTER]);
        for (int s = 0; s < DIFF_SIDES; s++)
            row->differs[s] = frame_at(group[s], n);
        return;
    }
    for (int s = 0; s < DIFF_SIDES; s++)
        if (group[s])
            row->differs[s] = differs_alone(&diff->sides[1 - s], group[s]);
}

/* ---- rows --------------------------------------------------------------------------------- */

static int64_t value_of(const StackDiff *diff, int side, uint32_t group, Metric metric, bool worst)
{
    if (group == ID_NONE)
        return 0;
    const DiffGroup *public = &diff->sides[side].groups[group]->public;
    return worst ? public->worst.v[metric] : public->values.v[metric];
}

static void compare_row(const StackDiff *diff, Metric metric, DiffRow *row)
{
    int64_t change[2];
    for (int worst = 0; worst < 2; worst++)
        change[worst] = value_of(diff, DIFF_AFTER, row->group[DIFF_AFTER], metric, worst) -
                        value_of(diff, DIFF_BEFORE, row->group[DIFF_BEFORE], metric, worst);
    row->worst_only = change[0] == 0 && change[1] != 0;
    row->change = row->worst_only ? change[1] : change[0];
    if (row->change == 0)
        row->kind = DIFF_SAME;
    else if (row->group[DIFF_BEFORE] == ID_NONE)
        row->kind = DIFF_NEW;
    else if (row->group[DIFF_AFTER] == ID_NONE)
        row->kind = DIFF_GONE;
    else
        row->kind = row->change > 0 ? DIFF_MORE : DIFF_FEWER;
}

static int compare_rows(const void *a, const void *b)
{
    const DiffRow *x = a, *y = b;
    if ((x->kind == DIFF_SAME) != (y->kind == DIFF_SAME))
        return x->kind == DIFF_SAME ? 1 : -1;
    if (x->worst_only != y->worst_only)
        return x->worst_only ? 1 : -1;
    uint64_t p = (uint64_t)llabs(x->change), q = (uint64_t)llabs(y->change);
    if (p != q)
        return p > q ? -1 : 1;
    if (x->change != y->change)
        return x->change > y->change ? -1 : 1;
    if (x->group[DIFF_AFTER] != y->group[DIFF_AFTER])
        return x->group[DIFF_AFTER] < y->group[DIFF_AFTER] ? -1 : 1;
    return x->group[DIFF_BEFORE] < y->group[DIFF_BEFORE] ? -1 : 1;
}

/* Pairs of equal frames; fills partner[side][group]. */
static void pair_exact(StackDiff *diff, StackMatch *match)
{
    const Side *before = &diff->sides[DIFF_BEFORE], *after = &diff->sides[DIFF_AFTER];
    for (size_t i = 0; i < before->count; i++) {
        const Group *group = before->groups[i];
        Group *other;
        HASH_FIND(hh, after->by_frames, group->frames, group->public.depth * sizeof *group->frames,
                  other);
        if (other)
            stack_match_pair(match, (uint32_t)i, other->index);
    }
}

static int pair_all(StackDiff *diff, Metric metric, StackMatch **ret_match)
{
    StackMatch *match = NULL;
    const Side *sides = diff->sides;
    int r = stack_match_new(sides[0].count, sides[1].count, &match);
    for (int s = 0; r == 0 && s < DIFF_SIDES; s++)
        for (size_t i = 0; i < sides[s].count; i++) {
            const Group *group = sides[s].groups[i];
            stack_match_put(match, s, (uint32_t)i, group->normals, group->public.depth,
                            group->public.values.v[metric]);
        }
    if (r == 0) {
        pair_exact(diff, match);
        r = stack_match_run(match);
    }
    if (r < 0) {
        stack_match_free(match);
        return r;
    }
    *ret_match = match;
    return 0;
}

static DiffMatch match_of(const StackDiff *diff, const DiffRow *row)
{
    if (row->group[0] == ID_NONE || row->group[1] == ID_NONE)
        return DIFF_MATCH_NONE;
    const Group *a = diff->sides[0].groups[row->group[0]];
    const Group *b = diff->sides[1].groups[row->group[1]];
    size_t bytes = a->public.depth * sizeof *a->frames;
    if (a->public.depth != b->public.depth || memcmp(a->normals, b->normals, bytes) != 0)
        return DIFF_MATCH_SIMILAR;
    return memcmp(a->frames, b->frames, bytes) == 0 ? DIFF_MATCH_EXACT : DIFF_MATCH_RENAMED;
}

/* Siblings came or went, so that their numbers may have shifted: equal names prove little. */
static bool is_renumbered(const StackDiff *diff, const DiffRow *row)
{
    int side = row->group[DIFF_BEFORE] != ID_NONE ? DIFF_BEFORE : DIFF_AFTER;
    const Kin *kin = diff->sides[side].groups[row->group[side]]->kin;
    return kin->count[0] > 0 && kin->count[1] > 0 && kin->count[0] != kin->count[1];
}

/* ---- nothing in common -------------------------------------------------------------------- */

/* Frames that any two programs share. */
static bool is_everywhere(const Frame *frame)
{
    return strcmp(frame->module, "libc.so") == 0 || strncmp(frame->module, "ld-linux", 8) == 0 ||
           strcmp(frame->function, "_start") == 0;
}

/* A frame, other than main, that occurs on both sides. */
static int has_common_frame(const StackDiff *diff, bool *ret_has)
{
    unsigned char *seen = calloc(HASH_COUNT(diff->normals) + 1, 1);
    bool has = false;
    if (!seen)
        return -ENOMEM;
    for (int s = 0; s < DIFF_SIDES; s++)
        for (size_t g = 0; g < diff->sides[s].count; g++) {
            const Group *group = diff->sides[s].groups[g];
            for (size_t i = 0; i < group->public.depth; i++) {
                const Frame *frame = diff->frames[group->frames[i]];
                seen[frame->normal] |= (unsigned char)(1 << s);
                has = has || (seen[frame->normal] == 3 && !is_everywhere(frame) &&
                              strcmp(frame->function, "main") != 0);
            }
        }
    free(seen);
    *ret_has = has;
    return 0;
}

static bool is_telling(const StackDiff *diff, const DiffRow *row)
{
    if (row->match == DIFF_MATCH_NONE)
        return false;
    const Group *group = diff->sides[DIFF_BEFORE].groups[row->group[DIFF_BEFORE]];
    for (size_t i = 0; i < group->public.depth; i++)
        if (!is_everywhere(diff->frames[group->frames[i]]))
            return true;
    return false;
}

static void count_row(DiffSummary *summary, const DiffRow *row)
{
    summary->count[row->kind]++;
    summary->ambiguous += row->ambiguous && row->kind != DIFF_SAME;
    summary->similar += row->match == DIFF_MATCH_RENAMED || row->match == DIFF_MATCH_SIMILAR;
}

static void fill_row(StackDiff *diff, const StackMatch *match, Metric metric, uint32_t before,
                     uint32_t after, DiffRow *row, DiffSummary *summary)
{
    *row = (DiffRow){.group = {before, after}};
    row->match = match_of(diff, row);
    row->ambiguous = stack_match_is_ambiguous(match, before, after) || is_renumbered(diff, row);
    compare_row(diff, metric, row);
    count_row(summary, row);
    if (is_telling(diff, row))
        summary->nothing_in_common = false;
    find_differing(diff, row);
}

static void sum_side(const Side *side, Values *ret_sum)
{
    for (size_t i = 0; i < side->count; i++)
        stack_groups_add_values(ret_sum, &side->groups[i]->public.values);
}

int stack_diff_run(StackDiff *diff, Metric metric, const DiffRow **ret_rows,
                   DiffSummary *ret_summary)
{
    Side *before = &diff->sides[DIFF_BEFORE], *after = &diff->sides[DIFF_AFTER];
    DiffSummary summary = {0};
    bool common = false;
    StackMatch *match = NULL;
    size_t count = 0;
    DiffRow *rows = realloc(diff->rows, (before->count + after->count + 1) * sizeof *rows);
    if (!rows)
        return -ENOMEM;
    diff->rows = rows;
    int r = sort_from_root(before);
    r = r < 0 ? r : sort_from_root(after);
    r = r < 0 ? r : has_common_frame(diff, &common);
    r = r < 0 ? r : pair_all(diff, metric, &match);
    if (r < 0)
        return r;

    summary.nothing_in_common = before->count > 0 && after->count > 0 && !common;
    for (uint32_t i = 0; i < before->count; i++)
        fill_row(diff, match, metric, i, stack_match_partner(match, DIFF_BEFORE, i), &rows[count++],
                 &summary);
    for (uint32_t i = 0; i < after->count; i++)
        if (stack_match_partner(match, DIFF_AFTER, i) == ID_NONE)
            fill_row(diff, match, metric, ID_NONE, i, &rows[count++], &summary);
    stack_match_free(match);
    qsort(diff->rows, count, sizeof *diff->rows, compare_rows);
    sum_side(before, &summary.before);
    sum_side(after, &summary.after);
    *ret_rows = diff->rows;
    *ret_summary = summary;
    return (int)(count - summary.count[DIFF_SAME]);
}
