// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <uthash.h>

#include "profile/stack_diff.h"

/* What stack_diff.c (pairing) and stack_groups.c (names, frames, groups) share. Not for others. */

typedef struct Name {
    char *text;
    uint32_t id;
    UT_hash_handle hh;
} Name;

typedef struct Frame {
    uint64_t key; /* function name id << 32 | module name id */
    uint32_t id;
    uint32_t normal;               /* frames with the same normal form share it */
    const char *function, *module; /* texts of Names */
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

/* Adds wrapping: files are hostile. */
void stack_groups_add_values(Values *to, const Values *from);
