// SPDX-License-Identifier: Apache-2.0
/*
 * Purpose: the names of a profile, as small numbers: labels, and per stack a path of them.
 *
 *   stack ──► frames ──(once per frame)──► label ids ──► path in one pool
 *                                             │
 *                                             └──► Label, found by (function, file, line, module)
 *
 * Texts are interned by the symbolizer, so a label is compared by four words. Each frame is
 * resolved once, then stacks only copy numbers: a hundred thousand stacks cost some milliseconds.
 * Labels lie in pages that never move and ids only grow, so both stay valid while the profile
 * grows. With deferred names a frame first has the label of its address; when names come, its span
 * is replaced, and the next update writes the paths of all stacks anew.
 *
 * One thread at a time.
 */
#include "symbol/labels.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"

#define PAGE_LABELS 1024

typedef struct Span {
    uint32_t first, count; /* in a pool of Labels */
} Span;

typedef struct ModuleName {
    const char *path;   /* interned; "[unknown]" */
    uint32_t canonical; /* first module with the same path and build-id */
} ModuleName;

struct Labels {
    const Profile *profile;
    Symbolizer *symbolizer;
    Granularity granularity;
    bool deferred; /* names come by labels_put() */
    bool renamed;  /* paths of stacks are of old names */
    uint64_t generation;
    const char *no_module;

    Label **pages;
    size_t page_capacity;
    uint32_t count;
    uint32_t *slots; /* label + 1, 0: free; open addressing by label_hash() */
    size_t slot_capacity;

    ModuleName *modules;
    size_t module_count, module_capacity;
    Span *frames; /* per profile frame, in frame_pool */
    size_t frame_count, frame_capacity;
    uint32_t *frame_pool;
    size_t frame_pool_count, frame_pool_capacity;
    Span *stacks; /* in pool */
    size_t stack_count, stack_capacity;
    uint32_t *pool;
    size_t pool_count, pool_capacity;
};

/* Makes room for WANT items in an array that *ARRAY points to; new items are zero. */
static int reserve(void *array, size_t *capacity, size_t want, size_t item_bytes)
{
    void **memory = array;
    if (want <= *capacity)
        return 0;
    size_t bigger = *capacity * 2 > want ? *capacity * 2 : want + 64;
    char *out = realloc(*memory, bigger * item_bytes);
    if (!out)
        return -ENOMEM;
    memset(out + *capacity * item_bytes, 0, (bigger - *capacity) * item_bytes);
    *memory = out;
    *capacity = bigger;
    return 0;
}

/* ---- labels --------------------------------------------------------------------------------- */

static uint64_t label_hash(const Labels *labels, const Label *label)
{
    uint64_t hash = hash_mix((uintptr_t)label->function, label->module_index);
    if (labels->granularity == GRANULARITY_LINE)
        hash = hash_mix(hash_mix(hash, (uintptr_t)label->file), label->line);
    return hash;
}

static bool label_equal(const Labels *labels, const Label *a, const Label *b)
{
    return a->function == b->function && a->module_index == b->module_index &&
           (labels->granularity == GRANULARITY_FUNCTION ||
            (a->file == b->file && a->line == b->line));
}

static uint32_t *find_slot(const Labels *labels, const Label *label)
{
    size_t mask = labels->slot_capacity - 1;
    size_t at = (size_t)label_hash(labels, label) & mask;
    while (labels->slots[at] &&
           !label_equal(labels, labels_get(labels, labels->slots[at] - 1), label))
        at = (at + 1) & mask;
    return &labels->slots[at];
}

static int grow_slots(Labels *labels)
{
    size_t capacity = labels->slot_capacity ? labels->slot_capacity * 2 : 1024;
    uint32_t *slots = calloc(capacity, sizeof(*slots));
    if (!slots)
        return -ENOMEM;
    free(labels->slots);
    labels->slots = slots;
    labels->slot_capacity = capacity;
    for (uint32_t i = 0; i < labels->count; i++)
        *find_slot(labels, labels_get(labels, i)) = i + 1;
    return 0;
}

static int label_append(Labels *labels, const Label *label, uint32_t *slot)
{
    size_t page = labels->count / PAGE_LABELS;
    int r = reserve(&labels->pages, &labels->page_capacity, page + 1, sizeof(*labels->pages));
    if (r < 0)
        return r;
    if (!labels->pages[page] &&
        !(labels->pages[page] = calloc(PAGE_LABELS, sizeof(**labels->pages))))
        return -ENOMEM;
    labels->pages[page][labels->count % PAGE_LABELS] = *label;
    *slot = ++labels->count;
    return 0;
}

