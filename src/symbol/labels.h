// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "profile/profile.h"
#include "symbol/symbol.h"

/*
 * Profile and names joined: each distinct (function, module) or (function, file, line, module) is
 * one Label, and each stack becomes a path of labels, inline frames expanded. All views are built
 * on this. Call labels_update() after profile_advance(); ids stay stable.
 */

typedef enum Granularity { GRANULARITY_FUNCTION, GRANULARITY_LINE } Granularity;

typedef struct Label {
    const char *function;  /* never NULL: "0x1234 (in libfoo.so)" style when unknown */
    const char *raw;       /* may be NULL */
    const char *file;      /* may be NULL; GRANULARITY_FUNCTION: file of the first seen */
    uint32_t line;         /* GRANULARITY_LINE only, else 0 */
    const char *module;    /* path; "[vdso]", "[unknown]" */
    uint32_t module_index; /* profile_module() index or ID_NONE */
    uint64_t offset;       /* file address (p_vaddr) of the first frame seen with this label, inside
                              the call; no module: runtime address */
    bool inlined;
    bool known; /* a symbol was found */
} Label;

typedef struct Labels Labels;

/* Symbolizes what the profile has. PROFILE and SYMBOLIZER must outlive it. */
int labels_new(const Profile *profile, Symbolizer *symbolizer, Granularity granularity,
               Labels **ret_labels);
/*
 * The same, but no name is looked for: each frame has the label of its address until labels_put()
 * gives it names, which somebody else found. SYMBOLIZER only keeps the texts.
 */
int labels_new_deferred(const Profile *profile, Symbolizer *symbolizer, Granularity granularity,
                        Labels **ret_labels);
void labels_free(Labels *labels);
/*
 * Names of one frame, as symbol_resolve() of the labels' own symbolizer gives them (see
 * symbol_adopt()). Labels are added, none goes away; paths have the new names after the next
 * labels_update(). -EINVAL: no such frame, as of the last update.
 */
int labels_put(Labels *labels, uint32_t frame, const SymbolFrame *frames, size_t count);
/* Rises when an update gave stacks that were there before another path. */
uint64_t labels_generation(const Labels *labels);
int labels_update(Labels *labels); /* symbolizes stacks that are new; negative errno on failure */

size_t labels_count(const Labels *labels);
/* Stays where it is until labels_free(); NULL: no such label. */
const Label *labels_get(const Labels *labels, uint32_t label);
/* Label path of a stack, leaf first, inline frames expanded; owned by labels, valid until the next
 * labels_update(). A stack without frames has an empty path. */
size_t labels_path(const Labels *labels, uint32_t stack, const uint32_t **ret_labels);

/* For profile_series(): groups[stack] = 1 where the label is the leaf (self) or anywhere on the
 * path (subtree, recursion counts once), else 0. */
void labels_group_self(const Labels *labels, uint32_t label, uint32_t *ret_groups);
void labels_group_subtree(const Labels *labels, uint32_t label, uint32_t *ret_groups);
