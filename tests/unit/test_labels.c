// SPDX-License-Identifier: Apache-2.0
/*
 * Purpose: labels and paths of a profile whose addresses are known: they are return addresses that
 * functions of this very program hand out. The file is made by protoc (profile_fixture.h).
 */
#include <errno.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "profile_fixture.h"
#include "symbol/labels.h"

/* ---- addresses ------------------------------------------------------------------------------ */

static __attribute__((noinline)) uint64_t here(void)
{
    __asm__ volatile(""); /* two calls are two calls */
    return (uintptr_t)__builtin_return_address(0);
}

static inline __attribute__((always_inline)) uint64_t inlined_one(void)
{
    return here() + 0 * (uintptr_t)environ;
}

__attribute__((noinline)) static uint64_t alpha(uint64_t *other_line)
{
    uint64_t first = here();
    *other_line = here();
    return first;
}

__attribute__((noinline)) static uint64_t beta(void)
{
    return inlined_one() + (environ == NULL);
}

static int take_bias(struct dl_phdr_info *info, size_t size, void *bias)
{
    (void)size;
    *(uint64_t *)bias = info->dlpi_addr;
    return 1;
}

static uint64_t bias, alpha_1, alpha_2, beta_1;
static char self[512];

static int setup(void **state)
{
    (void)state;
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    dl_iterate_phdr(take_bias, &bias);
    alpha_1 = alpha(&alpha_2);
    beta_1 = beta();
    return n > 0 ? 0 : -1;
}

/* ---- the profile ---------------------------------------------------------------------------- */

#define STACK(id, frames)                                                                          \
    "stacktraces { traceId: " #id " ptrId: [" frames "] }\n"                                       \
    "changed { traceId: " #id " actual { size: 10 active: 1 totalCount: 1 totalBytes: 10 } }\n"

static const char process[] =
    "=== ProcessInfo\nprocessShortName: \"x\" pid: 1 startTimestamp: 1000 formatVersion: 1\n";

/* Modules: 1 this program, 2 a file that is not there, 3 this program again elsewhere. */
static char *describe(void)
{
    char *text = NULL;
    uint64_t again = 0x7000000000 - bias;
    int n = asprintf(&text,
                     "%s=== Snapshot\ntimestamp: 2000\n"
                     "loadedSo { filename: \"%s\" addr: %lu moduleId: 1 }\n"
                     "loadedSo { filename: \"/opt/gone/libgone.so\" addr: 4096 moduleId: 2 }\n"
                     "loadedSo { filename: \"%s\" addr: %lu moduleId: 3 }\n"
                     "ptrIds { ptrId: 1 ptrAddr: %lu moduleId: 1 }\n"
                     "ptrIds { ptrId: 2 ptrAddr: %lu moduleId: 1 }\n"
                     "ptrIds { ptrId: 3 ptrAddr: %lu moduleId: 1 }\n"
                     "ptrIds { ptrId: 4 ptrAddr: %u moduleId: 2 }\n"
                     "ptrIds { ptrId: 5 ptrAddr: %u moduleId: 2 exact: true }\n"
                     "ptrIds { ptrId: 6 ptrAddr: %lu moduleId: 3 }\n"
                     "ptrIds { ptrId: 7 ptrAddr: 9 }\n" STACK(10, "1, 3") STACK(11, "2, 3")
                         STACK(12, "3, 1, 3, 1") STACK(13, "4, 5") STACK(14, "6, 7"),
                     process, self, bias, self, bias + again, alpha_1, alpha_2, beta_1,
                     4096 + 0x235, 4096 + 0x234, alpha_1 + again);
    assert_true(n > 0);
    return text;
}

static Symbolizer *open_symbolizer(void)
{
    SymbolOptions options = {.no_disk_cache = true};
    Symbolizer *s = NULL;
    assert_int_equal(symbol_open(&options, &s), 0);
    return s;
}

static const Label *leaf_of(const Labels *labels, uint32_t stack, size_t at)
{
    const uint32_t *path;
    size_t count = labels_path(labels, stack, &path);
    assert_true(at < count);
    return labels_get(labels, path[at]);
}

typedef struct Setting {
    Profile *profile;
    Symbolizer *symbolizer;
    Labels *labels;
} Setting;

