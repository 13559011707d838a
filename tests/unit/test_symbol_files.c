// SPDX-License-Identifier: Apache-2.0
/*
 * Purpose: which files the symbolizer believes (build-ids, debug links, roots, the vDSO), the
 * choice among names of one address, and the cache on disk, broken and outdated files included.
 */
#include <dlfcn.h>
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "symbol/symbol_cache.h"
#include "symbol/symbol_find.h"
#include "symbol/symbol_table.h"
#include "symbol_shapes.h"

static Mark hidden; /* the mark in c_hidden(), which .dynsym does not know */

static int setup(void **state)
{
    (void)state;
    shapes_begin();
    Mark marks[64];
    size_t count = shapes_marks("debuglink", marks, 64);
    for (size_t i = 0; i < count; i++)
        if (strcmp(marks[i].function, "c_hidden") == 0)
            hidden = marks[i];
    return hidden.pc ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    shapes_end();
    return 0;
}

static const char *name_of(Symbolizer *s, const char *path, bool with_id)
{
    const SymbolFrame *frames;
    int count = shapes_resolve(s, path, with_id, hidden.pc, &frames);
    assert_true(count >= 1);
    return frames[count - 1].function;
}

/* ---- which file ----------------------------------------------------------------------------- */

static void test_replaced_file_gives_no_names(void **state)
{
    (void)state;
    const char *prog = shapes_path("dwarf5", "prog");
    uint8_t id[20] = {1, 2, 3};
    const SymbolFrame *frames;
    Symbolizer *s = shapes_symbolizer(NULL, NULL);
    SymbolModuleInfo info = {.path = prog, .build_id = id, .build_id_size = sizeof(id)};
    assert_int_equal(symbol_source_of(s, &info, NULL), SYMBOL_NONE);
    assert_int_equal(symbol_resolve_address(s, &info, hidden.pc, &frames), 1);
    assert_null(frames[0].function);
    assert_null(frames[0].file);
    /* The same path with the right one is another module, and known. */
    assert_string_equal(name_of(s, prog, true), "c_hidden");
    /* Without build-id: gone files are not used. */
    info = (SymbolModuleInfo){.path = prog, .deleted = true};
    assert_int_equal(symbol_source_of(s, &info, NULL), SYMBOL_NONE);
    info.deleted = false;
    assert_int_equal(symbol_source_of(s, &info, NULL), SYMBOL_DWARF);
    /* Nor files with other segments. */
    uint64_t offset = 0, vaddr = 0, size = 0;
    char *text = shapes_run("readelf -lW %s | grep 'LOAD.*R E'", prog);
    assert_int_equal(sscanf(text, " LOAD %lx %lx %*x %lx", &offset, &vaddr, &size), 3);
    free(text);
    struct ProfileSegment segment = {vaddr, size};
    info.segments = &segment;
    info.segment_count = 1;
    assert_int_equal(symbol_source_of(s, &info, NULL), SYMBOL_DWARF);
    segment.size += 4096;
    assert_int_equal(symbol_source_of(s, &info, NULL), SYMBOL_NONE);
    symbol_close(s);
}

static void test_odd_paths(void **state)
{
    (void)state;
    static const char *const paths[] = {"",          "relative", "/dev/null",    "/proc/self/mem",
                                        "/tmp",      "[heap]",   "[vdso]",       "/etc/passwd",
                                        "/dev/zero", "//anon",   "/no/such/file"};
    Symbolizer *s = shapes_symbolizer(NULL, NULL);
    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
        const SymbolFrame *frames;
        assert_int_equal(shapes_resolve(s, paths[i], false, 0x1000, &frames), 1);
        assert_null(frames[0].function);
        assert_int_equal(shapes_source(s, paths[i]), SYMBOL_NONE);
    }
    char *pipe = strdup(shapes_path("dwarf5", "pipe")); /* opening must not wait */
    free(shapes_run("mkfifo '%s'", pipe));
    assert_int_equal(shapes_source(s, pipe), SYMBOL_NONE);
    unlink(pipe);
    free(pipe);
    symbol_close(s);
}

