// SPDX-License-Identifier: Apache-2.0
/* Pairing of stacks by names: each case is a change that a programmer or a compiler makes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "profile/stack_diff.h"

static StackDiff *diff;
static const DiffRow *rows;
static DiffSummary summary;

static int begin(void **state)
{
    (void)state;
    return stack_diff_new(&diff);
}

static int end(void **state)
{
    (void)state;
    stack_diff_free(diff);
    return 0;
}

/* path: "main>run>leaf", root first as one reads it; "module!name" for another module. */
static void put_worst(DiffSide side, const char *path, int64_t count, int64_t worst)
{
    char text[8192];
    uint32_t frames[600], group;
    size_t depth = 0;
    snprintf(text, sizeof text, "%s", path);
    for (char *save, *name = strtok_r(text, ">", &save); name; name = strtok_r(NULL, ">", &save)) {
        char *bang = strchr(name, '!');
        const char *module = bang ? name : "app";
        if (bang)
            *bang = '\0';
        assert_int_equal(stack_diff_frame(diff, bang ? bang + 1 : name, module, &frames[depth++]),
                         0);
    }
    for (size_t i = 0; i < depth / 2; i++) {
        uint32_t frame = frames[i];
        frames[i] = frames[depth - 1 - i];
        frames[depth - 1 - i] = frame;
    }
    assert_int_equal(stack_diff_add(diff, side, frames, depth, &group), 0);
    Values values = {.v[METRIC_TOTAL_COUNT] = count}, most = {.v[METRIC_TOTAL_COUNT] = worst};
    stack_diff_put(diff, side, group, &values, &most);
}

static void put(DiffSide side, const char *path, int64_t count)
{
    put_worst(side, path, count, count);
}

static void both(const char *path, int64_t count)
{
    put(DIFF_BEFORE, path, count);
    put(DIFF_AFTER, path, count);
}

static int run(void)
{
    return stack_diff_run(diff, METRIC_TOTAL_COUNT, &rows, &summary);
}

static const char *differs(const DiffRow *row, DiffSide side)
{
    if (row->group[side] == ID_NONE || row->differs[side] == ID_NONE)
        return "";
    const DiffGroup *group = stack_diff_group(diff, side, row->group[side]);
    return stack_diff_function(diff, group->frames[row->differs[side]]);
}

static void expect(size_t row, DiffKind kind, DiffMatch match, int64_t change, const char *before,
                   const char *after)
{
    assert_string_equal(diff_kind_name(rows[row].kind), diff_kind_name(kind));
    assert_string_equal(diff_match_name(rows[row].match), diff_match_name(match));
    assert_int_equal(rows[row].change, change);
    assert_string_equal(differs(&rows[row], DIFF_BEFORE), before);
    assert_string_equal(differs(&rows[row], DIFF_AFTER), after);
}

static void test_equal_runs_are_empty(void **state)
{
    (void)state;
    both("main>parse>grow", 5);
    both("main>run", 1);
    assert_int_equal(run(), 0);
    assert_int_equal(summary.count[DIFF_SAME], 2);
    assert_int_equal(summary.before.v[METRIC_TOTAL_COUNT], 6);
    assert_false(summary.nothing_in_common);
}

static void test_added_call_is_named(void **state)
{
    (void)state;
    both("main>parse>read_line", 100);
    both("main>parse>grow", 10);
    both("main>print>format", 3);
    put(DIFF_AFTER, "main>parse>intern>copy", 7);
    assert_int_equal(run(), 1);
    expect(0, DIFF_NEW, DIFF_MATCH_NONE, 7, "", "intern");
    assert_false(rows[0].ambiguous);
}