static Setting setting_new(Granularity granularity)
{
    char *text = describe();
    Setting s = {.profile = fixture_open("memhawk", text), .symbolizer = open_symbolizer()};
    free(text);
    assert_int_equal(labels_new(s.profile, s.symbolizer, granularity, &s.labels), 0);
    return s;
}

static void setting_done(Setting *s)
{
    labels_free(s->labels);
    symbol_close(s->symbolizer);
    profile_close(s->profile);
}

/* ---- tests ---------------------------------------------------------------------------------- */

static void test_function_labels(void **state)
{
    (void)state;
    Setting s = setting_new(GRANULARITY_FUNCTION);
    const uint32_t *one, *two, *path;
    assert_int_equal(profile_stack_count(s.profile), 5);
    assert_int_equal(labels_path(s.labels, 0, &one), 3); /* alpha, inlined_one, beta */
    assert_int_equal(labels_path(s.labels, 1, &two), 3);
    assert_memory_equal(one, two, 3 * sizeof(*one)); /* two lines of alpha are one label */

    const Label *label = leaf_of(s.labels, 0, 0);
    assert_string_equal(label->function, "alpha");
    assert_string_equal(label->raw, "alpha");
    assert_string_equal(label->module, self);
    assert_non_null(strstr(label->file, "test_labels.c"));
    assert_int_equal(label->line, 0);
    assert_int_equal(label->module_index, 0);
    assert_int_equal(label->offset, alpha_1 - bias - 1);
    assert_true(label->known && !label->inlined);
    label = leaf_of(s.labels, 0, 1);
    assert_string_equal(label->function, "inlined_one");
    assert_true(label->known && label->inlined);
    assert_string_equal(leaf_of(s.labels, 0, 2)->function, "beta");

    assert_int_equal(labels_path(s.labels, 2, &path), 6); /* recursion stays */
    assert_int_equal(path[0], path[3]);
    /* The same library, loaded again elsewhere, is the same label. */
    assert_ptr_equal(leaf_of(s.labels, 4, 0), leaf_of(s.labels, 0, 0));
    setting_done(&s);
}

static void test_unknown_labels(void **state)
{
    (void)state;
    Setting s = setting_new(GRANULARITY_FUNCTION);
    const Label *label = leaf_of(s.labels, 3, 0); /* return address 0x235 */
    assert_string_equal(label->function, "0x234 (in libgone.so)");
    assert_string_equal(label->module, "/opt/gone/libgone.so");
    assert_int_equal(label->offset, 0x234);
    assert_int_equal(label->module_index, 1);
    assert_false(label->known);
    assert_null(label->raw);
    assert_null(label->file);
    assert_ptr_equal(leaf_of(s.labels, 3, 1), label); /* exact address 0x234 */
    label = leaf_of(s.labels, 4, 1);
    assert_string_equal(label->function, "0x8 (in [unknown])");
    assert_string_equal(label->module, "[unknown]");
    assert_int_equal(label->module_index, ID_NONE);
    assert_null(labels_get(s.labels, (uint32_t)labels_count(s.labels)));
    assert_int_equal(labels_count(s.labels), 5);
    setting_done(&s);
}

static void test_line_labels(void **state)
{
    (void)state;
    Setting s = setting_new(GRANULARITY_LINE);
    const Label *one = leaf_of(s.labels, 0, 0), *two = leaf_of(s.labels, 1, 0);
    assert_ptr_not_equal(one, two);
    assert_string_equal(one->function, "alpha");
    assert_string_equal(two->function, "alpha");
    assert_int_equal(two->line, one->line + 1);
    assert_true(one->line > 0);
    assert_ptr_equal(leaf_of(s.labels, 4, 0), one);
    assert_int_equal(labels_count(s.labels), 6);
    setting_done(&s);
}

