// SPDX-License-Identifier: Apache-2.0
/*
 * Shapes and sums of call trees: small ones drawn by hand, and random ones against a tree of maps
 * that is built the plain way. Whatever is cut, the sums must hold for every metric and side.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "web/flame_sum.h"

enum { MAX_STACKS = 600 };

typedef struct Setting {
    FlameIndex index;
    Values sides[FLAME_SIDES][MAX_STACKS];
    FlameValues values;
} Setting;

/* TEXT: labels from the root, a letter each. */
static void put_path(Setting *s, const char *text, int64_t added, int64_t removed)
{
    uint32_t stack = (uint32_t)s->index.path_count;
    for (; *text; text++)
        assert_int_equal(flame_index_step(&s->index, (uint32_t)*text), 0);
    assert_int_equal(flame_index_path(&s->index, stack), 0);
    s->sides[0][stack] = (Values){{added, added ? 1 : 0, 10 * added, 0, 0, 7}};
    s->sides[1][stack] = (Values){{removed, removed ? 1 : 0, 0, 0, 0, 0}};
    s->values.stacks[0] = s->sides[0];
    s->values.stacks[1] = s->sides[1];
}

/* "@ a2 b1 ...": label and level of each node, other '.'. */
static void assert_shape(const FlameTree *tree, const char *expected)
{
    char text[400] = "";
    for (size_t i = 0; i < tree->count; i++) {
        uint32_t label = tree->label[i];
        char c = label == FLAME_ROOT ? '@' : label == FLAME_OTHER ? '.' : (char)label;
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%c%u", i ? " " : "", c,
                 tree->level[i]);
    }
    assert_string_equal(text, expected);
}

static int64_t total(const FlameTree *tree, size_t node, unsigned side)
{
    return tree->total[side][node].v[METRIC_LIVE_BYTES];
}

/* ---- by hand -------------------------------------------------------------------------------- */

static void test_small_tree(void **state)
{
    (void)state;
    Setting s = {.values = {.sides = 2}};
    FlameTree tree;
    put_path(&s, "mab", 5, 0);
    put_path(&s, "ma", 30, 0);
    put_path(&s, "mc", 0, 100);
    put_path(&s, "maab", 1, 0); /* recursion stays in the tree */
    put_path(&s, "x", 0, 0);    /* has live bytes 0, but an overhead of 7 */
    s.sides[0][4] = (Values){{0}};
    assert_int_equal(flame_index_build(&s.index), 0);
    assert_int_equal(flame_sum(&s.index, &s.values, METRIC_LIVE_BYTES, 100, &tree), 0);
    /* c is larger by both sides together; x has no value at all */
    assert_shape(&tree, "@0 m1 c2 a2 b3 a3 b4");
    assert_int_equal(tree.stack_count, 4);
    assert_int_equal(tree.all_count, 7);
    assert_int_equal(total(&tree, 0, 0), 36);
    assert_int_equal(total(&tree, 0, 1), 100);
    assert_int_equal(total(&tree, 2, 1), 100);
    assert_int_equal(total(&tree, 3, 0), 36);
    assert_int_equal(tree.self[0][3], 30);
    assert_int_equal(tree.self[0][4], 5);
    assert_int_equal(tree.self[0][5], 0);
    assert_int_equal(tree.self[0][6], 1);
    assert_int_equal(tree.total[0][0].v[METRIC_OVERHEAD], 4 * 7);
    assert_int_equal(tree.total[0][3].v[METRIC_TOTAL_BYTES], 360);
    flame_tree_done(&tree);
    flame_index_done(&s.index);
}