static void test_more_fewer_new_gone_by_impact(void **state)
{
    (void)state;
    put(DIFF_BEFORE, "main>a", 1), put(DIFF_AFTER, "main>a", 5);
    put(DIFF_BEFORE, "main>b", 9), put(DIFF_AFTER, "main>b", 2);
    put(DIFF_BEFORE, "main>c>c1", 6);
    put(DIFF_AFTER, "main>d>d1", 5);
    assert_int_equal(run(), 4);
    expect(0, DIFF_FEWER, DIFF_MATCH_EXACT, -7, "", "");
    expect(1, DIFF_GONE, DIFF_MATCH_NONE, -6, "c", "");
    expect(2, DIFF_NEW, DIFF_MATCH_NONE, 5, "", "d");
    expect(3, DIFF_MORE, DIFF_MATCH_EXACT, 4, "", "");
}

static void test_same_functions_add_up(void **state)
{
    (void)state;
    /* two call sites (lines) of one function: two stacks, one path */
    put(DIFF_BEFORE, "main>f", 2);
    put(DIFF_AFTER, "main>f", 2);
    put(DIFF_AFTER, "main>f", 3);
    assert_int_equal(run(), 1);
    expect(0, DIFF_MORE, DIFF_MATCH_EXACT, 3, "", "");
}

static void test_inserted_frame(void **state)
{
    (void)state;
    put(DIFF_BEFORE, "main>run>step>parse>grow", 5);
    put(DIFF_AFTER, "main>run>retry>step>parse>grow", 8);
    both("main>other", 1);
    assert_int_equal(run(), 1);
    expect(0, DIFF_MORE, DIFF_MATCH_SIMILAR, 3, "step", "retry");
    assert_false(rows[0].ambiguous);
}

static void test_two_frames_inserted_apart(void **state)
{
    (void)state;
    put(DIFF_BEFORE, "main>one>two>three>four>leaf", 5);
    put(DIFF_AFTER, "main>one>x>two>three>y>four>leaf", 6);
    put(DIFF_AFTER, "start", 1);
    assert_int_equal(run(), 2);
    expect(0, DIFF_MORE, DIFF_MATCH_SIMILAR, 1, "two", "x");
}

static void test_inserted_frame_same_count_is_no_row(void **state)
{
    (void)state;
    put(DIFF_BEFORE, "main>run>step>parse>grow", 5);
    put(DIFF_AFTER, "main>run>retry>step>parse>grow", 5);
    assert_int_equal(run(), 0);
    assert_int_equal(summary.similar, 1);
}

static void test_wrapper_at_the_leaf(void **state)
{
    (void)state;
    both("main>x", 1);
    put(DIFF_BEFORE, "main>run>parse>grow", 5);
    put(DIFF_AFTER, "main>run>parse>grow>xmalloc", 6);
    assert_int_equal(run(), 1);
    expect(0, DIFF_MORE, DIFF_MATCH_SIMILAR, 1, "", "xmalloc");
}

static void test_renamed_lambda(void **state)
{
    (void)state;
    put(DIFF_BEFORE, "main>main::{lambda(int)#1}::operator()(int) const>f.constprop.0", 5);
    put(DIFF_AFTER, "main>main::{lambda(int)#2}::operator()(int) const>f.isra.0", 6);
    assert_int_equal(run(), 1);
    expect(0, DIFF_MORE, DIFF_MATCH_RENAMED, 1, "", "");
}

static void test_lambda_numbers_shifted(void **state)
{
    (void)state;
    /* a new lambda 1 in front: old 1 is now 2, old 2 is now 3 */
    put(DIFF_BEFORE, "main>{lambda()#1}", 10);
    put(DIFF_BEFORE, "main>{lambda()#2}", 20);
    put(DIFF_AFTER, "main>{lambda()#1}", 3);
    put(DIFF_AFTER, "main>{lambda()#2}", 10);
    put(DIFF_AFTER, "main>{lambda()#3}", 20);
    assert_int_equal(run(), 3);
    /* exact names win, but it is told that they prove little here */
    expect(0, DIFF_NEW, DIFF_MATCH_NONE, 20, "", "{lambda()#3}");
    expect(1, DIFF_FEWER, DIFF_MATCH_EXACT, -10, "", "");
    expect(2, DIFF_FEWER, DIFF_MATCH_EXACT, -7, "", "");
    assert_int_equal(summary.ambiguous, 3);
}