static int label_find_or_add(Labels *labels, const Label *label, uint32_t *ret_label)
{
    int r = 0;
    if ((size_t)labels->count * 2 >= labels->slot_capacity)
        r = grow_slots(labels);
    if (r < 0)
        return r;
    uint32_t *slot = find_slot(labels, label);
    if (!*slot)
        r = label_append(labels, label, slot);
    if (r == 0)
        *ret_label = *slot - 1;
    return r;
}

/* ---- modules -------------------------------------------------------------------------------- */

static bool same_build(const ProfileModule *a, const ProfileModule *b)
{
    return a->build_id_size == b->build_id_size &&
           (a->build_id_size == 0 || memcmp(a->build_id, b->build_id, a->build_id_size) == 0);
}

static uint32_t canonical_module(const Labels *labels, uint32_t index)
{
    const ProfileModule *module = profile_module(labels->profile, index);
    for (uint32_t i = 0; i < index; i++)
        if (labels->modules[i].path == labels->modules[index].path &&
            same_build(profile_module(labels->profile, i), module))
            return i;
    return index;
}

static int update_modules(Labels *labels)
{
    size_t count = profile_module_count(labels->profile);
    int r = reserve(&labels->modules, &labels->module_capacity, count, sizeof(*labels->modules));
    for (; r == 0 && labels->module_count < count; labels->module_count++) {
        uint32_t index = (uint32_t)labels->module_count;
        const char *path = profile_module(labels->profile, index)->path;
        ModuleName *name = &labels->modules[index];
        name->path = symbol_intern(labels->symbolizer, path && *path ? path : labels->no_module);
        if (!name->path)
            return -ENOMEM;
        name->canonical = canonical_module(labels, index);
    }
    return r;
}

/* ---- frames --------------------------------------------------------------------------------- */

static const char *unknown_text(Labels *labels, const Label *label)
{
    const char *slash = strrchr(label->module, '/');
    char *text = NULL;
    if (asprintf(&text, "0x%llx (in %s)", (unsigned long long)label->offset,
                 slash && slash[1] ? slash + 1 : label->module) < 0)
        return NULL;
    const char *interned = symbol_intern(labels->symbolizer, text);
    free(text);
    return interned;
}

static int label_of(Labels *labels, const ProfileFrame *frame, const SymbolFrame *symbol,
                    uint32_t *ret_label)
{
    Label label = {.function = symbol->function,
                   .raw = symbol->raw,
                   .file = symbol->file,
                   .module = labels->no_module,
                   .module_index = ID_NONE,
                   .offset = frame->address - !frame->exact,
                   .inlined = symbol->inlined,
                   .known = symbol->function};
    if (labels->granularity == GRANULARITY_LINE)
        label.line = symbol->line;
    if (frame->module < labels->module_count) {
        label.module = labels->modules[frame->module].path;
        label.module_index = labels->modules[frame->module].canonical;
        label.offset -= profile_module(labels->profile, frame->module)->bias;
    }
    if (!label.known && !(label.function = unknown_text(labels, &label)))
        return -ENOMEM;
    return label_find_or_add(labels, &label, ret_label);
}

/* Whether a frame has just this one label already. */
static bool frame_is(const Labels *labels, uint32_t index, uint32_t label)
{
    Span span = labels->frames[index];
    return span.count == 1 && labels->frame_pool[span.first] == label;
}

static int frame_put(Labels *labels, uint32_t index, const SymbolFrame *symbols, size_t count)
{
    size_t first = labels->frame_pool_count;
    int r = reserve(&labels->frame_pool, &labels->frame_pool_capacity, first + count,
                    sizeof(*labels->frame_pool));
    if (r == 0 && first + count > UINT32_MAX)
        r = -EOVERFLOW;
    const ProfileFrame *frame = profile_frame(labels->profile, index);
    for (size_t i = 0; r == 0 && i < count; i++)
        r = label_of(labels, frame, &symbols[i], &labels->frame_pool[first + i]);
    if (r < 0)
        return r;
    if (count == 1 && frame_is(labels, index, labels->frame_pool[first]))
        return 0;
    labels->renamed |= labels->frames[index].count > 0;
    labels->frame_pool_count += count;
    labels->frames[index] = (Span){(uint32_t)first, (uint32_t)count};
    return 0;
}

static int resolve_frame(Labels *labels, uint32_t index)
{
    static const SymbolFrame unknown;
    const SymbolFrame *symbols = &unknown;
    int count = 1;
    if (!labels->deferred)
        count = symbol_resolve(labels->symbolizer, labels->profile, index, &symbols);
    return count < 0 ? count : frame_put(labels, index, symbols, (size_t)count);
}

static int update_frames(Labels *labels)
{
    size_t count = profile_frame_count(labels->profile);
    int r = reserve(&labels->frames, &labels->frame_capacity, count, sizeof(*labels->frames));
    for (; r == 0 && labels->frame_count < count; labels->frame_count++) {
        r = resolve_frame(labels, (uint32_t)labels->frame_count);
        if (r < 0)
            break;
    }
    return r;
}

