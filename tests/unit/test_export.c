// SPDX-License-Identifier: Apache-2.0
/*
 * Figures, names, trees, views and the machine-readable exporters against values computed by hand
 * from the table in export_fake.c. What real readers make of the output: tests/e2e/test_export_*.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/bits.h"
#include "export/alloc_site.h"
#include "export/call_tree.h"
#include "export/heaptrack_plan.h"
#include "export/names.h"
#include "export/numbers.h"
#include "export_fake.h"

static void test_numbers(void **state)
{
    static const struct {
        int64_t value;
        const char *bytes, *count;
    } rows[] = {
        {0, "0 B", "0"},
        {1023, "1023 B", "1,023"},
        {1024, "1.0 KiB", "1,024"},
        {-1536, "-1.5 KiB", "-1,536"},
        {1048524, "1023.9 KiB", "1,048,524"}, /* 1023.949 KiB */
        {1048575, "1.0 MiB", "1,048,575"},    /* not 1024.0 KiB */
        {12897485, "12.3 MiB", "12,897,485"},
        {INT64_MAX, "8.0 EiB", "9,223,372,036,854,775,807"},
        {INT64_MIN, "-8.0 EiB", "-9,223,372,036,854,775,808"},
    };
    char b[NUMBER_BYTES];
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        assert_string_equal(number_bytes(b, rows[i].value), rows[i].bytes);
        assert_string_equal(number_count(b, rows[i].value), rows[i].count);
    }
    assert_string_equal(number_count_short(b, 9999999, 9), "9,999,999");
    assert_string_equal(number_count_short(b, 123456789, 9), "123.5 M");
    assert_string_equal(number_percent(b, 1, 3), "33.3 %");
    assert_string_equal(number_percent(b, 1, 0), "-");
    assert_string_equal(number_duration(b, 1500000), "1.50 ms");
    assert_string_equal(number_duration(b, UINT64_C(3210000000)), "3.21 s");
    assert_string_equal(number_duration(b, UINT64_C(59996000000)), "1 min 00 s");
    assert_string_equal(number_duration(b, UINT64_C(7510000000000)), "2 h 05 min 10 s");
}

typedef const char *(*AppendFn)(NameBuffer *buffer, const char *name);

static void check_name(AppendFn append, const char *name, const char *expected)
{
    NameBuffer buffer = {0};
    assert_string_equal(append(&buffer, name), expected);
    name_buffer_done(&buffer);
}

static void test_names_utf8(void **state)
{
    (void)state;
    check_name(name_append_utf8, "pl\xc3\xa4in \xf0\x9f\xa6\x85", "pl\xc3\xa4in \xf0\x9f\xa6\x85");
    check_name(name_append_utf8, NULL, "");
#define BAD "\xef\xbf\xbd"
    check_name(name_append_utf8,
               "a\xff\xfe"
               "b",
               "a" BAD BAD "b");
    check_name(name_append_utf8, "\xc0\xaf", BAD BAD);                 /* overlong '/' */
    check_name(name_append_utf8, "\xed\xa0\x80", BAD BAD BAD);         /* a surrogate */
    check_name(name_append_utf8, "\xf4\x90\x80\x80", BAD BAD BAD BAD); /* above U+10FFFF */
    check_name(name_append_utf8, "x\xe2\x80", "x" BAD BAD);            /* cut at the end */
}

static const char *append_terminal(NameBuffer *buffer, const char *name)
{
    return name_append_terminal(buffer, name, false);
}

static const char *append_terminal_ascii(NameBuffer *buffer, const char *name)
{
    return name_append_terminal(buffer, name, true);
}

static const char *shell_word(NameBuffer *buffer, const char *name)
{
    return name_append_shell(buffer, name, false);
}

static const char *shell_word_ascii(NameBuffer *buffer, const char *name)
{
    return name_append_shell(buffer, name, true);
}

/* Checked against bash's printf %s. */
static void test_names_shell(void **state)
{
    (void)state;
    check_name(shell_word, "/usr/bin/x-y_1.2+z,@%=:", "/usr/bin/x-y_1.2+z,@%=:");
    check_name(shell_word, "", "''");
    check_name(shell_word, "two words", "'two words'");
    check_name(shell_word, "$HOME [a] # ~ \\ \"", "'$HOME [a] # ~ \\ \"'");
    check_name(shell_word, "it's", "'it'\\''s'");
    check_name(shell_word, "''", "''\\'''\\'''");
    check_name(shell_word, "\xc3\xa4", "\xc3\xa4");
    check_name(shell_word, "a\nb'c\\d\x1b", "$'a\\x0Ab\\'c\\\\d\\x1B'");
    check_name(shell_word, "\xff", "$'\\xFF'");
    check_name(shell_word_ascii, "\xc3\xa4 b", "$'\\xC3\\xA4 b'");
}