static void test_ambiguous_is_told_and_nearest_value_wins(void **state)
{
    (void)state;
    put(DIFF_BEFORE, "main>{lambda()#1}", 10);
    put(DIFF_BEFORE, "main>{lambda()#2}", 20);
    put(DIFF_AFTER, "main>{lambda()#5}", 21);
    put(DIFF_AFTER, "main>{lambda()#6}", 11);
    assert_int_equal(run(), 2);
    expect(0, DIFF_MORE, DIFF_MATCH_RENAMED, 1, "", "");
    expect(1, DIFF_MORE, DIFF_MATCH_RENAMED, 1, "", "");
    assert_true(rows[0].ambiguous);
    assert_int_equal(summary.ambiguous, 2);
}

static void test_other_leaf_is_not_paired(void **state)
{
    (void)state;
    both("main>run>x", 1);
    put(DIFF_BEFORE, "main>run>parse>items>vector_grow", 5);
    put(DIFF_AFTER, "main>run>parse>items>make_string", 5);
    assert_int_equal(run(), 2);
    assert_int_equal(summary.count[DIFF_NEW], 1);
    assert_int_equal(summary.count[DIFF_GONE], 1);
    expect(0, DIFF_NEW, DIFF_MATCH_NONE, 5, "", "make_string");
    expect(1, DIFF_GONE, DIFF_MATCH_NONE, -5, "vector_grow", "");
}

static void test_shared_outer_frames_do_not_count(void **state)
{
    (void)state;
    /* nine frames in common, but all stacks have them */
    both("a>b>c>d>e>f>g>h>main>z", 1);
    put(DIFF_BEFORE, "a>b>c>d>e>f>g>h>main>one>two>leaf", 5);
    put(DIFF_AFTER, "a>b>c>d>e>f>g>h>main>three>four>leaf", 6);
    assert_int_equal(run(), 2);
    assert_int_equal(summary.count[DIFF_NEW], 1);
}

static void test_inline_decisions(void **state)
{
    (void)state;
    /* without DWARF an inlined function is simply missing */
    put(DIFF_BEFORE, "main>run>parse>next>grow>alloc", 4);
    put(DIFF_BEFORE, "main>run>load>open>name>alloc", 3);
    put(DIFF_AFTER, "main>run>parse>grow>alloc", 4);
    put(DIFF_AFTER, "main>run>load>name>alloc", 5);
    assert_int_equal(run(), 1);
    expect(0, DIFF_MORE, DIFF_MATCH_SIMILAR, 2, "open", "name");
}

static void test_modules(void **state)
{
    (void)state;
    put(DIFF_BEFORE, "main>/old/libx.so.1.2!f", 1);
    put(DIFF_AFTER, "main>/new/libx.so.1.3!f", 1);
    put(DIFF_BEFORE, "main>liba.so!g", 1);
    put(DIFF_AFTER, "main>libb.so!g", 1);
    assert_int_equal(run(), 2);
    assert_int_equal(summary.count[DIFF_NEW], 1);
    assert_int_equal(summary.count[DIFF_SAME], 1);
}

static void test_unknown_functions(void **state)
{
    (void)state;
    uint32_t a, b, c;
    assert_int_equal(stack_diff_frame(diff, NULL, "/lib/libx.so.1", &a), 0);
    assert_int_equal(stack_diff_frame(diff, NULL, "libx.so.2", &b), 0);
    assert_int_equal(stack_diff_frame(diff, NULL, "liby.so", &c), 0);
    assert_int_equal(a, b);
    assert_int_not_equal(a, c);
    assert_string_equal(stack_diff_function(diff, a), "?");
    assert_string_equal(stack_diff_module(diff, a), "libx.so");
}

static void test_worst_only(void **state)
{
    (void)state;
    put_worst(DIFF_BEFORE, "main>a", 7, 7);
    put_worst(DIFF_AFTER, "main>a", 7, 50);
    put_worst(DIFF_BEFORE, "main>b", 1, 1);
    put_worst(DIFF_AFTER, "main>b", 2, 2);
    assert_int_equal(run(), 2);
    assert_false(rows[0].worst_only);
    assert_int_equal(rows[0].change, 1);
    assert_true(rows[1].worst_only);
    assert_int_equal(rows[1].change, 43);
}