/* ---- stacks --------------------------------------------------------------------------------- */

static int append_stack(Labels *labels, uint32_t index)
{
    const ProfileStack *stack = profile_stack(labels->profile, index);
    size_t count = 0;
    for (size_t i = 0; i < stack->depth; i++)
        count += labels->frames[stack->frames[i]].count;
    int r = reserve(&labels->pool, &labels->pool_capacity, labels->pool_count + count,
                    sizeof(*labels->pool));
    if (r == 0 && labels->pool_count + count > UINT32_MAX)
        r = -EOVERFLOW;
    if (r < 0)
        return r;
    labels->stacks[index] = (Span){(uint32_t)labels->pool_count, (uint32_t)count};
    for (size_t i = 0; i < stack->depth; i++) {
        Span frame = labels->frames[stack->frames[i]];
        memcpy(labels->pool + labels->pool_count, labels->frame_pool + frame.first,
               frame.count * sizeof(*labels->pool));
        labels->pool_count += frame.count;
    }
    return 0;
}

static int update_stacks(Labels *labels)
{
    size_t count = profile_stack_count(labels->profile);
    if (labels->renamed) {
        labels->pool_count = labels->stack_count = 0;
        labels->renamed = false;
        labels->generation++;
    }
    int r = reserve(&labels->stacks, &labels->stack_capacity, count, sizeof(*labels->stacks));
    for (; r == 0 && labels->stack_count < count; labels->stack_count++) {
        r = append_stack(labels, (uint32_t)labels->stack_count);
        if (r < 0)
            break;
    }
    return r;
}

/* ---- interface ------------------------------------------------------------------------------ */

int labels_update(Labels *labels)
{
    int r = update_modules(labels);
    if (r == 0)
        r = update_frames(labels);
    return r < 0 ? r : update_stacks(labels);
}

static int make(const Profile *profile, Symbolizer *symbolizer, Granularity granularity,
                bool deferred, Labels **ret_labels)
{
    Labels *labels = calloc(1, sizeof(*labels));
    if (!labels)
        return -ENOMEM;
    labels->deferred = deferred;
    labels->profile = profile;
    labels->symbolizer = symbolizer;
    labels->granularity = granularity;
    labels->no_module = symbol_intern(symbolizer, "[unknown]");
    int r = labels->no_module ? labels_update(labels) : -ENOMEM;
    if (r < 0)
        labels_free(labels);
    else
        *ret_labels = labels;
    return r;
}

int labels_new(const Profile *profile, Symbolizer *symbolizer, Granularity granularity,
               Labels **ret_labels)
{
    return make(profile, symbolizer, granularity, false, ret_labels);
}

int labels_new_deferred(const Profile *profile, Symbolizer *symbolizer, Granularity granularity,
                        Labels **ret_labels)
{
    return make(profile, symbolizer, granularity, true, ret_labels);
}

int labels_put(Labels *labels, uint32_t frame, const SymbolFrame *frames, size_t count)
{
    if (frame >= labels->frame_count || count == 0)
        return -EINVAL;
    return frame_put(labels, frame, frames, count);
}

uint64_t labels_generation(const Labels *labels)
{
    return labels->generation;
}

void labels_free(Labels *labels)
{
    if (!labels)
        return;
    for (size_t i = 0; i < labels->page_capacity; i++)
        free(labels->pages[i]);
    free(labels->pages);
    free(labels->slots);
    free(labels->modules);
    free(labels->frames);
    free(labels->frame_pool);
    free(labels->stacks);
    free(labels->pool);
    free(labels);
}

size_t labels_count(const Labels *labels)
{
    return labels->count;
}

const Label *labels_get(const Labels *labels, uint32_t label)
{
    if (label >= labels->count)
        return NULL;
    return &labels->pages[label / PAGE_LABELS][label % PAGE_LABELS];
}

size_t labels_path(const Labels *labels, uint32_t stack, const uint32_t **ret_labels)
{
    Span span = stack < labels->stack_count ? labels->stacks[stack] : (Span){0};
    *ret_labels = labels->pool + span.first;
    return span.count;
}

void labels_group_self(const Labels *labels, uint32_t label, uint32_t *ret_groups)
{
    for (size_t i = 0; i < labels->stack_count; i++) {
        Span span = labels->stacks[i];
        ret_groups[i] = span.count && labels->pool[span.first] == label;
    }
}

void labels_group_subtree(const Labels *labels, uint32_t label, uint32_t *ret_groups)
{
    for (size_t i = 0; i < labels->stack_count; i++) {
        const uint32_t *path = labels->pool + labels->stacks[i].first;
        uint32_t found = 0;
        for (uint32_t k = 0; k < labels->stacks[i].count && !found; k++)
            found = path[k] == label;
        ret_groups[i] = found;
    }
}