static void test_cut(void **state)
{
    (void)state;
    Setting s = {.values = {.sides = 1}};
    FlameTree tree;
    put_path(&s, "ma", 50, 0);
    put_path(&s, "mb", 20, 0);
    put_path(&s, "mcde", 8, 0);
    put_path(&s, "mcf", 4, 0);
    put_path(&s, "n", 2, 0);
    assert_int_equal(flame_index_build(&s.index), 0);
    assert_int_equal(flame_sum(&s.index, &s.values, METRIC_LIVE_BYTES, 6, &tree), 0);
    /* m 82, a 50, b 20 stay; c with d, e, f is one node; n, alone at the root, is itself */
    assert_shape(&tree, "@0 m1 a2 b2 .2 n1");
    assert_int_equal(tree.hidden[4], 4);
    assert_int_equal(total(&tree, 4, 0), 12);
    assert_int_equal(tree.self[0][4], 12);
    assert_int_equal(total(&tree, 0, 0), 84);
    assert_int_equal(tree.all_count, 9);
    flame_tree_done(&tree);
    assert_int_equal(flame_sum(&s.index, &s.values, METRIC_LIVE_BYTES, 2, &tree), 0);
    assert_shape(&tree, "@0 .1");
    assert_int_equal(tree.hidden[1], 8);
    assert_int_equal(total(&tree, 1, 0), 84);
    flame_tree_done(&tree);
    flame_index_done(&s.index);
}

static void test_empty(void **state)
{
    (void)state;
    Setting s = {.values = {.sides = 1}};
    FlameTree tree;
    assert_int_equal(flame_index_build(&s.index), 0);
    s.values.stacks[0] = s.sides[0];
    assert_int_equal(flame_sum(&s.index, &s.values, METRIC_LIVE_BYTES, 10, &tree), 0);
    assert_shape(&tree, "@0");
    assert_int_equal(tree.stack_count, 0);
    flame_tree_done(&tree);
    flame_index_done(&s.index);
}

/* ---- at random ------------------------------------------------------------------------------ */

static uint32_t seed = 1;

static uint32_t draw(uint32_t below)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % below;
}

static void draw_path(Setting *s, char *text)
{
    size_t depth = draw(12);
    for (size_t i = 0; i < depth; i++)
        text[i] = (char)('a' + draw(i < 3 ? 2 : 4));
    text[depth] = '\0';
    bool removed = draw(2);
    int64_t value = draw(5) ? (int64_t)draw(1000) : 0;
    put_path(s, text, removed ? 0 : value, removed ? value : 0);
    if (draw(10) == 0) {
        s->sides[0][s->index.path_count - 1] = (Values){{0}};
        s->sides[1][s->index.path_count - 1] = (Values){{0}};
    }
}

static bool is_zero(const Setting *s, size_t stack)
{
    static const Values zero;
    return memcmp(&s->sides[0][stack], &zero, sizeof(zero)) == 0 &&
           (s->values.sides == 1 || memcmp(&s->sides[1][stack], &zero, sizeof(zero)) == 0);
}

/* Different beginnings of the paths with a value: the nodes, counted the plain way. */
static size_t count_beginnings(const Setting *s, char (*texts)[16], size_t count)
{
    size_t nodes = 1;
    for (size_t i = 0; i < count; i++)
        for (size_t depth = 1; !is_zero(s, i) && depth <= strlen(texts[i]); depth++) {
            bool seen = false;
            for (size_t k = 0; k < i && !seen; k++)
                seen = !is_zero(s, k) && strlen(texts[k]) >= depth &&
                       strncmp(texts[k], texts[i], depth) == 0;
            nodes += !seen;
        }
    return nodes;
}

/* The sum over the paths that begin with the path to a node, the plain way. */
static void assert_node(const Setting *s, char (*texts)[16], size_t count, const char *prefix,
                        const FlameTree *tree, size_t node)
{
    for (unsigned side = 0; side < s->values.sides; side++)
        for (int m = 0; m < METRIC_MAX; m++) {
            int64_t sum = 0;
            for (size_t i = 0; i < count; i++)
                if (strncmp(texts[i], prefix, strlen(prefix)) == 0)
                    sum += s->sides[side][i].v[m];
            assert_int_equal(tree->total[side][node].v[m], sum);
        }
}

