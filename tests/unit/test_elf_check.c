// SPDX-License-Identifier: Apache-2.0
/*
 * Facts about ELF files, read from programs that the test compiles itself, so that the truth is in
 * the command line. Programs that the machine cannot build (no 32-bit or musl files) are skipped,
 * and the test says so.
 */
#include <elf.h>
#include <errno.h>
#include <gnu/libc-version.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "cli/elf_check.h"

static char folder[] = "/tmp/test_elf_check.XXXXXX";

#define PLAIN "int main(void){return 0;}"
#define OWN                                                                                        \
    "#include <stddef.h>\n static char m[4096]; %s void*malloc(size_t n){(void)n;return "          \
    "m;} " PLAIN

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof(command), "rm -r %s", folder);
    return system(command);
}

/* Compiles SOURCE by COMMAND; false when that fails. */
static int build(const char *command, const char *source, char *ret_path, size_t size)
{
    char path[128], line[1024];
    snprintf(path, sizeof(path), "%s/a.c", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(source, file);
    fclose(file);
    snprintf(ret_path, size, "%s/a.out", folder);
    unlink(ret_path);
    snprintf(line, sizeof(line), "%s -o %s %s 2>/dev/null", command, ret_path, path);
    return system(line) == 0;
}

static ElfFacts facts_of(const char *command, const char *source)
{
    ElfFacts facts;
    char path[128];
    if (!build(command, source, path, sizeof(path))) {
        print_message("skipped: '%s' does not work here\n", command);
        skip();
    }
    assert_int_equal(elf_facts_read(path, &facts), 0);
    return facts;
}

static void test_plain(void **state)
{
    (void)state;
    ElfFacts facts = facts_of("gcc", PLAIN);
    assert_int_equal(facts.kind, ELF_PROGRAM);
    assert_int_equal(facts.class_bits, 64);
    assert_int_equal(facts.machine, EM_X86_64);
    assert_false(facts.is_static);
    assert_string_equal(facts.interpreter, "/lib64/ld-linux-x86-64.so.2");
    assert_int_equal(facts.malloc_owner, MALLOC_IMPORTED);
    assert_null(facts.sanitizer);
}

static void test_static(void **state)
{
    (void)state;
    assert_true(facts_of("gcc -static", PLAIN).is_static);
    ElfFacts facts = facts_of("gcc -static-pie", PLAIN);
    assert_true(facts.is_static);
    assert_int_equal(facts.kind, ELF_PROGRAM);
}

static void test_32_bit(void **state)
{
    (void)state;
    ElfFacts facts = facts_of("gcc -m32", PLAIN);
    assert_int_equal(facts.class_bits, 32);
    assert_int_equal(facts.machine, EM_386);
}

static void test_musl(void **state)
{
    (void)state;
    assert_string_equal(facts_of("musl-gcc", PLAIN).interpreter, "/lib/ld-musl-x86_64.so.1");
}

static void test_own_malloc(void **state)
{
    char source[512];
    (void)state;
    snprintf(source, sizeof(source), OWN, "");
    assert_int_equal(facts_of("gcc", source).malloc_owner, MALLOC_EXPORTED);
    assert_int_equal(facts_of("gcc -s", source).malloc_owner, MALLOC_EXPORTED);
    snprintf(source, sizeof(source), OWN, "__attribute__((visibility(\"hidden\")))");
    assert_int_equal(facts_of("gcc", source).malloc_owner, MALLOC_LOCAL);
}

static void test_calls_malloc(void **state)
{
    (void)state;
    ElfFacts facts = facts_of("gcc", "#include <stdlib.h>\nint main(void){return !malloc(1);}");
    assert_int_equal(facts.malloc_owner, MALLOC_IMPORTED);
    /* its address taken in a program at a fixed place: defined nowhere, yet with a value */
    facts = facts_of("gcc -no-pie", "#include <stdlib.h>\nvoid*(*p)(size_t)=malloc;" PLAIN);
    assert_int_equal(facts.malloc_owner, MALLOC_IMPORTED);
}

static void test_sanitizers(void **state)
{
    (void)state;
    assert_string_equal(facts_of("gcc -fsanitize=address", PLAIN).sanitizer, "AddressSanitizer");
    assert_string_equal(facts_of("gcc -fsanitize=thread", PLAIN).sanitizer, "ThreadSanitizer");
    assert_null(facts_of("gcc -fsanitize=undefined", PLAIN).sanitizer);
    assert_string_equal(facts_of("clang -fsanitize=address", PLAIN).sanitizer, "AddressSanitizer");
    assert_string_equal(facts_of("clang -fsanitize=memory", PLAIN).sanitizer, "MemorySanitizer");
}

static void test_other_files(void **state)
{
    ElfFacts facts;
    char path[128];
    (void)state;
    assert_true(build("gcc -c", PLAIN, path, sizeof(path)));
    assert_int_equal(elf_facts_read(path, &facts), 0);
    assert_int_equal(facts.kind, ELF_NO_PROGRAM);
    assert_int_equal(elf_facts_read("/lib64/ld-linux-x86-64.so.2", &facts), 0);
    assert_int_equal(facts.kind, ELF_LOADER);
    assert_int_equal(elf_facts_read("/etc/passwd", &facts), 0);
    assert_int_equal(facts.kind, ELF_OTHER);
    assert_int_equal(elf_facts_read("/no/such/file", &facts), -ENOENT);
}

/* Every cut of a program: no crash, no read past the end (sanitizers watch). */
static void test_cut(void **state)
{
    char path[128], cut[128];
    static char bytes[65536];
    (void)state;
    assert_true(build("gcc", PLAIN, path, sizeof(path)));
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t size = fread(bytes, 1, sizeof(bytes), file);
    fclose(file);
    snprintf(cut, sizeof(cut), "%s/cut", folder);
    for (size_t length = 0; length < size; length += 97) {
        ElfFacts facts;
        file = fopen(cut, "w");
        assert_non_null(file);
        fwrite(bytes, 1, length, file);
        fclose(file);
        elf_facts_read(cut, &facts);
    }
}

static void test_glibc(void **state)
{
    (void)state;
    /* definitions can lag behind: 2.37 and 2.39 have few new functions, so not equal, but near */
    int own = atoi(gnu_get_libc_version() + 2),
        minor = elf_glibc_minor("/lib/x86_64-linux-gnu/libc.so.6");
    assert_in_range(minor, own - 3, own);
    assert_int_equal(elf_glibc_minor("/bin/true"), -ENOENT);
    assert_int_equal(elf_glibc_minor("/no/such/file"), -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),      cmocka_unit_test(test_static),
        cmocka_unit_test(test_32_bit),     cmocka_unit_test(test_musl),
        cmocka_unit_test(test_own_malloc), cmocka_unit_test(test_calls_malloc),
        cmocka_unit_test(test_sanitizers), cmocka_unit_test(test_other_files),
        cmocka_unit_test(test_cut),        cmocka_unit_test(test_glibc),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
