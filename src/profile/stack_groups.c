// SPDX-License-Identifier: Apache-2.0
/*
 * The stacks of a diff before they are paired: names and frames interned to integers, stacks with
 * equal frames gathered in groups.
 *
 * A frame is (function, module) with the module in its normal form; its normal id is that of
 * (normal function, module), so frames that differ in renumbered parts of names share it. Groups
 * are found by a hash of their frames; groups with equal normal frames are counted together as kin.
 * All linear; one thread.
 */
#include "profile/stack_groups.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "profile/name_normal.h"

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

/* ---- interning ---------------------------------------------------------------------------- */

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

/* ---- groups ------------------------------------------------------------------------------- */

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

void stack_groups_add_values(Values *to, const Values *from)
{
    for (int m = 0; m < METRIC_MAX; m++)
        to->v[m] = (int64_t)((uint64_t)to->v[m] + (uint64_t)from->v[m]);
}

void stack_diff_put(StackDiff *diff, DiffSide side, uint32_t group, const Values *values,
                    const Values *worst)
{
    DiffGroup *public = &diff->sides[side].groups[group]->public;
    stack_groups_add_values(&public->values, values);
    stack_groups_add_values(&public->worst, worst);
}