static void test_separate_debug_files(void **state)
{
    (void)state;
    static const struct {
        const char *shape, *debug_root;
        bool known;
    } cases[] = {
        {"debuglink", NULL, true},
        {"debuglink-dir", NULL, true},
        {"debuglink-root", NULL, false},
        {"debuglink-root", "root", true},
        {"debuglink-crc", NULL, true},
        {"debuglink-wrong", NULL, false},
        {"build-id", NULL, false},
        {"build-id", "root", true},
        {"build-id", "root/.build-id", true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const char *root =
            cases[i].debug_root ? shapes_path(cases[i].shape, cases[i].debug_root) : NULL;
        for (int with_id = 0; with_id < 2; with_id++) {
            if (with_id && (strstr(cases[i].shape, "crc") || strstr(cases[i].shape, "wrong")))
                continue; /* they have none */
            Symbolizer *s = shapes_symbolizer(NULL, root);
            const char *prog = shapes_path(cases[i].shape, "prog");
            const char *name = name_of(s, prog, with_id);
            if (cases[i].known != (name != NULL))
                fail_msg("%s, root %s: %s", cases[i].shape, root, name);
            assert_int_equal(shapes_source(s, prog), cases[i].known ? SYMBOL_DWARF : SYMBOL_DYNSYM);
            symbol_close(s);
        }
    }
}

/* A debug file alone is enough when the build-id is known: the file lies in a container. */
static void test_only_the_debug_file(void **state)
{
    (void)state;
    const SymbolFrame *frames;
    Symbolizer *s = shapes_symbolizer(NULL, shapes_path("build-id", "root"));
    char *text =
        shapes_run("readelf -n %s | sed -n 's/.*Build ID: *//p'", shapes_path("build-id", "prog"));
    uint8_t id[20];
    for (size_t i = 0; i < 20; i++)
        assert_int_equal(sscanf(text + 2 * i, "%2hhx", &id[i]), 1);
    free(text);
    SymbolModuleInfo info = {.path = "/in/a/container", .build_id = id, .build_id_size = 20};
    int count = symbol_resolve_address(s, &info, hidden.pc, &frames);
    assert_string_equal(frames[count - 1].function, "c_hidden");
    symbol_close(s);
}

static void test_sysroot(void **state)
{
    (void)state;
    const char *root = shapes_path("dwarf5", "sysroot");
    free(shapes_run("mkdir -p %s/opt/app && cp %s %s/opt/app/ && ln -sfn /opt/app %s/link", root,
                    shapes_path("dwarf5", "prog"), root, root));
    Symbolizer *s = shapes_symbolizer(root, NULL);
    assert_string_equal(name_of(s, "/opt/app/prog", false), "c_hidden");
    /* An absolute link inside a sysroot stays inside. */
    assert_string_equal(name_of(s, "/link/prog", false), "c_hidden");
    /* Outside of the sysroot only what the build-id proves. */
    const char *outside = shapes_path("dwarf5", "prog");
    assert_null(name_of(s, outside, false));
    assert_string_equal(name_of(s, outside, true), "c_hidden");
    symbol_close(s);
}

static void test_vdso(void **state)
{
    (void)state;
    void *vdso = dlopen("linux-vdso.so.1", RTLD_NOW | RTLD_NOLOAD);
    const char *base = (const char *)getauxval(AT_SYSINFO_EHDR);
    char *symbol = vdso ? dlvsym(vdso, "__vdso_clock_gettime", "LINUX_2.6") : NULL;
    if (!base || !symbol) {
        print_message("no vDSO here\n");
        return;
    }
    SymbolFile *file = NULL;
    void *copy = malloc(4096);
    memcpy(copy, base, 4096);
    assert_int_equal(symbol_file_open_memory(copy, 4096, "x", &file), 0);
    const SymbolFrame *frames;
    Symbolizer *s = shapes_symbolizer(NULL, NULL);
    SymbolModuleInfo info = {
        .path = "[vdso]", .build_id = file->build_id, .build_id_size = file->build_id_size};
    assert_true(file->build_id_size > 0);
    assert_int_equal(symbol_resolve_address(s, &info, (uint64_t)(symbol - base) + 1, &frames), 1);
    assert_string_equal(frames[0].function, "clock_gettime"); /* the alias without underscores */
    file->build_id[3] ^= 1;
    assert_int_equal(symbol_resolve_address(s, &info, (uint64_t)(symbol - base) + 1, &frames), 1);
    assert_null(frames[0].function);
    symbol_file_close(file);
    symbol_close(s);
}

/* The client also takes file URLs: a server in a folder. */
static void test_debuginfod_only_when_asked(void **state)
{
    (void)state;
    const char *prog = shapes_path("stripped", "prog");
    char *id = shapes_run("readelf -n %s | sed -n 's/.*Build ID: *//p' | tr -d '\\n'", prog);
    const char *server = shapes_path("stripped", "server");
    char url[600];
    free(
        shapes_run("mkdir -p %s/buildid/%s && objcopy --only-keep-debug %s %s/buildid/%s/debuginfo",
                   server, id, shapes_path("stripped", "full"), server, id));
    snprintf(url, sizeof(url), "file://%s", server);
    setenv("DEBUGINFOD_URLS", url, 1);
    setenv("DEBUGINFOD_CACHE_PATH", shapes_path("stripped", "client-cache"), 1);
    for (int asked = 0; asked < 2; asked++) {
        SymbolOptions options = {.debuginfod = asked, .no_disk_cache = true};
        Symbolizer *s = NULL;
        assert_int_equal(symbol_open(&options, &s), 0);
        const char *name = name_of(s, prog, true);
        if (asked)
            assert_string_equal(name, "c_hidden");
        else
            assert_null(name);
        symbol_close(s);
    }
    unsetenv("DEBUGINFOD_URLS");
    free(shapes_run("rm -rf %s %s", server, shapes_path("stripped", "client-cache")));
    free(id);
}

/* Texts are one copy for all that share them, and stay when one of those goes. */
static void test_shared_texts(void **state)
{
    (void)state;
    SymbolTexts *texts;
    Symbolizer *first, *second, *alone;
    assert_int_equal(symbol_texts_new(&texts), 0);
    SymbolOptions options = {.no_disk_cache = true, .texts = texts};
    assert_int_equal(symbol_open(&options, &first), 0);
    assert_int_equal(symbol_open(&options, &second), 0);
    options.texts = NULL;
    assert_int_equal(symbol_open(&options, &alone), 0);

    SymbolModuleInfo info = {.path = "/a/module", .deleted = true};
    SymbolFrame frame = {.function = "f", .raw = "_f", .file = "f.c", .line = 3};
    const SymbolFrame *a, *b, *c;
    assert_int_equal(symbol_find_known(first, &info, 16, &a), 0);
    assert_int_equal(symbol_adopt(first, &info, 16, &frame, 1), 0);
    assert_int_equal(symbol_find_known(second, &info, 16, &b), 0); /* texts, not answers */
    assert_int_equal(symbol_adopt(second, &info, 16, &frame, 1), 0);
    assert_int_equal(symbol_adopt(alone, &info, 16, &frame, 1), 0);
    assert_int_equal(symbol_find_known(first, &info, 16, &a), 1);
    assert_int_equal(symbol_find_known(second, &info, 16, &b), 1);
    assert_int_equal(symbol_find_known(alone, &info, 16, &c), 1);
    assert_ptr_equal(a->function, b->function);
    assert_ptr_equal(a->raw, b->raw);
    assert_ptr_equal(a->file, b->file);
    assert_ptr_not_equal(a->function, c->function);
    symbol_close(first);
    assert_string_equal(b->function, "f");
    assert_string_equal(b->raw, "_f");
    assert_string_equal(b->file, "f.c");
    assert_int_equal(b->line, 3);
    assert_ptr_equal(symbol_intern(second, "f"), b->function);
    symbol_close(second);
    symbol_close(alone);
    symbol_texts_free(texts);
}

static void test_rank_of_aliases(void **state)
{
    (void)state;
    static const SymbolRank in_order[] = {
        {"fork", STB_WEAK, STT_FUNC, true},     {"vfork", STB_GLOBAL, STT_FUNC, true},
        {"vfork", STB_WEAK, STT_FUNC, true},    {"_fork", STB_GLOBAL, STT_FUNC, true},
        {"__fork", STB_GLOBAL, STT_FUNC, true}, {"fork", STB_GLOBAL, STT_GNU_IFUNC, true},
        {"fork", STB_GLOBAL, STT_NOTYPE, true}, {"a", STB_LOCAL, STT_FUNC, true},
        {"b", STB_LOCAL, STT_FUNC, true},       {"fork", STB_GLOBAL, STT_FUNC, false},
    };
    size_t count = sizeof(in_order) / sizeof(*in_order);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < count; k++)
            assert_int_equal(symbol_rank_is_better(&in_order[i], &in_order[k]), i < k);
}