static void test_names_escaped(void **state)
{
    (void)state;
    check_name(append_terminal, "\x1b[31mred\n\x7f", "\\x1B[31mred\\x0A\\x7F");
    check_name(append_terminal,
               "\xc2\x9b"
               "31m",
               "\\xC2\\x9B31m"); /* C1: CSI */
    check_name(append_terminal,
               "\xe2\x80\xae"
               "gnp.exe",
               "\\xE2\\x80\\xAEgnp.exe"); /* RLO */
    check_name(append_terminal, "\xff", "\\xFF");
    check_name(append_terminal, "\xc3\xa4", "\xc3\xa4");
    check_name(append_terminal_ascii, "\xc3\xa4", "\\xC3\\xA4");
    check_name(name_append_folded, "a;b c\td\n", "a:b_c_d_");
    check_name(name_append_folded, "", "[unknown]");
    check_name(name_append_html, "<a href=\"x\">'&", "&lt;a href=&quot;x&quot;&gt;&#39;&amp;");
    check_name(name_append_line,
               "a\nb\r\x1b"
               "c",
               "a b  c");
}

static void check_short(const char *name, unsigned columns, const char *expected)
{
    NameBuffer buffer = {0};
    assert_string_equal(name_shorten(&buffer, name, columns, false), expected);
    assert_true(name_columns(buffer.data) <= columns);
    name_buffer_done(&buffer);
}

static void test_names_short(void **state)
{
    (void)state;
    check_short("std::vector<int, std::allocator<int> >::push_back(int const&)", 80,
                "std::vector<int, std::allocator<int> >::push_back(int const&)");
    check_short("std::vector<int, std::allocator<int> >::push_back(int const&)", 50,
                "std::vector<...>::push_back(int const&)");
    check_short("std::vector<int, std::allocator<int> >::push_back(int const&)", 35,
                "std::vector<...>::push_back(...)");
    check_short("operator<< <char>(std::basic_ostream<char>&, int)", 40, "operator<< <...>(...)");
    check_short("<alloc::vec::Vec<T,A> as core::ops::drop::Drop>::drop", 45,
                "<alloc::vec::Vec<\xe2\x80\xa6ore::ops::drop::Drop>::drop");
    /* Head and tail around the ellipsis, never inside a character. */
    check_short("abcdefghijklmnopqrstuvwxyz", 11, "abcd\xe2\x80\xa6uvwxyz");
    check_short("\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4", 6,
                "\xc3\xa4\xc3\xa4\xe2\x80\xa6\xc3\xa4\xc3\xa4\xc3\xa4");
    check_short("anything", 0, "");
    check_short("anything", 1, "\xe2\x80\xa6");
}

static void test_alloc_site(void **state)
{
    (void)state;
    assert_true(alloc_site_is_plumbing("operator new(unsigned long)"));
    assert_true(alloc_site_is_plumbing("std::allocator_traits<std::allocator<int> >::allocate(x)"));
    assert_true(alloc_site_is_plumbing("alloc::alloc::Global::alloc_impl"));
    assert_true(alloc_site_is_plumbing("<alloc::alloc::Global>::alloc_impl_runtime")); /* 1.95 */
    assert_false(alloc_site_is_plumbing("<alloc::vec::Vec<u8>>::with_capacity_in"));
    assert_false(alloc_site_is_plumbing("std::vector<int>::push_back"));
    assert_false(alloc_site_is_plumbing("operator newish(int)"));
    const uint32_t only[] = {0};
    fake_small();
    const uint32_t *path;
    size_t depth = labels_path(fake_labels(), 0, &path); /* operator new, push_back, build, ... */
    assert_int_equal(depth, 5);
    assert_int_equal(alloc_site_skip(fake_labels(), path, depth), 1);
    assert_int_equal(alloc_site_skip(fake_labels(), path, 1), 0); /* something must be left */
    assert_int_equal(alloc_site_skip(fake_labels(), only, 0), 0);
}