static void test_nothing_in_common(void **state)
{
    (void)state;
    put(DIFF_BEFORE, "main>a", 7);
    put(DIFF_AFTER, "main>b>c", 7);
    both("_start>libc.so.6!setlocale", 1);
    assert_int_equal(run(), 2);
    assert_true(summary.nothing_in_common);
    put(DIFF_AFTER, "main>a>d>e>f", 7); /* another path, but a function of the program */
    assert_int_equal(run(), 3);
    assert_false(summary.nothing_in_common);
}

static void test_empty_sides(void **state)
{
    (void)state;
    assert_int_equal(run(), 0);
    assert_false(summary.nothing_in_common);
    put(DIFF_AFTER, "main>a", 7);
    put(DIFF_AFTER, "", 2); /* a stack that a damaged file never says */
    assert_int_equal(run(), 2);
    expect(0, DIFF_NEW, DIFF_MATCH_NONE, 7, "", "main");
    assert_int_equal(stack_diff_add(diff, DIFF_AFTER, &(uint32_t){99}, 1, &(uint32_t){0}), -22);
}

static void test_run_again_for_another_metric(void **state)
{
    (void)state;
    put(DIFF_BEFORE, "main>a", 7);
    put(DIFF_AFTER, "main>a", 8);
    assert_int_equal(stack_diff_run(diff, METRIC_LIVE_BYTES, &rows, &summary), 0);
    assert_int_equal(run(), 1);
    assert_int_equal(run(), 1);
}

/* Many stacks of two builds: each before has one partner with a frame inserted somewhere. */
static void test_many(void **state)
{
    (void)state;
    uint64_t random = 3;
    char path[256];
    enum { COUNT = 3000 };
    for (int i = 0; i < COUNT; i++) {
        int at = (int)((random = hash_mix(random, 1)) % 6);
        for (int side = 0; side < 2; side++) {
            char *to = path;
            to += sprintf(to, "main");
            for (int f = 0; f < 6; f++) {
                if (side == 1 && f == at)
                    to += sprintf(to, ">inserted");
                to += sprintf(to, ">f%d_%d", f, (i * (f + 3)) % (f == 5 ? COUNT : 40));
            }
            put((DiffSide)side, path, i + side);
        }
    }
    assert_int_equal(run(), COUNT);
    assert_int_equal(summary.count[DIFF_MORE], COUNT);
}

/* Deep recursion with little in common stays within memory and time. */
static void test_deep(void **state)
{
    (void)state;
    char path[6000];
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < 40; i++) {
            char *to = path + sprintf(path, "main");
            for (int f = 0; f < 250; f++)
                to += sprintf(to, ">r%d_%d", (f * (i + 1)) % 17, side * (f % 2));
            strcpy(to, ">leaf");
            put((DiffSide)side, path, i);
        }
    assert_true(run() > 0);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_equal_runs_are_empty),
        CASE(test_added_call_is_named),
        CASE(test_more_fewer_new_gone_by_impact),
        CASE(test_same_functions_add_up),
        CASE(test_inserted_frame),
        CASE(test_two_frames_inserted_apart),
        CASE(test_inserted_frame_same_count_is_no_row),
        CASE(test_wrapper_at_the_leaf),
        CASE(test_renamed_lambda),
        CASE(test_lambda_numbers_shifted),
        CASE(test_ambiguous_is_told_and_nearest_value_wins),
        CASE(test_other_leaf_is_not_paired),
        CASE(test_shared_outer_frames_do_not_count),
        CASE(test_inline_decisions),
        CASE(test_modules),
        CASE(test_unknown_functions),
        CASE(test_worst_only),
        CASE(test_nothing_in_common),
        CASE(test_empty_sides),
        CASE(test_run_again_for_another_metric),
        CASE(test_many),
        CASE(test_deep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