/* ---- cache ---------------------------------------------------------------------------------- */

static char cache_home[] = "/tmp/memhawk-cache-XXXXXX";

static int cache_setup(void **state)
{
    (void)state;
    strcpy(cache_home, "/tmp/memhawk-cache-XXXXXX");
    return mkdtemp(cache_home) && setenv("XDG_CACHE_HOME", cache_home, 1) == 0 ? 0 : -1;
}

static int cache_teardown(void **state)
{
    (void)state;
    free(shapes_run("rm -rf '%s'", cache_home));
    return 0;
}

static Symbolizer *caching_symbolizer(const char *debug_dir)
{
    const char *dirs[] = {debug_dir, NULL};
    SymbolOptions options = {.debug_dirs = dirs};
    Symbolizer *s = NULL;
    assert_int_equal(symbol_open(&options, &s), 0);
    return s;
}

/* The one file in the cache, NULL: none. */
static const char *cache_file(void)
{
    static char path[512];
    char *text = shapes_run("find '%s' -type f", cache_home);
    int count = sscanf(text, "%511[^\n]", path);
    assert_null(count == 1 && strchr(text, '\n')[1] ? text : NULL);
    free(text);
    return count == 1 ? path : NULL;
}

/* All frames at PC as one text, through a symbolizer of its own. */
static char *answer(const char *prog, const char *debug_dir, uint64_t pc)
{
    Symbolizer *s = caching_symbolizer(debug_dir);
    const SymbolFrame *frames;
    int count = shapes_resolve(s, prog, true, pc, &frames);
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    for (int i = 0; i < count; i++)
        fprintf(out, "%s %s %s:%u %d\n", frames[i].function, frames[i].raw, frames[i].file,
                frames[i].line, frames[i].inlined);
    fclose(out);
    symbol_close(s);
    return text;
}