static void test_tree(void **state)
{
    (void)state;
    static const uint32_t a[] = {3, 2, 1}, b[] = {4, 2, 1}, c[] = {2, 2, 2, 1}, d[] = {2, 1};
    static const Values va = {{5}}, vb = {{7}}, vc = {{11}}, vd = {{13}}, gone = {{100}};
    const TreeRow rows[] = {{a, 3, {&va, NULL}},
                            {b, 3, {&vb, &gone}},
                            {c, 4, {&vc, NULL}},
                            {d, 2, {&vd, NULL}},
                            {d, 2, {&vd, NULL}}};
    Tree t;
    assert_int_equal(tree_build(rows, 5, &(TreeOptions){0}, &t), 0);
    /* root, 1, 2, {2, 2}, 3, 4 in preorder by label */
    static const uint32_t labels[] = {ID_NONE, 1, 2, 2, 2, 3, 4}, levels[] = {0, 1, 2, 3, 4, 3, 3};
    static const uint32_t ends[] = {7, 7, 7, 5, 5, 6, 7};
    assert_int_equal(t.count, 7);
    for (size_t i = 0; i < 7; i++) {
        assert_int_equal(t.nodes[i].label, labels[i]);
        assert_int_equal(t.nodes[i].level, levels[i]);
        assert_int_equal(t.nodes[i].end, ends[i]);
    }
    assert_int_equal(t.nodes[2].values[0].v[0], 26); /* d twice */
    assert_int_equal(t.nodes[4].values[0].v[0], 11);
    tree_accumulate(&t);
    assert_int_equal(t.nodes[0].values[0].v[0], 49);
    assert_int_equal(t.nodes[0].values[1].v[0], 100);
    assert_int_equal(tree_child_count(&t, 2), 3);
    uint32_t children[3];
    tree_children(&t, 2, METRIC_LIVE_BYTES, children); /* 4: 107, 2: 11, 3: 5 */
    assert_int_equal(children[0], 6);
    assert_int_equal(children[1], 3);
    assert_int_equal(children[2], 5);
    tree_done(&t);

    assert_int_equal(tree_build(rows, 5, &(TreeOptions){.leaf_first = true, .collapse = true}, &t),
                     0);
    /* c becomes 2 (x3), 1 and falls together with d */
    assert_int_equal(t.count, 9);
    assert_int_equal(t.nodes[1].label, 2);
    assert_int_equal(t.nodes[1].repeat_min, 1);
    assert_int_equal(t.nodes[1].repeat_max, 3);
    assert_int_equal(t.nodes[2].values[0].v[0], 37);
    tree_done(&t);
    assert_int_equal(tree_build(NULL, 0, &(TreeOptions){0}, &t), 0);
    assert_int_equal(t.count, 1);
    tree_done(&t);
}

/* Cutting keeps sums and all that is large; what is small becomes one node. */
static void test_tree_cut(void **state)
{
    (void)state;
    static const uint32_t a[] = {4, 3, 2, 1}, b[] = {5, 3, 2, 1}, c[] = {7, 6, 1}, d[] = {6, 1};
    static const Values va = {{60}}, vb = {{30}}, vc = {{4}}, vd = {{5}};
    const TreeRow rows[] = {
        {a, 4, {&va, NULL}}, {b, 4, {&vb, NULL}}, {c, 3, {&vc, NULL}}, {d, 2, {&vd, NULL}}};
    Tree t;
    assert_int_equal(tree_build(rows, 4, &(TreeOptions){.cut_below = 10}, &t), 0);
    static const uint32_t labels[] = {ID_NONE, 1, 2, 3, 4, 5, 6}; /* 7 is gone into 6 */
    static const int64_t own[] = {0, 0, 0, 0, 60, 30, 9};
    assert_int_equal(t.count, 7);
    for (size_t i = 0; i < 7; i++) {
        assert_int_equal(t.nodes[i].label, labels[i]);
        assert_int_equal(t.nodes[i].values[0].v[0], own[i]);
    }
    tree_done(&t);
    assert_int_equal(tree_build(rows, 4, &(TreeOptions){.cut_below = 91}, &t), 0);
    assert_int_equal(t.count, 4); /* root, 1, 2 (90), 6 (9) */
    assert_int_equal(t.nodes[2].values[0].v[0], 90);
    assert_int_equal(t.nodes[3].values[0].v[0], 9);
    tree_done(&t);
    assert_int_equal(tree_build(rows, 4, &(TreeOptions){.cut_below = 1000}, &t), 0);
    assert_int_equal(t.count, 2);
    assert_int_equal(t.nodes[1].values[0].v[0], 99);
    tree_done(&t);
}

