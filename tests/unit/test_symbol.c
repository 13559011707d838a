// SPDX-License-Identifier: Apache-2.0
/*
 * Purpose: names, inline frames and lines from every shape of debug info, against two truths that
 * share no code with us: what the program prints about its own calls (MARK() in
 * tests/programs/symbol/shapes.h), and binutils' addr2line and nm, for every byte of its code.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "symbol_shapes.h"

#define MARKS_MAX 64

static const char *base_name(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path;
}

/* "f(int)" is right for "f(int)" and for "f", the latter where parameters are not known. */
static bool same_function(const char *got, const char *want)
{
    size_t length = strlen(want);
    if (strncmp(got, want, length) == 0)
        return got[length] == '\0' || (!strchr(want, '(') && got[length] == '(') ||
               (strstr(want, "(anonymous namespace)") && got[length] == '(');
    /* Lambdas: clang counts them in another way; gcc's DWARF has no name. */
    return strstr(want, "{lambda") && (strstr(got, "cxx_side::$_0::operator()(int) const") ||
                                       strcmp(got, "cxx_side::(anonymous class)::operator()") == 0);
}

static void check_mark(Symbolizer *s, const char *shape, const Mark *mark)
{
    const SymbolFrame *frames;
    int count = shapes_resolve(s, shapes_path(shape, "prog"), false, mark->pc, &frames);
    assert_true(count >= 1);
    if (!frames[0].function || !frames[0].file || frames[0].line != mark->line ||
        strcmp(base_name(frames[0].file), base_name(mark->file)) != 0 ||
        !same_function(frames[0].function, mark->function))
        fail_msg("%s %#lx: %s at %s:%u, not %s at %s:%u", shape, mark->pc, frames[0].function,
                 frames[0].file, frames[0].line, mark->function, mark->file, mark->line);
    for (int i = 0; i < count; i++)
        assert_int_equal(frames[i].inlined, i + 1 < count);
}

static const char *const shapes_with_lines[] = {
    "dwarf4",    "dwarf5",        "dwarf5-no-pie", "dwarf5-o0", "compressed", "compressed-gnu",
    "lto",       "clang5",        "no-build-id",   "sections",  "split4",     "split5",
    "debuglink", "debuglink-dir", "debuglink-crc", "dwz",
};

static void test_marks_in_every_shape(void **state)
{
    (void)state;
    size_t shapes = sizeof(shapes_with_lines) / sizeof(*shapes_with_lines);
    for (size_t i = 0; i < shapes; i++) {
        const char *shape = shapes_with_lines[i];
        if (!shapes_has(shape)) {
            print_message("%s: not built here\n", shape);
            continue;
        }
        Mark marks[MARKS_MAX];
        size_t count = shapes_marks(shape, marks, MARKS_MAX);
        assert_int_equal(count, 20);
        Symbolizer *s = shapes_symbolizer(NULL, NULL);
        assert_int_equal(shapes_source(s, shapes_path(shape, "prog")), SYMBOL_DWARF);
        for (size_t k = 0; k < count; k++)
            check_mark(s, shape, &marks[k]);
        symbol_close(s);
    }
}

/* ---- all of the code, against addr2line ----------------------------------------------------- */

typedef struct Code {
    uint64_t start, end;
} Code;

/* From the first to behind the last function of ours, by nm. */
static Code code_of(const char *full)
{
    char *text =
        shapes_run("nm -S --defined-only '%s' | grep -Ei ' t .*(c_|zoo|cxx_side|mark|main)'", full);
    Code code = {UINT64_MAX, 0};
    for (char *at = text; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL) {
        uint64_t start, size;
        if (sscanf(at, "%lx %lx", &start, &size) != 2)
            continue;
        code.start = start < code.start ? start : code.start;
        code.end = start + size > code.end ? start + size : code.end;
    }
    free(text);
    assert_true(code.end > code.start + 500 && code.end < code.start + 20000);
    return code;
}

/* addr2line gives no scope where there is no linkage name, and then calls an inlined function by
 * the ELF symbol that it was inlined into: those names are checked by the marks only. */
static bool agrees(const SymbolFrame *frame, const char *function, const char *place)
{
    char got[1200];
    if (frame->function && strcmp(frame->function, function) != 0) {
        size_t length = strlen(frame->function), want = strlen(function);
        bool tail = length > want + 2 && strcmp(frame->function + length - want, function) == 0 &&
                    strncmp(frame->function + length - want - 2, "::", 2) == 0;
        bool parameters = strncmp(frame->function, function, want) == 0;
        bool no_linkage_name = frame->inlined && strncmp(frame->raw, "_Z", 2) != 0;
        if (!tail && !parameters && !no_linkage_name)
            return false;
    } else if (!frame->function && strcmp(function, "??") != 0)
        return false;
    if (frame->line == 0)
        return strstr(place, ":?") || strstr(place, ":0");
    if (strstr(place, "<artificial>")) { /* binutils and the file tables of LTO */
        snprintf(got, sizeof(got), "<artificial>:%u", frame->line);
        return strstr(place, got);
    }
    snprintf(got, sizeof(got), "%s:%u", frame->file, frame->line);
    size_t length = strlen(got);
    return strncmp(place, got, length) == 0 &&
           (place[length] == '\0' || place[length] == ' '); /* " (discriminator 2)" */
}

