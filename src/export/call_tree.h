// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "export/export.h"

/*
 * Folds paths of labels into a tree. Nodes lie in preorder: a parent before its children, a
 * subtree is nodes[n] .. nodes[n].end - 1, so most questions are one pass over an array.
 */

enum { TREE_SETS = 2 }; /* live and nothing; added and removed; before and after */

typedef struct TreeRow {
    const uint32_t *path; /* labels, leaf first */
    size_t depth;
    const Values *values[TREE_SETS]; /* NULL: all 0 */
} TreeRow;

typedef struct TreeNode {
    uint32_t label; /* ID_NONE: the root that stands for everything */
    uint32_t parent;
    uint32_t end;                    /* first node after this subtree */
    uint32_t level;                  /* root: 0 */
    uint32_t repeat_min, repeat_max; /* frames folded into this node; 1 unless collapsed */
    Values values[TREE_SETS];        /* own; after tree_accumulate() of the subtree */
} TreeNode;

typedef struct Tree {
    TreeNode *nodes;
    size_t count; /* at least 1 on success: the root */
    size_t capacity;
} Tree;

typedef struct TreeOptions {
    bool leaf_first; /* children of the root are the leaves of the paths */
    bool collapse;   /* equal neighbours on a path become one node */
    /* Subtrees with less than this of the metric, both sets together, are one node that has it all;
     * 0: none. For trees of which only the large part is looked at. */
    int64_t cut_below;
    Metric metric;
} TreeOptions;

/* O(n log n) comparisons of paths, no hash table. 0, -ENOMEM or -EOVERFLOW (2^32 nodes). */
int tree_build(const TreeRow *rows, size_t row_count, const TreeOptions *options, Tree *ret_tree);
void tree_done(Tree *tree);

/* Turns own values into sums over subtrees; once per tree. */
void tree_accumulate(Tree *tree);

/* Children of a node, largest first by the sum of both sets; ret_children has room for
 * tree_child_count(). */
size_t tree_child_count(const Tree *tree, uint32_t node);
void tree_children(const Tree *tree, uint32_t node, Metric metric, uint32_t *ret_children);

/*
 * Rows of a view. With `sites` allocator plumbing at the leaf is left out (alloc_site.h). A stack
 * that was cut, ended early or was lost gets one more frame at its root end that says so: a label
 * of our own, found by tree_label() only.
 */
typedef struct TreeRows {
    TreeRow *rows; /* one per stack of the view, in its order */
    uint32_t *storage;
} TreeRows;

int tree_rows_of_view(const View *view, bool sites, TreeRows *ret_rows);
void tree_rows_done(TreeRows *rows);
/* The label of a node, our own ones included. Never NULL. */
const Label *tree_label(const View *view, uint32_t label);
/* Position of a label in a dense numbering: those of labels, then ours; tree_label_count() in all.
 */
uint32_t tree_label_index(const View *view, uint32_t label);
uint32_t tree_label_count(const View *view);
/* What stands at the root end of a stack that does not reach it, "[cut at the depth limit]"; NULL:
 * it does. Static. */
const char *tree_mark(const ProfileStack *stack);