static void test_view(void **state)
{
    View view;
    (void)state;
    fake_small();
    fake_view((ViewOptions){.at_ns = VIEW_AT_PEAK}, &view);
    assert_true(view.at_peak);
    assert_int_equal(view.at_ns, FAKE_PEAK_NS);
    assert_int_equal(view.stack_count, 3); /* 3, 4 and 5 have nothing yet */
    assert_int_equal(view.stacks[0].stack, 0);
    assert_int_equal(view.stacks[2].stack, 2);
    assert_int_equal(view.total.v[METRIC_LIVE_BYTES], 1500);
    assert_int_equal(view.width, 80);
    view_done(&view);

    fake_view((ViewOptions){.at_ns = TIME_LAST, .metric = METRIC_TEMPORARY}, &view);
    assert_int_equal(view.stack_count, 5); /* stack 2 is not live, but was allocated */
    assert_int_equal(view.stacks[1].stack, 2);
    assert_int_equal(view.total.v[METRIC_TOTAL_BYTES], 6324);
    assert_int_equal(view.total.v[METRIC_TEMPORARY], 27);
    view_done(&view);

    fake_view((ViewOptions){.interval = true, .from_ns = FAKE_PEAK_NS, .to_ns = TIME_LAST}, &view);
    assert_int_equal(view.total.v[METRIC_LIVE_BYTES], 124);
    assert_int_equal(view.total_removed.v[METRIC_LIVE_BYTES], 600);
    assert_int_equal(view.total.v[METRIC_TOTAL_COUNT], 38);
    assert_int_equal(view.stacks[0].stack, 0); /* 400 removed are the largest change */
    view_done(&view);
}

static void test_view_filter(void **state)
{
    View view;
    char message[128];
    (void)state;
    fake_small();
    fake_view((ViewOptions){.at_ns = TIME_LAST, .filter = "^(recurse|build)\\("}, &view);
    assert_int_equal(view.stack_count, 2);
    assert_int_equal(view.total.v[METRIC_LIVE_BYTES], 900);
    view_done(&view);
    fake_view((ViewOptions){.at_ns = TIME_LAST, .filter = "RECURSE"}, &view); /* case counts */
    assert_int_equal(view.stack_count, 0);
    view_done(&view);
    fake_view((ViewOptions){.at_ns = TIME_LAST, .filter = "libc\\.so"}, &view); /* a module */
    assert_int_equal(view.stack_count, 4);
    view_done(&view);
    const ViewOptions bad = {.at_ns = TIME_LAST, .filter = "a("};
    assert_int_equal(view_build(fake_profile(), fake_labels(), &bad, &view), -EINVAL);
    view_filter_error("a(", message, sizeof(message));
    assert_non_null(strstr(message, "("));
    view_filter_error("a", message, sizeof(message));
    assert_string_equal(message, "");
}

/* Many labels: the expression is compiled anew on the way, and its time is limited. */
static void test_filter_of_many_labels(void **state)
{
    bool *matches = NULL;
    size_t hits = 0;
    (void)state;
    fake_large(10, 2);
    size_t count = labels_count(fake_labels());
    assert_in_range(count, 990, 1010);
    assert_int_equal(view_filter_labels(fake_labels(), "Function[0-9]*7<.*::call", 0, &matches), 0);
    for (size_t i = 0; i < count; i++)
        hits += matches[i];
    assert_int_equal(hits, 100);
    free(matches);
    matches = NULL;
    assert_int_equal(view_filter_labels(fake_labels(), ".*a.{50}#", 1, &matches), -ETIME);
    assert_null(matches);
    View view;
    const ViewOptions slow = {.at_ns = TIME_LAST, .filter = "a", .filter_limit_ns = 1};
    assert_int_equal(view_build(fake_profile(), fake_labels(), &slow, &view), -ETIME);
}

/* Output of an exporter; free(). */
static char *exported(const Exporter *exporter, ViewOptions options)
{
    View view;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    fake_view(options, &view);
    assert_int_equal(exporter->write(&view, out), 0);
    assert_int_equal(fclose(out), 0);
    view_done(&view);
    return text;
}