static void test_groups(void **state)
{
    (void)state;
    Setting s = setting_new(GRANULARITY_FUNCTION);
    const uint32_t *path;
    uint32_t groups[5];
    labels_path(s.labels, 0, &path);
    uint32_t alpha_label = path[0], beta_label = path[2], inlined_label = path[1];
    static const uint32_t alpha_self[] = {1, 1, 0, 0, 1}, alpha_tree[] = {1, 1, 1, 0, 1};
    static const uint32_t beta_self[] = {0, 0, 0, 0, 0}, beta_tree[] = {1, 1, 1, 0, 0};
    static const uint32_t inlined_self[] = {0, 0, 1, 0, 0};
    labels_group_self(s.labels, alpha_label, groups);
    assert_memory_equal(groups, alpha_self, sizeof(groups));
    labels_group_subtree(s.labels, alpha_label, groups);
    assert_memory_equal(groups, alpha_tree, sizeof(groups));
    labels_group_self(s.labels, beta_label, groups);
    assert_memory_equal(groups, beta_self, sizeof(groups));
    labels_group_subtree(s.labels, beta_label, groups);
    assert_memory_equal(groups, beta_tree, sizeof(groups));
    labels_group_self(s.labels, inlined_label, groups);
    assert_memory_equal(groups, inlined_self, sizeof(groups));
    /* As the model uses them. */
    SeriesPoint points[4];
    labels_group_subtree(s.labels, beta_label, groups);
    int count =
        profile_series(s.profile, METRIC_LIVE_BYTES, groups, 1, TIME_FIRST, TIME_LAST, points, 4);
    assert_true(count >= 1 && count <= 4);
    assert_int_equal(points[count - 1].value, 30);
    setting_done(&s);
}

/* ---- growing -------------------------------------------------------------------------------- */

static void append_file(const char *to, const char *from)
{
    char command[1200];
    snprintf(command, sizeof(command), "cat '%s' >> '%s'", from, to);
    assert_int_equal(system(command), 0);
}

static void test_growing_profile_keeps_ids(void **state)
{
    (void)state;
    char path[64], more[64], *text = describe(), *next = NULL;
    fixture_make("memhawk", text, path);
    assert_true(asprintf(&next,
                         "=== Snapshot\ntimestamp: 3000\n"
                         "loadedSo { filename: \"/opt/late.so\" addr: 0 moduleId: 9 }\n"
                         "ptrIds { ptrId: 20 ptrAddr: 17 moduleId: 9 }\n" STACK(30, "1, 20")) > 0);
    fixture_make("memhawk", next, more);

    Profile *profile = NULL;
    ProfileError error;
    Symbolizer *symbolizer = open_symbolizer();
    Labels *labels = NULL;
    assert_int_equal(profile_open(path, &profile, &error), 0);
    assert_int_equal(labels_new(profile, symbolizer, GRANULARITY_FUNCTION, &labels), 0);
    const Label *before[16];
    size_t count = labels_count(labels);
    assert_int_equal(count, 5);
    for (uint32_t i = 0; i < count; i++)
        before[i] = labels_get(labels, i);
    const uint32_t *old_path, *new_path;
    labels_path(labels, 0, &old_path);
    uint32_t alpha_label = old_path[0];

    assert_int_equal(labels_update(labels), 0);
    assert_int_equal(labels_count(labels), count);
    append_file(path, more);
    assert_int_equal(profile_advance(profile, &error), 1);
    assert_int_equal(labels_path(labels, 5, &new_path), 0); /* not yet */
    assert_int_equal(labels_update(labels), 0);
    assert_int_equal(labels_count(labels), count + 1);
    for (uint32_t i = 0; i < count; i++)
        assert_ptr_equal(labels_get(labels, i), before[i]);
    assert_int_equal(labels_path(labels, 5, &new_path), 2);
    assert_int_equal(new_path[0], alpha_label);
    assert_string_equal(labels_get(labels, new_path[1])->function, "0x10 (in late.so)");

    labels_free(labels);
    symbol_close(symbolizer);
    profile_close(profile);
    unlink(path);
    unlink(more);
    free(text);
    free(next);
}

/* ---- names that come later ------------------------------------------------------------------- */