/* Is PC inside a symbol that `nm OPTIONS` lists? Its demangled name, or NULL. */
static const char *covering(const char *nm_output, uint64_t pc, char name[1024])
{
    for (const char *at = nm_output; at && *at;
         at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL) {
        uint64_t start, size;
        char kind;
        if (sscanf(at, "%lx %lx %c %1023[^\n]", &start, &size, &kind, name) == 4 &&
            strchr("TtWwi", kind) && pc >= start && pc < start + size)
            return name;
    }
    return NULL;
}

static void compare_with_addr2line(const char *shape, const char *debug_dir)
{
    const char *full = shapes_path(shape, "full");
    Code code = code_of(full);
    char *text = shapes_run(
        "for i in $(seq %lu %lu); do printf '%%x\\n' $i; done | addr2line -a -i -f -C -e %s",
        code.start, code.end - 1, full);
    char *symbols = shapes_run("nm -S --defined-only '%s'", full);
    char name[1024];
    Symbolizer *s = shapes_symbolizer(NULL, debug_dir);
    const SymbolFrame *frames = NULL;
    uint64_t pc = 0, checked = 0, holes = 0;
    int count = 0, at = 0;
    char *save = NULL;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        if (strncmp(line, "0x", 2) == 0) {
            if (at != count)
                fail_msg("%s %#lx: %d frames, not %d", shape, pc, count, at);
            pc = strtoull(line, NULL, 16);
            count = shapes_resolve(s, shapes_path(shape, "prog"), false, pc, &frames);
            at = 0;
            checked++;
            continue;
        }
        const char *place = strtok_r(NULL, "\n", &save);
        /* Padding: addr2line calls it like the function before. */
        if (count == 1 && !frames[0].function && !covering(symbols, pc, name)) {
            holes++;
            at++;
            continue;
        }
        if (at >= count || !place || !agrees(&frames[at], line, place))
            fail_msg("%s %#lx frame %d of %d: %s at %s:%u, not %s at %s", shape, pc, at, count,
                     at < count ? frames[at].function : "-", at < count ? frames[at].file : "-",
                     at < count ? frames[at].line : 0, line, place);
        at++;
    }
    assert_int_equal(at, count);
    assert_int_equal(checked, code.end - code.start);
    assert_true(holes * 4 < checked);
    symbol_close(s);
    free(symbols);
    free(text);
}

static void test_every_byte_as_addr2line(void **state)
{
    (void)state;
    static const char *const shapes[] = {"dwarf4", "dwarf5",    "dwarf5-no-pie", "lto",
                                         "split5", "dwp4",      "dwp5",          "debuglink",
                                         "clang5", "compressed"};
    for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
        if (shapes_has(shapes[i]))
            compare_with_addr2line(shapes[i], NULL);
    compare_with_addr2line("build-id", shapes_path("build-id", "root"));
}

/* ---- without DWARF -------------------------------------------------------------------------- */

static void compare_with_nm(const char *shape, const char *options)
{
    const char *prog = shapes_path(shape, "prog");
    Code code = code_of(shapes_path(shape, "full"));
    char *text = shapes_run("nm %s -S -C --defined-only '%s'", options, prog);
    Symbolizer *s = shapes_symbolizer(NULL, NULL);
    unsigned named = 0, holes = 0;
    for (uint64_t pc = code.start; pc < code.end; pc++) {
        char name[1024];
        const SymbolFrame *frames;
        const char *want = covering(text, pc, name);
        assert_int_equal(shapes_resolve(s, prog, false, pc, &frames), 1);
        if (!want && frames[0].function && strstr(text, frames[0].function) && !options[0])
            continue; /* assembly of the C runtime: symbols without a size */
        if (!want != !frames[0].function)
            fail_msg("%s %#lx: %s, not %s", shape, pc, frames[0].function, want);
        named += want != NULL;
        holes += want == NULL;
        /* Constructors have two names for one address; nm lists both, demangled alike. */
        if (want && strcmp(want, frames[0].function) != 0)
            fail_msg("%s %#lx: %s, not %s", shape, pc, frames[0].function, want);
        assert_null(frames[0].file);
        assert_int_equal(frames[0].line, 0);
    }
    assert_true(named > 300 && holes > 20);
    symbol_close(s);
    free(text);
}

