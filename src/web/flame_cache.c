// SPDX-License-Identifier: Apache-2.0
/*
 * Caches of one process. An index follows its labels: when paths of known stacks changed
 * (labels_generation()) it is made anew, when there are only more stacks these are merged in. The
 * values at a snapshot never change once it is there, and stacks that come later were 0 then, so a
 * state is only ever lengthened by zeros.
 */
#include "web/flame_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/view.h"
#include "web/selection.h"

enum { STATES = 4 };

typedef struct CachedIndex {
    FlameIndex index;
    uint64_t generation;
    uint32_t stacks;
    bool made;
} CachedIndex;

typedef struct CachedState {
    int64_t snapshot;
    Values *values; /* NULL: nothing here */
    size_t count;
    uint64_t used; /* when, in requests */
} CachedState;

typedef struct CachedFilter {
    char *text; /* NULL: nothing here */
    bool *chosen;
    Granularity granularity;
    uint64_t generation;
    size_t stacks;
} CachedFilter;

struct FlameCache {
    CachedIndex index[2][2]; /* [granularity][inverted] */
    CachedState states[STATES];
    CachedFilter filter;
    uint64_t requests;
};

static FlameCache *cache_get(HubProcess *process)
{
    if (!process->flame)
        process->flame = calloc(1, sizeof(*process->flame));
    return process->flame;
}

/* ---- indexes -------------------------------------------------------------------------------- */

int flame_cache_index(HubProcess *process, Granularity granularity, bool inverted,
                      const FlameIndex **ret_index)
{
    FlameCache *cache = cache_get(process);
    if (!cache)
        return -ENOMEM;
    CachedIndex *cached = &cache->index[granularity][inverted];
    const Labels *labels = process->labels[granularity];
    uint32_t stacks = (uint32_t)profile_stack_count(process->profile);
    bool anew = cached->generation != labels_generation(labels);
    *ret_index = &cached->index;
    if (cached->made && !anew && cached->stacks == stacks)
        return 0;
    if (anew || !cached->made) {
        flame_index_clear(&cached->index);
        cached->stacks = 0;
    }
    cached->made = false;
    int r = flame_index_stacks(&cached->index, process->profile, labels, inverted, FLAME_ROOT,
                               cached->stacks);
    if (r == 0)
        r = flame_index_build(&cached->index);
    if (r < 0)
        return r;
    cached->made = true;
    cached->stacks = stacks;
    cached->generation = labels_generation(labels);
    return 0;
}

/* ---- states --------------------------------------------------------------------------------- */

static CachedState *state_slot(FlameCache *cache, int64_t snapshot)
{
    CachedState *oldest = &cache->states[0];
    for (int i = 0; i < STATES; i++) {
        CachedState *state = &cache->states[i];
        if (state->values && state->snapshot == snapshot)
            return state;
        if (state->used < oldest->used)
            oldest = state;
    }
    free(oldest->values);
    *oldest = (CachedState){.snapshot = snapshot};
    return oldest;
}

static int state_grow(CachedState *state, size_t count)
{
    Values *grown = realloc(state->values, (count + 1) * sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    memset(grown + state->count, 0, (count - state->count) * sizeof(*grown));
    state->values = grown;
    state->count = count;
    return 0;
}

int flame_cache_state(HubProcess *process, int64_t snapshot, const Values **ret_values)
{
    FlameCache *cache = cache_get(process);
    if (!cache)
        return -ENOMEM;
    CachedState *state = state_slot(cache, snapshot);
    bool fresh = !state->values;
    size_t count = profile_stack_count(process->profile);
    state->used = ++cache->requests;
    if ((fresh || state->count < count) && state_grow(state, count) < 0)
        return -ENOMEM;
    if (fresh && snapshot >= 0)
        profile_state(process->profile,
                      profile_snapshot(process->profile, (size_t)snapshot)->time_ns, state->values);
    *ret_values = state->values;
    return 0;
}

/* ---- filter --------------------------------------------------------------------------------- */

static bool *choose_stacks(const HubProcess *process, const Labels *labels, const bool *matches)
{
    size_t count = profile_stack_count(process->profile);
    bool *chosen = calloc(count + 1, sizeof(*chosen));
    for (uint32_t i = 0; chosen && i < count; i++) {
        const uint32_t *path;
        size_t depth = labels_path(labels, i, &path);
        for (size_t k = 0; k < depth && !chosen[i]; k++)
            chosen[i] = matches[path[k]];
    }
    return chosen;
}

static int filter_make(const HubProcess *process, CachedFilter *filter)
{
    const Labels *labels = process->labels[filter->granularity];
    bool *matches;
    int r = view_filter_labels(labels, filter->text, FILTER_LIMIT_NS, &matches);
    if (r < 0)
        return r;
    filter->chosen = choose_stacks(process, labels, matches);
    free(matches);
    return filter->chosen ? 0 : -ENOMEM;
}

int flame_cache_filter(HubProcess *process, Granularity granularity, const char *filter,
                       const bool **ret_chosen)
{
    FlameCache *cache = cache_get(process);
    if (!cache)
        return -ENOMEM;
    CachedFilter wanted = {.granularity = granularity,
                           .generation = labels_generation(process->labels[granularity]),
                           .stacks = profile_stack_count(process->profile)};
    CachedFilter *own = &cache->filter;
    if (!own->text || strcmp(own->text, filter) != 0 || own->granularity != granularity ||
        own->generation != wanted.generation || own->stacks != wanted.stacks) {
        wanted.text = strdup(filter);
        int r = wanted.text ? filter_make(process, &wanted) : -ENOMEM;
        if (r < 0) {
            free(wanted.text);
            return r;
        }
        free(own->text);
        free(own->chosen);
        *own = wanted;
    }
    *ret_chosen = own->chosen;
    return 0;
}

void flame_cache_free(FlameCache *cache)
{
    if (!cache)
        return;
    for (int g = 0; g < 2; g++)
        for (int i = 0; i < 2; i++)
            flame_index_done(&cache->index[g][i].index);
    for (int i = 0; i < STATES; i++)
        free(cache->states[i].values);
    free(cache->filter.text);
    free(cache->filter.chosen);
    free(cache);
}