static void assert_sums(const FlameTree *tree, unsigned sides, Metric metric)
{
    size_t path[32], hidden = 0, others = 0;
    int64_t(*children)[METRIC_MAX] = calloc(tree->count, sizeof(*children));
    for (unsigned side = 0; side < sides; side++) {
        memset(children, 0, tree->count * sizeof(*children));
        for (size_t n = 0; n < tree->count; n++) {
            path[tree->level[n]] = n;
            for (int m = 0; n && m < METRIC_MAX; m++)
                children[path[tree->level[n] - 1]][m] += tree->total[side][n].v[m];
        }
        for (size_t n = 0; n < tree->count; n++) {
            assert_int_equal(children[n][metric] + tree->self[side][n],
                             tree->total[side][n].v[metric]);
            for (int m = 0; m < METRIC_MAX; m++)
                assert_true(children[n][m] <= tree->total[side][n].v[m]);
        }
    }
    for (size_t n = 0; n < tree->count; n++) {
        hidden += tree->hidden[n];
        others += tree->label[n] == FLAME_OTHER;
    }
    assert_int_equal(tree->count - others + hidden, tree->all_count);
    free(children);
}

static void assert_against_plain(const Setting *s, char (*texts)[16], size_t count,
                                 const FlameTree *tree)
{
    char prefix[16] = "";
    for (size_t n = 0; n < tree->count; n++) {
        if (n)
            prefix[tree->level[n] - 1] = (char)tree->label[n];
        prefix[tree->level[n]] = '\0';
        if (tree->label[n] != FLAME_OTHER)
            assert_node(s, texts, count, prefix, tree, n);
    }
}

static void test_random(void **state)
{
    (void)state;
    static char texts[MAX_STACKS][16];
    static Setting s;
    for (int round = 0; round < 60; round++) {
        size_t count = 0, target = 1 + draw(MAX_STACKS / 4);
        memset(&s, 0, sizeof(s));
        s.values.sides = 1 + draw(2);
        /* in two parts: what comes later is merged */
        for (int part = 0; part < 2; part++) {
            for (size_t i = 0; i < target; i++)
                draw_path(&s, texts[count++]);
            assert_int_equal(flame_index_build(&s.index), 0);
        }
        size_t nodes = count_beginnings(&s, texts, count);
        for (size_t limit = 2; limit < 2 * nodes; limit = limit * 3 / 2 + 1) {
            Metric metric = (Metric)draw(METRIC_MAX);
            FlameTree tree;
            assert_int_equal(flame_sum(&s.index, &s.values, metric, limit, &tree), 0);
            assert_true(tree.count <= limit);
            assert_int_equal(tree.all_count, nodes);
            if (limit >= nodes)
                assert_int_equal(tree.count, nodes);
            else
                assert_true(tree.count >= (limit + 1) / 2);
            assert_sums(&tree, s.values.sides, metric);
            assert_against_plain(&s, texts, count, &tree);
            flame_tree_done(&tree);
        }
        flame_index_done(&s.index);
    }
}

static void test_chosen(void **state)
{
    (void)state;
    static const bool chosen[] = {true, false, true};
    Setting s = {.values = {.sides = 1, .chosen = chosen}};
    FlameTree tree;
    put_path(&s, "ma", 5, 0);
    put_path(&s, "mb", 7, 0);
    put_path(&s, "mc", -3, 0); /* windows may leave less than they found */
    assert_int_equal(flame_index_build(&s.index), 0);
    assert_int_equal(flame_sum(&s.index, &s.values, METRIC_LIVE_BYTES, 100, &tree), 0);
    assert_shape(&tree, "@0 m1 a2 c2");
    assert_int_equal(total(&tree, 0, 0), 2);
    assert_int_equal(total(&tree, 3, 0), -3);
    flame_tree_done(&tree);
    flame_index_done(&s.index);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_tree), cmocka_unit_test(test_cut),
        cmocka_unit_test(test_empty),      cmocka_unit_test(test_random),
        cmocka_unit_test(test_chosen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
