// SPDX-License-Identifier: Apache-2.0
/*
 * From two labelled states to one StackDiff. Each label becomes a frame once, then stacks are
 * numbers; stacks without figures are left out. The later side's labels are what is shown, so it
 * goes last and overwrites.
 */
#include "web/pair_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/alloc_site.h"
#include "web/flame_cache.h"

typedef struct Adding {
    PairStacks *pairs;
    DiffSide side;
    const Profile *profile;
    const Labels *labels;
    uint32_t *by_label; /* the side's, in PairStacks */
    uint32_t *path;     /* room for the longest */
} Adding;

static int note_frame(Adding *adding, uint32_t frame, uint32_t label)
{
    PairStacks *pairs = adding->pairs;
    if (frame >= pairs->frame_capacity) {
        size_t capacity = (size_t)frame * 2 + 64;
        PairFrame *grown = realloc(pairs->frames, capacity * sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        memset(grown + pairs->frame_capacity, 0,
               (capacity - pairs->frame_capacity) * sizeof(*grown));
        pairs->frames = grown;
        pairs->frame_capacity = capacity;
    }
    if (frame >= pairs->frame_count)
        pairs->frame_count = (size_t)frame + 1;
    PairFrame *own = &pairs->frames[frame];
    if (!own->label)
        own->id[DIFF_BEFORE] = own->id[DIFF_AFTER] = -1;
    if (own->id[adding->side] >= 0)
        return 0;
    own->id[adding->side] = label;
    own->label = labels_get(adding->labels, label);
    return 0;
}

static int add_label(Adding *adding, uint32_t index)
{
    if (adding->by_label[index] != ID_NONE)
        return 0;
    const Label *label = labels_get(adding->labels, index);
    const char *program = profile_process(adding->profile)->full_path;
    bool is_program = program && strcmp(label->module, program) == 0;
    int r = stack_diff_frame(adding->pairs->diff, label->known ? label->function : NULL,
                             is_program ? "[program]" : label->module, &adding->by_label[index]);
    return r < 0 ? r : note_frame(adding, adding->by_label[index], index);
}

static int add_stack(Adding *adding, uint32_t stack, const Values *values)
{
    const uint32_t *path;
    uint32_t group;
    size_t depth = labels_path(adding->labels, stack, &path);
    size_t skip = alloc_site_skip(adding->labels, path, depth);
    int r = 0;
    for (size_t i = skip; r >= 0 && i < depth; i++) {
        r = add_label(adding, path[i]);
        adding->path[i - skip] = adding->by_label[path[i]];
    }
    if (r >= 0)
        r = stack_diff_add(adding->pairs->diff, adding->side, adding->path, depth - skip, &group);
    if (r >= 0)
        stack_diff_put(adding->pairs->diff, adding->side, group, values, values);
    return r < 0 ? r : 0;
}

static bool is_zero(const Values *values)
{
    int64_t any = 0;
    for (int m = 0; m < METRIC_MAX; m++)
        any |= values->v[m];
    return any == 0;
}

static size_t longest_path(const Labels *labels, size_t stacks)
{
    size_t longest = 0;
    const uint32_t *path;
    for (uint32_t i = 0; i < stacks; i++) {
        size_t depth = labels_path(labels, i, &path);
        longest = depth > longest ? depth : longest;
    }
    return longest;
}

static int add_side(PairStacks *pairs, DiffSide which, const PairSide *side)
{
    HubProcess *process = side->process;
    Adding adding = {pairs, which, process->profile, process->labels[GRANULARITY_FUNCTION],
                     NULL,  NULL};
    size_t stacks = profile_stack_count(process->profile);
    size_t label_count = labels_count(adding.labels);
    const Values *values;
    int r = flame_cache_state(process, side->snapshot, &values);
    pairs->label_count[which] = label_count;
    pairs->by_label[which] = malloc((label_count + 1) * sizeof(*adding.by_label));
    adding.by_label = pairs->by_label[which];
    adding.path = malloc((longest_path(adding.labels, stacks) + 1) * sizeof(*adding.path));
    if (!adding.by_label || !adding.path)
        r = -ENOMEM;
    if (r == 0)
        memset(adding.by_label, 0xff, label_count * sizeof(*adding.by_label));
    for (uint32_t i = 0; r == 0 && i < stacks; i++)
        if (!is_zero(&values[i]))
            r = add_stack(&adding, i, &values[i]);
    free(adding.path);
    return r;
}

int pair_stacks_make(const PairSide sides[DIFF_SIDES], PairStacks *ret_pairs)
{
    *ret_pairs = (PairStacks){0};
    int r = stack_diff_new(&ret_pairs->diff);
    for (int s = 0; r == 0 && s < DIFF_SIDES; s++)
        r = add_side(ret_pairs, (DiffSide)s, &sides[s]);
    return r;
}

uint32_t pair_stacks_frame(const PairStacks *pairs, DiffSide side, uint32_t label)
{
    return label < pairs->label_count[side] ? pairs->by_label[side][label] : ID_NONE;
}

void pair_stacks_done(PairStacks *pairs)
{
    stack_diff_free(pairs->diff);
    for (int s = 0; s < DIFF_SIDES; s++)
        free(pairs->by_label[s]);
    free(pairs->frames);
    *pairs = (PairStacks){0};
}