#define EVIL_FOLDED "evil:na_me</script><!--_[31m\xef\xbf\xbd_\"&'"

static void test_folded(void **state)
{
    (void)state;
    fake_small();
    char *text =
        exported(&export_folded, (ViewOptions){.at_ns = TIME_LAST, .metric = METRIC_TOTAL_COUNT});
    static const char *const lines[] = {
        "__libc_start_main;main;build(int);std::vector<int,_std::allocator<int>_>::push_back(int_"
        "const&);"
        "operator_new(unsigned_long) 50\n",
        "__libc_start_main;main;recurse(int);recurse(int);recurse(int) 3\n",
        "[cut_at_the_depth_limit];__libc_start_main;main;" EVIL_FOLDED " 9\n",
        "[stack_ends_early];0x1000_(in_[unknown]);0x1234_(in_libc.so.6) 1\n",
        "[stack_not_recorded] 2\n",
    };
    size_t length = 0;
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
        assert_non_null(strstr(text, lines[i]));
        length += strlen(lines[i]);
    }
    assert_int_equal(strlen(text), length); /* and nothing else */
    free(text);
    text = exported(&export_folded,
                    (ViewOptions){.at_ns = TIME_LAST, .metric = METRIC_TOTAL_COUNT, .top = 1});
    assert_string_equal(text, lines[0]);
    free(text);
    text = exported(&export_folded,
                    (ViewOptions){.at_ns = TIME_LAST, .collapse = true, .inverted = true});
    assert_non_null(strstr(text, "recurse(int)_(x3);main;__libc_start_main 300\n"));
    free(text);
    text = exported(&export_folded,
                    (ViewOptions){.interval = true, .from_ns = FAKE_PEAK_NS, .to_ns = TIME_LAST});
    assert_non_null(strstr(text, "operator_new(unsigned_long) 400 0\n")); /* removed, added */
    assert_non_null(strstr(text, "[stack_not_recorded] 0 24\n"));
    free(text);
}

