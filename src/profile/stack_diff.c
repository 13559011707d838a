// SPDX-License-Identifier: Apache-2.0
/*
 * Pairs the call stacks of two sides by names.
 *
 * Frames are interned twice: by exact (function, module) and by their normal form (name_normal.h),
 * so all comparing is of integers. Stacks with equal frames are one group; groups are found by
 * hash.
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
#include <uthash.h>

#include "base/bits.h"
#include "profile/name_normal.h"
#include "profile/stack_match.h"

typedef struct Name {
    char *text;
    uint32_t id;
    UT_hash_handle hh;
} Name;

typedef struct Frame {
    uint64_t key; /* function name id << 32 | module name id */
    uint32_t id;
    uint32_t normal; /* frames with the same normal form share it */
    const char *function, *module;
    UT_hash_handle hh;
} Frame;

typedef struct Normal {
    uint64_t key;
    uint32_t id;
    UT_hash_handle hh;
} Normal;

/* Groups that are equal but for renumbered parts of names. */
typedef struct Kin {
    uint64_t key;
    uint32_t count[DIFF_SIDES];
    UT_hash_handle hh;
} Kin;

typedef struct Group {
    DiffGroup public;
    uint32_t index;
    Kin *kin;
    uint32_t *frames;
    uint32_t *normals;
    UT_hash_handle hh;
} Group;

typedef struct Side {
    Group *by_frames;
    Group **groups;
    size_t count, capacity;
    uint32_t *by_root; /* group indexes in order of normals from the root */
} Side;

struct StackDiff {
    Name *names;
    Frame *by_key;
    Normal *normals;
    Kin *kins;
    Frame **frames;
    size_t frame_count, frame_capacity;
    Side sides[DIFF_SIDES];
    DiffRow *rows;
};

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

int stack_diff_new(StackDiff **ret_diff)
{
    StackDiff *diff = calloc(1, sizeof *diff);
    if (!diff)
        return -ENOMEM;
    *ret_diff = diff;
    return 0;
}

static void free_side(Side *side)
{
    HASH_CLEAR(hh, side->by_frames);
    for (size_t i = 0; i < side->count; i++) {
        free(side->groups[i]->frames);
        free(side->groups[i]);
    }
    free(side->groups);
    free(side->by_root);
}

void stack_diff_free(StackDiff *diff)
{
    if (!diff)
        return;
    for (int s = 0; s < DIFF_SIDES; s++)
        free_side(&diff->sides[s]);
    HASH_CLEAR(hh, diff->by_key);
    for (size_t i = 0; i < diff->frame_count; i++)
        free(diff->frames[i]);
    free(diff->frames);
    Normal *normal, *next_normal;
    HASH_ITER(hh, diff->normals, normal, next_normal)
    {
        HASH_DEL(diff->normals, normal);
        free(normal);
    }
    Kin *kin, *next_kin;
    HASH_ITER(hh, diff->kins, kin, next_kin)
    {
        HASH_DEL(diff->kins, kin);
        free(kin);
    }
    Name *name, *next_name;
    HASH_ITER(hh, diff->names, name, next_name)
    {
        HASH_DEL(diff->names, name);
        free(name->text);
        free(name);
    }
    free(diff->rows);
    free(diff);
}

/* ---- interning --------------------------------------------------------------------------------
 */

static const Name *intern_name(StackDiff *diff, const char *text)
{
    Name *name;
    HASH_FIND_STR(diff->names, text, name);
    if (name)
        return name;
    name = calloc(1, sizeof *name);
    if (!name || !(name->text = strdup(text))) {
        free(name);
        return NULL;
    }
    name->id = HASH_COUNT(diff->names);
    HASH_ADD_KEYPTR(hh, diff->names, name->text, strlen(name->text), name);
    return name;
}

/* The id of the normal form of (function, module). */
static int intern_normal(StackDiff *diff, const char *function, uint32_t module_name,
                         uint32_t *ret_normal)
{
    char *text = malloc(strlen(function) + 1);
    if (!text)
        return -ENOMEM;
    name_normal_function(function, text);
    const Name *name = intern_name(diff, text);
    free(text);
    if (!name)
        return -ENOMEM;
    uint64_t key = (uint64_t)name->id << 32 | module_name;
    Normal *normal;
    HASH_FIND(hh, diff->normals, &key, sizeof key, normal);
    if (!normal) {
        normal = calloc(1, sizeof *normal);
        if (!normal)
            return -ENOMEM;
        normal->key = key;
        normal->id = HASH_COUNT(diff->normals);
        HASH_ADD(hh, diff->normals, key, sizeof normal->key, normal);
    }
    *ret_normal = normal->id;
    return 0;
}

static const Name *intern_module(StackDiff *diff, const char *module)
{
    char *text = malloc(strlen(module) + 4);
    if (!text)
        return NULL;
    name_normal_module(module, text);
    const Name *name = intern_name(diff, text);
    free(text);
    return name;
}