static void test_names_later(void **state)
{
    (void)state;
    char *text = describe();
    Setting s = {.profile = fixture_open("memhawk", text), .symbolizer = open_symbolizer()};
    Symbolizer *worker = open_symbolizer();
    free(text);
    assert_int_equal(labels_new_deferred(s.profile, s.symbolizer, GRANULARITY_FUNCTION, &s.labels),
                     0);
    assert_false(leaf_of(s.labels, 0, 0)->known);
    const Label *address = leaf_of(s.labels, 0, 0);
    size_t addresses = labels_count(s.labels);
    uint64_t generation = labels_generation(s.labels);

    /* frame by frame, as the worker of the page does; the first two stacks share beta */
    for (uint32_t i = 0; i < profile_frame_count(s.profile); i++) {
        SymbolModuleInfo info;
        uint64_t file_pc = 0;
        const SymbolFrame *found, *own;
        bool inside = symbol_frame_info(s.profile, i, &info, &file_pc);
        int n = symbol_resolve_address(worker, inside ? &info : NULL, file_pc, &found);
        assert_true(n > 0);
        assert_int_equal(
            symbol_adopt(s.symbolizer, inside ? &info : NULL, file_pc, found, (size_t)n), 0);
        assert_int_equal(symbol_resolve(s.symbolizer, s.profile, i, &own), n);
        assert_true(!found->function || own->function != found->function); /* copies */
        assert_int_equal(labels_put(s.labels, i, own, (size_t)n), 0);
    }
    symbol_close(worker);
    assert_false(leaf_of(s.labels, 0, 0)->known); /* until the update */
    assert_int_equal(labels_update(s.labels), 0);
    assert_true(labels_generation(s.labels) > generation);

    /* the same paths as when names are looked up at once */
    Setting direct = setting_new(GRANULARITY_FUNCTION);
    for (uint32_t i = 0; i < profile_stack_count(s.profile); i++) {
        const uint32_t *a, *b;
        size_t depth = labels_path(s.labels, i, &a);
        assert_int_equal(labels_path(direct.labels, i, &b), depth);
        for (size_t k = 0; k < depth; k++) {
            const Label *x = labels_get(s.labels, a[k]), *y = labels_get(direct.labels, b[k]);
            assert_string_equal(x->function, y->function);
            assert_string_equal(x->module, y->module);
            assert_int_equal(x->inlined, y->inlined);
            assert_int_equal(x->known, y->known);
            assert_int_equal(x->offset, y->offset);
        }
    }
    setting_done(&direct);
    /* old labels are still there; what has no name keeps the label of its address */
    assert_string_equal(address->module, self);
    assert_false(address->known);
    assert_int_equal(labels_count(s.labels), addresses + 3); /* alpha, inlined_one, beta */
    generation = labels_generation(s.labels);
    assert_int_equal(labels_update(s.labels), 0);
    assert_int_equal(labels_generation(s.labels), generation);
    assert_int_equal(labels_put(s.labels, 1000, NULL, 1), -EINVAL);
    setting_done(&s);
}

/* ---- size ----------------------------------------------------------------------------------- */

static void test_100000_stacks(void **state)
{
    (void)state;
    enum { STACKS = 100000, FRAMES = 3000, DEPTH = 20 };
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    fprintf(out, "%s=== Snapshot\ntimestamp: 2000\n", process);
    fprintf(out, "loadedSo { filename: \"/opt/big.so\" addr: 0 moduleId: 1 }\n");
    for (int i = 1; i <= FRAMES; i++)
        fprintf(out, "ptrIds { ptrId: %d ptrAddr: %d moduleId: 1 }\n", i, 16 * i);
    for (int i = 1; i <= STACKS; i++) {
        fprintf(out, "stacktraces { traceId: %d ptrId: [1", i);
        for (int k = 1; k < DEPTH; k++)
            fprintf(out, ", %d", 1 + (i * 7 + k * 131) % FRAMES);
        fprintf(out, "] }\n");
    }
    fclose(out);
    Profile *profile = fixture_open("memhawk", text);
    free(text);
    Symbolizer *symbolizer = open_symbolizer();
    Labels *labels = NULL;
    uint64_t begin = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    assert_int_equal(labels_new(profile, symbolizer, GRANULARITY_FUNCTION, &labels), 0);
    uint64_t spent = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin;
    print_message("100,000 stacks of 20 frames: %lu ms\n", (unsigned long)(spent / 1000000));
    assert_true(spent < UINT64_C(2000000000)); /* some ten ms; quadratic would be minutes */
    assert_int_equal(labels_count(labels), FRAMES);
    const uint32_t *path;
    assert_int_equal(labels_path(labels, STACKS - 1, &path), DEPTH);
    assert_string_equal(labels_get(labels, path[0])->function, "0xf (in big.so)");
    labels_free(labels);
    symbol_close(symbolizer);
    profile_close(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_function_labels),
        cmocka_unit_test(test_unknown_labels),
        cmocka_unit_test(test_line_labels),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_growing_profile_keeps_ids),
        cmocka_unit_test(test_names_later),
        cmocka_unit_test(test_100000_stacks),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