static void test_stripped_has_exported_names_and_holes(void **state)
{
    (void)state;
    const char *prog = shapes_path("stripped", "prog");
    Symbolizer *s = shapes_symbolizer(NULL, NULL);
    Mark marks[MARKS_MAX];
    size_t count = shapes_marks("stripped", marks, MARKS_MAX);
    unsigned seen = 0;
    assert_int_equal(shapes_source(s, prog), SYMBOL_DYNSYM);
    for (size_t i = 0; i < count; i++) {
        const SymbolFrame *frames;
        shapes_resolve(s, prog, true, marks[i].pc, &frames);
        if (strcmp(marks[i].function, "c_between") == 0 ||
            strcmp(marks[i].function, "c_hidden") == 0) {
            assert_null(frames[0].function);
            assert_null(frames[0].raw);
            seen++;
        } else if (strcmp(marks[i].function, "zoo::escape(int)") == 0) {
            assert_string_equal(frames[0].function, "zoo::escape(int)");
            assert_string_equal(frames[0].raw, "_ZN3zoo6escapeEi");
            seen++;
        }
    }
    assert_int_equal(seen, 3);
    symbol_close(s);
    compare_with_nm("stripped", "-D");
}

static void test_symtab_and_minidebuginfo(void **state)
{
    (void)state;
    static const struct {
        const char *shape;
        SymbolSource source;
        bool hidden_known;
    } cases[] = {{"symtab", SYMBOL_SYMTAB, true},
                 {"minidebug", SYMBOL_DEBUGDATA, true},
                 {"minidebug-broken", SYMBOL_DEBUGDATA, false}};
    for (size_t i = 0; i < 3; i++) {
        const char *prog = shapes_path(cases[i].shape, "prog");
        Symbolizer *s = shapes_symbolizer(NULL, NULL);
        Mark marks[MARKS_MAX];
        size_t count = shapes_marks(cases[i].shape, marks, MARKS_MAX), seen = 0;
        assert_int_equal(shapes_source(s, prog), cases[i].source);
        for (size_t k = 0; k < count; k++) {
            const SymbolFrame *frames;
            shapes_resolve(s, prog, true, marks[k].pc, &frames);
            if (strcmp(marks[k].function, "c_hidden") == 0 ||
                strcmp(marks[k].function, "zoo::static_guard(int)") == 0) {
                seen++;
                if (cases[i].hidden_known)
                    assert_string_equal(frames[0].function, marks[k].function);
                else
                    assert_null(frames[0].function);
            }
            if (strcmp(marks[k].function, "zoo::escape(int)") == 0)
                assert_string_equal(frames[0].function, marks[k].function);
        }
        assert_int_equal(seen, 2);
        symbol_close(s);
    }
    compare_with_nm("symtab", "");
}

/* Skeletons without their .dwo: lines and linker names remain. */
static void test_split_without_dwo(void **state)
{
    (void)state;
    Symbolizer *s = shapes_symbolizer(NULL, NULL);
    Mark marks[MARKS_MAX];
    size_t count = shapes_marks("split-gone", marks, MARKS_MAX), seen = 0;
    for (size_t i = 0; i < count; i++) {
        const SymbolFrame *frames;
        int n = shapes_resolve(s, shapes_path("split-gone", "prog"), false, marks[i].pc, &frames);
        assert_int_equal(n, 1);
        assert_int_equal(frames[0].line, marks[i].line);
        if (strcmp(marks[i].function, "c_hidden") == 0) {
            assert_string_equal(frames[0].function, "c_hidden");
            seen++;
        }
    }
    assert_int_equal(seen, 1);
    symbol_close(s);
}

/* ---- other languages ------------------------------------------------------------------------ */

/* Every byte of the functions whose mangled name has NEEDLE must be called WANT, if not inlined. */
static void check_language(const char *shape, const char *needle, const char *want)
{
    const char *prog = shapes_path(shape, "prog");
    if (!shapes_has(shape)) {
        print_message("%s: not built here\n", shape);
        return;
    }
    char *text = shapes_run("nm -S --defined-only '%s' | grep -i ' [tw] .*%s'", prog, needle);
    uint64_t start, size;
    assert_int_equal(sscanf(text, "%lx %lx", &start, &size), 2);
    Symbolizer *s = shapes_symbolizer(NULL, NULL);
    for (uint64_t pc = start; pc < start + size; pc++) {
        const SymbolFrame *frames;
        int count = shapes_resolve(s, prog, true, pc, &frames);
        assert_true(count > 0);
        assert_string_equal(frames[count - 1].function, want);
    }
    symbol_close(s);
    free(text);
}

static void test_rust_and_d(void **state)
{
    (void)state;
    check_language("rust-legacy", "barn.*stable", "shapes::barn::stable");
    check_language("rust-v0", "barn.*stable", "shapes::barn::stable");
    check_language("rust-v0", "barn.*years", "<shapes::barn::Horse<u32>>::years");
    check_language("d", "7pasture", "shapes_d.pasture(int)");
    check_language("d", "5graze", "shapes_d.Meadow!(int).Meadow.graze(int)");
}

static int setup(void **state)
{
    (void)state;
    shapes_begin();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    shapes_end();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_marks_in_every_shape),
        cmocka_unit_test(test_every_byte_as_addr2line),
        cmocka_unit_test(test_stripped_has_exported_names_and_holes),
        cmocka_unit_test(test_symtab_and_minidebuginfo),
        cmocka_unit_test(test_split_without_dwo),
        cmocka_unit_test(test_rust_and_d),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