static int push_frame(StackDiff *diff, Frame *frame)
{
    if (diff->frame_count == diff->frame_capacity) {
        size_t capacity = diff->frame_capacity ? 2 * diff->frame_capacity : 256;
        Frame **frames = realloc(diff->frames, capacity * sizeof *frames);
        if (!frames)
            return -ENOMEM;
        diff->frames = frames;
        diff->frame_capacity = capacity;
    }
    frame->id = (uint32_t)diff->frame_count;
    diff->frames[diff->frame_count++] = frame;
    HASH_ADD(hh, diff->by_key, key, sizeof frame->key, frame);
    return 0;
}

int stack_diff_frame(StackDiff *diff, const char *function, const char *module, uint32_t *ret_frame)
{
    const Name *function_name = intern_name(diff, function ? function : "?");
    const Name *module_name = intern_module(diff, module);
    if (!function_name || !module_name)
        return -ENOMEM;
    uint64_t key = (uint64_t)function_name->id << 32 | module_name->id;
    Frame *frame;
    HASH_FIND(hh, diff->by_key, &key, sizeof key, frame);
    if (!frame) {
        frame = calloc(1, sizeof *frame);
        if (!frame)
            return -ENOMEM;
        frame->key = key;
        frame->function = function_name->text;
        frame->module = module_name->text;
        int r = intern_normal(diff, function_name->text, module_name->id, &frame->normal);
        if (r == 0)
            r = push_frame(diff, frame);
        if (r < 0) {
            free(frame);
            return r;
        }
    }
    *ret_frame = frame->id;
    return 0;
}

const char *stack_diff_function(const StackDiff *diff, uint32_t frame)
{
    return diff->frames[frame]->function;
}

const char *stack_diff_module(const StackDiff *diff, uint32_t frame)
{
    return diff->frames[frame]->module;
}

/* ---- groups -----------------------------------------------------------------------------------
 */

static int push_group(Side *side, Group *group)
{
    if (side->count == side->capacity) {
        size_t capacity = side->capacity ? 2 * side->capacity : 256;
        Group **groups = realloc(side->groups, capacity * sizeof *groups);
        if (!groups)
            return -ENOMEM;
        side->groups = groups;
        side->capacity = capacity;
    }
    group->index = (uint32_t)side->count;
    side->groups[side->count++] = group;
    HASH_ADD_KEYPTR(hh, side->by_frames, group->frames, group->public.depth * sizeof *group->frames,
                    group);
    return 0;
}

static Group *new_group(const StackDiff *diff, const uint32_t *frames, size_t depth)
{
    Group *group = calloc(1, sizeof *group);
    if (!group)
        return NULL;
    group->frames = calloc(2 * depth + 1, sizeof *group->frames);
    if (!group->frames) {
        free(group);
        return NULL;
    }
    group->normals = group->frames + depth;
    for (size_t i = 0; i < depth; i++) {
        group->frames[i] = frames[i];
        group->normals[i] = diff->frames[frames[i]]->normal;
    }
    group->public.frames = group->frames;
    group->public.depth = depth;
    return group;
}

static int count_kin(StackDiff *diff, DiffSide which, Group *group)
{
    uint64_t key = group->public.depth;
    for (size_t i = 0; i < group->public.depth; i++)
        key = hash_mix(key, group->normals[i]);
    HASH_FIND(hh, diff->kins, &key, sizeof key, group->kin);
    if (!group->kin) {
        Kin *kin = calloc(1, sizeof *kin);
        if (!kin)
            return -ENOMEM;
        kin->key = key;
        HASH_ADD(hh, diff->kins, key, sizeof kin->key, kin);
        group->kin = kin;
    }
    group->kin->count[which]++;
    return 0;
}

int stack_diff_add(StackDiff *diff, DiffSide which, const uint32_t *frames, size_t depth,
                   uint32_t *ret_group)
{
    Side *side = &diff->sides[which];
    Group *group = NULL;
    for (size_t i = 0; i < depth; i++)
        if (frames[i] >= diff->frame_count)
            return -EINVAL;
    HASH_FIND(hh, side->by_frames, frames, depth * sizeof *frames, group);
    if (!group) {
        group = new_group(diff, frames, depth);
        if (!group || count_kin(diff, which, group) < 0 || push_group(side, group) < 0) {
            if (group)
                free(group->frames);
            free(group);
            return -ENOMEM;
        }
    }
    *ret_group = group->index;
    return 0;
}

size_t stack_diff_group_count(const StackDiff *diff, DiffSide side)
{
    return diff->sides[side].count;
}

const DiffGroup *stack_diff_group(const StackDiff *diff, DiffSide side, uint32_t group)
{
    return &diff->sides[side].groups[group]->public;
}

static void add_values(Values *to, const Values *from)
{
    for (int m = 0; m < METRIC_MAX; m++)
        to->v[m] = (int64_t)((uint64_t)to->v[m] + (uint64_t)from->v[m]);
}

void stack_diff_put(StackDiff *diff, DiffSide side, uint32_t group, const Values *values,
                    const Values *worst)
{
    DiffGroup *public = &diff->sides[side].groups[group]->public;
    add_values(&public->values, values);
    add_values(&public->worst, worst);
}

/* ---- the first frame that differs --------------------------------------------------------------
 */

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

/* ---- rows --------------------------------------------------------------------------------------
 */

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

/* ---- nothing in common -------------------------------------------------------------------------
 */

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
        add_values(ret_sum, &side->groups[i]->public.values);
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