static int64_t integer_of(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static const char *string_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static json_t *parsed(char *text)
{
    json_error_t error;
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    if (!root)
        fail_msg("line %d: %s", error.line, error.text);
    free(text);
    return root;
}

static void check_frame(const json_t *frame, const char *function, const char *file, int line,
                        const char *offset, bool inlined)
{
    assert_string_equal(string_of(frame, "function"), function);
    if (file)
        assert_string_equal(string_of(frame, "file"), file);
    else
        assert_true(json_is_null(json_object_get(frame, "file")));
    assert_int_equal(integer_of(frame, "line"), line);
    assert_string_equal(string_of(frame, "offset"), offset);
    assert_int_equal(json_is_true(json_object_get(frame, "inlined")), inlined);
}

static void test_json(void **state)
{
    (void)state;
    fake_small();
    json_t *root = parsed(exported(&export_json, (ViewOptions){.at_ns = TIME_LAST}));
    assert_int_equal(integer_of(root, "version"), 1);
    assert_int_equal(integer_of(json_object_get(root, "totals"), "total_bytes"), 6324);
    assert_int_equal(integer_of(json_object_get(root, "peak"), "bytes"), 1500);
    assert_int_equal(integer_of(json_object_get(root, "losses"), "missed_frees"), 1234);
    assert_string_equal(string_of(json_object_get(root, "end"), "reason"), "exit");
    const json_t *module = json_array_get(json_object_get(root, "modules"), 0);
    assert_string_equal(string_of(module, "build_id"), "deadbeef01");
    const json_t *stacks = json_object_get(root, "stacks"), *stack;
    assert_int_equal(json_array_size(stacks), 5);
    Values sum = {0};
    static const char *const keys[] = {"live_bytes",  "live_count", "total_bytes",
                                       "total_count", "temporary",  "overhead"};
    size_t i;
    json_array_foreach(stacks, i, stack)
    {
        for (size_t m = 0; m < METRIC_MAX; m++)
            sum.v[m] += integer_of(stack, keys[m]);
    }
    for (size_t m = 0; m < METRIC_MAX; m++) {
        assert_int_equal(sum.v[m], integer_of(json_object_get(root, "totals"), keys[m]));
        assert_int_equal(sum.v[m], integer_of(json_object_get(root, "sum"), keys[m]));
    }
    stack = json_array_get(stacks, 0);
    assert_int_equal(integer_of(stack, "id"), 10);
    assert_int_equal(integer_of(stack, "live_bytes"), 600);
    assert_int_equal(integer_of(stack, "site"), 1); /* behind operator new */
    const json_t *frames = json_object_get(stack, "frames");
    assert_int_equal(json_array_size(frames), 5);
    check_frame(json_array_get(frames, 0), "operator new(unsigned long)", NULL, 0, "0x1060", false);
    check_frame(json_array_get(frames, 1),
                "std::vector<int, std::allocator<int> >::push_back(int const&)",
                "/usr/include/vector", 120, "0x1010", true);
    check_frame(json_array_get(frames, 2), "build(int)", "/src/app.cpp", 10, "0x1010", false);
    assert_string_equal(string_of(json_array_get(frames, 2), "raw"), "_Z5buildi");
    assert_string_equal(string_of(json_array_get(frames, 2), "build_id"), "deadbeef01");
    assert_string_equal(string_of(json_array_get(frames, 4), "module"), "/lib/libc.so.6");
    /* No symbol: null, and address or offset say where. */
    frames = json_object_get(json_array_get(stacks, 2), "frames");
    assert_true(json_is_null(json_object_get(json_array_get(frames, 0), "function")));
    assert_string_equal(string_of(json_array_get(frames, 0), "offset"), "0x1234");
    assert_string_equal(string_of(json_array_get(frames, 1), "module"), "[unknown]");
    json_decref(root);
}

static void test_json_interval(void **state)
{
    (void)state;
    fake_small();
    json_t *root = parsed(
        exported(&export_json,
                 (ViewOptions){.interval = true, .from_ns = FAKE_PEAK_NS, .to_ns = TIME_LAST}));
    const json_t *stack = json_array_get(json_object_get(root, "stacks"), 0);
    assert_int_equal(integer_of(json_object_get(stack, "removed"), "live_bytes"), 400);
    assert_int_equal(integer_of(json_object_get(stack, "added"), "total_bytes"), 3000);
    assert_int_equal(
        integer_of(json_object_get(json_object_get(root, "sum"), "removed"), "live_bytes"), 600);
    assert_string_equal(string_of(json_object_get(root, "view"), "kind"), "interval");
    json_decref(root);
}

/* What stands for a moment is named; --top cuts the list, not the sum. */
static void test_json_snapshot(void **state)
{
    (void)state;
    fake_small();
    json_t *root =
        parsed(exported(&export_json, (ViewOptions){.at_ns = FAKE_PEAK_NS + 1000000000, .top = 2}));
    const json_t *view = json_object_get(root, "view");
    assert_int_equal(integer_of(view, "snapshot_ns"), FAKE_PEAK_NS);
    assert_float_equal(json_real_value(json_object_get(view, "snapshot_s")), 2.0, 1e-9);
    assert_float_equal(json_real_value(json_object_get(view, "time_s")), 3.0, 1e-9);
    assert_int_equal(integer_of(view, "top"), 2);
    assert_int_equal(json_array_size(json_object_get(root, "stacks")), 2);
    assert_int_equal(integer_of(json_object_get(root, "sum"), "live_bytes"), 1500);
    json_decref(root);
    root = parsed(exported(
        &export_json,
        (ViewOptions){.interval = true, .from_ns = FAKE_START_NS + 1, .to_ns = TIME_LAST}));
    view = json_object_get(root, "view");
    assert_true(json_is_null(json_object_get(view, "from_snapshot_ns")));
    assert_true(json_is_null(json_object_get(view, "from_snapshot_s")));
    assert_int_equal(integer_of(view, "snapshot_ns"), FAKE_LAST_NS);
    assert_true(json_is_null(json_object_get(view, "top")));
    json_decref(root);
}

static void test_speedscope(void **state)
{
    (void)state;
    fake_small();
    json_t *root = parsed(
        exported(&export_speedscope, (ViewOptions){.at_ns = TIME_LAST, .metric = METRIC_OVERHEAD}));
    const json_t *profiles = json_object_get(root, "profiles"), *profile;
    static const int64_t sums[METRIC_MAX] = {1024, 12, 6324, 65, 27, 84};
    size_t i, j;
    assert_int_equal(json_array_size(profiles), METRIC_MAX);
    assert_int_equal(integer_of(root, "activeProfileIndex"), METRIC_OVERHEAD);
    json_array_foreach(profiles, i, profile)
    {
        const json_t *weights = json_object_get(profile, "weights"), *weight;
        int64_t sum = 0;
        json_array_foreach(weights, j, weight)
        {
            sum += json_integer_value(weight);
        }
        assert_int_equal(sum, sums[i]);
        assert_int_equal(integer_of(profile, "endValue"), sums[i]);
        assert_string_equal(string_of(profile, "unit"),
                            i % 2 || i == 4 ? i == 5 ? "bytes" : "none" : "bytes");
    }
    json_decref(root);
}

static void check_plan(StackSums sums, StackPlan expected)
{
    StackPlan plan = heaptrack_plan(&sums);
    assert_memory_equal(&plan, &expected, sizeof(plan));
}

static void test_heaptrack_plan(void **state)
{
    (void)state;
    /* total blocks, bytes, temporary, peak, end -> temporary, released, kept, peak only, later */
    check_plan((StackSums){50, 5000, 20, {10, 1000}, {6, 600}},
               (StackPlan){{20, 2000}, {20, 2000}, {6, 600}, {4, 400}, {0, 0}});
    check_plan((StackSums){3, 300, 0, {3, 300}, {3, 300}},
               (StackPlan){{0, 0}, {0, 0}, {3, 300}, {0, 0}, {0, 0}});
    /* Two live at both moments, but larger ones: one at least was exchanged. */
    check_plan((StackSums){3, 400, 0, {2, 200}, {2, 300}},
               (StackPlan){{0, 0}, {0, 0}, {1, 200}, {1, 0}, {1, 100}});
    check_plan((StackSums){2, 150, 0, {1, 50}, {1, 100}},
               (StackPlan){{0, 0}, {0, 0}, {0, 0}, {1, 50}, {1, 100}});
    check_plan((StackSums){2, 150, 0, {1, 100}, {1, 50}},
               (StackPlan){{0, 0}, {0, 0}, {0, 0}, {1, 100}, {1, 50}});
    /* Contradicting sums are clamped. */
    check_plan((StackSums){1, 10, 5, {2, 20}, {0, 0}},
               (StackPlan){{0, 0}, {0, 0}, {0, 0}, {2, 20}, {0, 0}});
    assert_int_equal(heaptrack_scaled(0, 10), 0);
    assert_int_equal(heaptrack_scaled(3, 10), 1);
    assert_int_equal(heaptrack_scaled(25, 10), 3);
}

static void test_find(void **state)
{
    static const char *const names[] = {"text",  "json",       "folded",   "html",
                                        "pprof", "speedscope", "heaptrack"};
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        assert_string_equal(export_find(names[i])->name, names[i]);
    assert_null(export_find("xml"));
    assert_true(export_find("pprof")->binary);
}

/* A full disk is an error, not a short file. */
static void test_full_disk(void **state)
{
    (void)state;
    fake_small();
    for (const Exporter *const *e = export_all; *e; e++) {
        View view;
        FILE *out = fopen("/dev/full", "w");
        assert_non_null(out);
        setvbuf(out, NULL, _IONBF, 0);
        fake_view((ViewOptions){.at_ns = TIME_LAST}, &view);
        assert_int_equal((*e)->write(&view, out), -EIO);
        view_done(&view);
        fclose(out);
    }
}

static int done(void **state)
{
    (void)state;
    fake_done();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),        cmocka_unit_test(test_names_utf8),
        cmocka_unit_test(test_names_escaped),  cmocka_unit_test(test_names_shell),
        cmocka_unit_test(test_json_snapshot),  cmocka_unit_test(test_names_short),
        cmocka_unit_test(test_alloc_site),     cmocka_unit_test(test_tree),
        cmocka_unit_test(test_tree_cut),       cmocka_unit_test(test_view),
        cmocka_unit_test(test_view_filter),    cmocka_unit_test(test_filter_of_many_labels),
        cmocka_unit_test(test_folded),         cmocka_unit_test(test_json),
        cmocka_unit_test(test_json_interval),  cmocka_unit_test(test_speedscope),
        cmocka_unit_test(test_heaptrack_plan), cmocka_unit_test(test_find),
        cmocka_unit_test(test_full_disk),
    };
    return cmocka_run_group_tests(tests, NULL, done);
}