static void key_of(const char *prog, SymbolCacheKey *ret_key)
{
    SymbolOptions options = {0};
    SymbolModuleInfo info = {.path = prog};
    SymbolFiles files;
    symbol_find_files(&options, &info, &files);
    symbol_cache_key(&files, ret_key);
    symbol_find_done(&files);
}

static void test_cache_answers_the_same(void **state)
{
    (void)state;
    const char *prog = shapes_path("dwarf5", "prog");
    Mark marks[64];
    size_t count = shapes_marks("dwarf5", marks, 64);
    char *first[64];
    for (size_t i = 0; i < count; i++) /* each run adds one address and keeps the rest */
        first[i] = answer(prog, NULL, marks[i].pc);
    SymbolCacheKey key;
    SymbolCache *cache = NULL;
    char *folder = symbol_cache_folder();
    key_of(prog, &key);
    assert_int_equal(symbol_cache_load(folder, &key, &cache), 0);
    assert_in_range(symbol_cache_count(cache), 19, 20);
    symbol_cache_free(cache);
    struct stat st;
    assert_int_equal(stat(cache_file(), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    for (size_t i = 0; i < count; i++) {
        char *again = answer(prog, NULL, marks[i].pc);
        assert_string_equal(again, first[i]);
        free(again);
        free(first[i]);
    }
    free(folder);
}

/* A planted answer comes back: so the cache is really asked, and asked first. */
static void test_cache_is_used(void **state)
{
    (void)state;
    char prog[128];
    char *folder = symbol_cache_folder();
    SymbolCacheKey key;
    snprintf(prog, sizeof(prog), "%s/prog", cache_home);
    free(shapes_run("cp '%s' '%s'", shapes_path("dwarf5", "prog"), prog));
    key_of(prog, &key);
    SymbolAnswer *planted = calloc(1, sizeof(*planted) + sizeof(SymbolFrame));
    planted->pc = hidden.pc;
    planted->count = 1;
    planted->frames[0] = (SymbolFrame){.function = "planted", .line = 7, .inlined = true};
    assert_int_equal(symbol_cache_save(folder, &key, &planted, 1), 0);
    char *text = answer(prog, NULL, hidden.pc);
    assert_string_equal(text, "planted (null) (null):7 1\n");
    free(text);
    /* A file that changes has no cache. */
    free(shapes_run("touch '%s'", prog));
    text = answer(prog, NULL, hidden.pc);
    assert_null(strstr(text, "planted"));
    assert_non_null(strstr(text, "c_hidden"));
    free(text);
    free(planted);
    free(folder);
}

/* Every byte damaged, every length cut: never a crash, never a wrong answer. */
static void test_broken_cache_is_ignored(void **state)
{
    (void)state;
    const char *prog = shapes_path("dwarf5", "prog");
    char *right = answer(prog, NULL, hidden.pc), *folder = symbol_cache_folder();
    const char *path = cache_file();
    assert_non_null(path);
    char image[4096];
    FILE *file = fopen(path, "r");
    size_t bytes = fread(image, 1, sizeof(image), file);
    fclose(file);
    assert_true(bytes > 60 && bytes < sizeof(image));
    SymbolCacheKey key;
    key_of(prog, &key);
    for (size_t i = 0; i < 2 * bytes; i++) {
        SymbolCache *cache = NULL;
        if (i < bytes)
            image[i] ^= 0x41;
        file = fopen(path, "w");
        fwrite(image, 1, i < bytes ? bytes : i - bytes, file);
        fclose(file);
        if (i < bytes)
            image[i] ^= 0x41;
        int r = symbol_cache_load(folder, &key, &cache);
        if (r == 0)
            fail_msg("damage at %zu was not seen", i);
    }
    char *again = answer(prog, NULL, hidden.pc); /* the file is cut now */
    assert_string_equal(again, right);
    SymbolCache *cache = NULL;
    assert_int_equal(symbol_cache_load(folder, &key, &cache), 0); /* and was replaced */
    symbol_cache_free(cache);
    free(again);
    free(right);
    free(folder);
}

static void test_debug_file_that_comes_later(void **state)
{
    (void)state;
    const char *prog = shapes_path("build-id", "prog"), *root = shapes_path("build-id", "root");
    for (int round = 0; round < 2; round++) {
        char *text = answer(prog, NULL, hidden.pc);
        assert_string_equal(text, "(null) (null) (null):0 0\n");
        free(text);
        text = answer(prog, root, hidden.pc);
        assert_non_null(strstr(text, "c_hidden"));
        free(text);
    }
}

static void test_partial_answers_are_not_kept(void **state)
{
    (void)state;
    free(answer(shapes_path("split-gone", "prog"), NULL, hidden.pc));
    assert_null(cache_file());
    free(answer("/no/such/file", NULL, hidden.pc));
    assert_null(cache_file());
}

static void test_cache_folder_is_bounded(void **state)
{
    (void)state;
    free(shapes_run("mkdir -p '%s/memhawk/symbols'", cache_home));
    for (int i = 0; i < 5; i++)
        free(shapes_run("cd '%s/memhawk/symbols' && head -c 1000 /dev/zero > %d.sym && "
                        "touch -d '2020-01-0%d' %d.sym; echo > other.txt",
                        cache_home, i, 9 - i, i));
    char *folder = symbol_cache_folder();
    symbol_cache_trim(folder, 2500);
    char *text = shapes_run("cd '%s' && echo *", folder);
    assert_string_equal(text, "0.sym 1.sym other.txt\n");
    free(text);
    free(folder);
}

#define CACHE_TEST(f) cmocka_unit_test_setup_teardown(f, cache_setup, cache_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replaced_file_gives_no_names),
        cmocka_unit_test(test_odd_paths),
        cmocka_unit_test(test_separate_debug_files),
        cmocka_unit_test(test_only_the_debug_file),
        cmocka_unit_test(test_sysroot),
        cmocka_unit_test(test_vdso),
        cmocka_unit_test(test_debuginfod_only_when_asked),
        cmocka_unit_test(test_shared_texts),
        cmocka_unit_test(test_rank_of_aliases),
        CACHE_TEST(test_cache_answers_the_same),
        CACHE_TEST(test_cache_is_used),
        CACHE_TEST(test_broken_cache_is_ignored),
        CACHE_TEST(test_debug_file_that_comes_later),
        CACHE_TEST(test_partial_answers_are_not_kept),
        CACHE_TEST(test_cache_folder_is_bounded),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
