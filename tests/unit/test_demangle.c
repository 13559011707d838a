// SPDX-License-Identifier: Apache-2.0
/*
 * Purpose: demangling. Expected names are written by hand after the ABI documents or taken from the
 * sources that gave the symbols; hostile names must end soon, in bounded memory, with any answer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "symbol/symbol.h"

/* What the D demangler holds when a hostile name makes us leave it: bounded, see demangle.c. */
const char *__lsan_default_suppressions(void);

const char *__lsan_default_suppressions(void)
{
    return "leak:string_appendn\nleak:string_need\nleak:dlang_\n";
}

static const struct {
    const char *raw, *want; /* NULL: not a mangled name */
} names[] = {
    {"main", NULL},
    {"", NULL},
    {"_", NULL},
    {"_start", NULL},
    {"_IO_file_doallocate", NULL},
    {"_Z", NULL},
    {"_Zebra", NULL},
    {"_Done", NULL},
    {"_Recover", NULL},
    {"_ZN", NULL},
    {"_Z3fooi.", NULL},
    {"i", NULL}, /* a type, "int", to some demanglers */
    {"Pc", NULL},
    /* C++ */
    {"_Z3foov", "foo()"},
    {"_ZN3zoo6escapeEi", "zoo::escape(int)"},
    {"_ZNK3zoo4CageIiEltERKS1_", "zoo::Cage<int>::operator<(zoo::Cage<int> const&) const"},
    {"_ZN3zoo4CageIiEC2Ei", "zoo::Cage<int>::Cage(int)"},
    {"_ZN12_GLOBAL__N_14hideEv", "(anonymous namespace)::hide()"},
    {"_ZZ8cxx_sideENKUliE_clEi", "cxx_side::{lambda(int)#1}::operator()(int) const"},
    {"_Znwm", "operator new(unsigned long)"},
    {"_ZNSt6vectorIiSaIiEE9push_backEOi",
     "std::vector<int, std::allocator<int> >::push_back(int&&)"},
    {"_ZN3zoo6escapeEi.cold", "zoo::escape(int) [clone .cold]"},
    {"_ZTv0_n24_N3FooD1Ev", "virtual thunk to Foo::~Foo()"},
    {"_Z1fIJicEEvDpT_", "void f<int, char>(int, char)"},
    /* Rust, legacy: the hash is not shown */
    {"_ZN6shapes4barn6stable17h9a19ab09ece35045E", "shapes::barn::stable"},
    {"_ZN6shapes4barn14Horse$LT$T$GT$5years17h552e950368539627E", "shapes::barn::Horse<T>::years"},
    {"_ZN4core3ptr13drop_in_place17h0123456789abcdefE.llvm.1234567", "core::ptr::drop_in_place"},
    {"_ZN3std2rt10lang_start28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdeaE",
     "std::rt::lang_start::{{closure}}"},
    /* Rust, v0 */
    {"_RNvNtCs6mEINUzFH5k_6shapes4barn6stable", "shapes::barn::stable"},
    {"_RNvMNtCs6mEINUzFH5k_6shapes4barnINtB2_5HorsemE5yearsB4_",
     "<shapes::barn::Horse<u32>>::years"},
    {"_RNCNvCs1234_7mycrate3foo0B3_", "mycrate::foo::{closure#0}"},
    {"_RNvC6_123foo3bar", "123foo::bar"},
    /* D */
    {"_Dmain", "D main"},
    {"_D8shapes_d7pastureFiZi", "shapes_d.pasture(int)"},
    {"_D8shapes_d__T6MeadowTiZQk5grazeMFNaNbNiNfiZi", "shapes_d.Meadow!(int).Meadow.graze(int)"},
    {"_DTi16_D3std11concurrency14FiberScheduler5spawnMFNbDFZvZv", /* a thunk of gdc, by c++filt */
     "std.concurrency.FiberScheduler.spawn(void() delegate)"},
    {"_DTi_D1aFZv", NULL},
    {"_DTi16_", NULL},
    {"_DT", NULL},
};

static void test_names(void **state)
{
    (void)state;
    assert_null(symbol_demangle(NULL));
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        char *got = symbol_demangle(names[i].raw);
        if (!got != !names[i].want || (got && strcmp(got, names[i].want) != 0))
            fail_msg("%s: %s, not %s", names[i].raw, got, names[i].want);
        free(got);
    }
}

/* Many parameters. libiberty itself gives up above 1,024 levels of its tree. */
static void test_long_templates(void **state)
{
    (void)state;
    static const int depths[] = {10, 300, 700, 1000};
    for (size_t k = 0; k < sizeof(depths) / sizeof(*depths); k++) {
        int depth = depths[k];
        char *raw = calloc(1, 16 + 6 * (size_t)depth + 1),
             *want = calloc(1, 32 + 6 * (size_t)depth);
        strcpy(raw, "_Z1f");
        strcpy(want, "f(");
        char *r = raw + 4, *w = want + 2;
        for (int i = 0; i < depth; i++) {
            r += sprintf(r, "%s", i % 2 ? "Pc" : "i");
            w += sprintf(w, "%s%s", i ? ", " : "", i % 2 ? "char*" : "int");
        }
        strcpy(w, ")");
        char *got = symbol_demangle(raw);
        assert_non_null(got);
        assert_string_equal(got, want);
        free(got);
        free(raw);
        free(want);
    }
}

/* As recursive metaprograms make: a template in a template, 100 deep, 4,300 characters. */
static void test_nested_templates_of_4000_characters(void **state)
{
    (void)state;
    enum { LEVELS = 100 };
    static const char name[] = "a_long_name_as_metaprograms_have_them___";
    char raw[8192] = "_Z1f", want[8192] = "f(";
    char *r = raw + 4, *w = want + 2;
    for (int i = 0; i < LEVELS; i++) {
        r += sprintf(r, "%zu%sI", strlen(name), name);
        w += sprintf(w, "%s<", name);
    }
    r += sprintf(r, "i");
    w += sprintf(w, "int");
    for (int i = 0; i < LEVELS; i++) {
        r += sprintf(r, "E");
        w += sprintf(w, i ? " >" : ">");
    }
    strcpy(w, ")");
    assert_true(strlen(raw) > 4000 && strlen(want) > 4000);
    char *got = symbol_demangle(raw);
    assert_non_null(got);
    assert_string_equal(got, want);
    free(got);
}

/* ---- hostile ----------------------------------------------------------------------------------
 */

static void expect_soon(const char *raw, const char *what)
{
    uint64_t begin = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    char *got = symbol_demangle(raw);
    uint64_t spent = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin;
    if (got && strlen(got) > (size_t)256 << 10)
        fail_msg("%s: %zu characters", what, strlen(got));
    if (spent > UINT64_C(2000000000))
        fail_msg("%s: %lu ms", what, (unsigned long)(spent / 1000000));
    free(got);
}

static char *repeat(const char *head, const char *part, size_t count, const char *tail)
{
    size_t n = strlen(part);
    char *text = malloc(strlen(head) + n * count + strlen(tail) + 1);
    strcpy(text, head);
    char *at = text + strlen(head);
    for (size_t i = 0; i < count; i++, at += n)
        memcpy(at, part, n);
    strcpy(at, tail);
    return text;
}

/* Every parameter holds the one before twice: 2^40 characters. */
static void test_substitution_bombs(void **state)
{
    (void)state;
    char raw[4096] = "_Z1f1AIiiE";
    char *at = raw + strlen(raw);
    for (int i = 0; i < 40; i++)
        at += sprintf(at, "S_IS%c_S%c_E", "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i % 36],
                      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i % 36]);
    expect_soon(raw, "C++ substitutions");

    /* Rust v0: tuple of two back references to the tuple before. */
    strcpy(raw, "_RIC1a");
    at = raw + strlen(raw);
    size_t previous = 0;
    for (int i = 0; i < 60; i++) {
        size_t here = (size_t)(at - raw) - 2;
        if (i == 0)
            at += sprintf(at, "TuuE");
        else {
            static const char digits[] =
                "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
            char reference[16];
            size_t value = previous - 1;
            if (value < 62)
                sprintf(reference, "B%c_", digits[value]);
            else
                sprintf(reference, "B%c%c_", digits[value / 62], digits[value % 62]);
            at += sprintf(at, "T%s%sE", reference, reference);
        }
        previous = here;
    }
    strcpy(at, "E");
    expect_soon(raw, "Rust back references");

    /* D: an associative array of the type before to the type before. */
    strcpy(raw, "_D1aFiHQcQe");
    at = raw + strlen(raw);
    for (int i = 0; i < 60; i++)
        at += sprintf(at, "HQgQi");
    strcpy(at, "Zv");
    expect_soon(raw, "D back references");
}

static void test_deep_and_long(void **state)
{
    (void)state;
    static const struct {
        const char *head, *part, *tail;
    } kinds[] = {
        {"_Z1f", "P", "i"},
        {"_Z1f", "M1A", "i"},
        {"_Z1fI", "1AI", ""},
        {"_ZN", "1AI", ""},
        {"_Z1fIX", "cvi", ""},
        {"_Z1fIXsr", "sr", ""},
        {"_Z", "Z", "1fvE"},
        {"_Z1f", "F", "vE"},
        {"_Z1fDT", "ad", "E"},
        {"_RI", "NvC1a1b", "E"},
        {"_RMC1a", "R", "u"},
        {"_R", "IC1a", ""},
        {"_D1a", "P", "i"},
        {"_D1aF", "D", "Zv"},
        {"_D", "1a", "Fi"},
        {"_D1a", "Q", "a"},
        {"_D1a__T", "1aVi", ""},
        {"_D1aF", "AAyG9", "Zv"},
        {"_ZN", "4abcd", "17h0123456789abcdefE"},
        {"_Z1fIXL_Z1f", "IXL_Z1f", ""},
    };
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
        for (size_t count = 10; count < 40000; count *= 5) {
            char *raw = repeat(kinds[i].head, kinds[i].part, count, kinds[i].tail);
            expect_soon(raw, kinds[i].head);
            free(raw);
        }
}

/* Real names with random damage, always the same. */
static void test_damaged_names(void **state)
{
    (void)state;
    static const char alphabet[] = "_ZNRDIEJLPQSTXFGKMabcdef0123456789$.@";
    uint64_t seed = 42;
    for (int round = 0; round < 60000; round++) {
        char raw[256];
        snprintf(raw, sizeof(raw), "%s",
                 names[(size_t)round % (sizeof(names) / sizeof(*names))].raw);
        size_t length = strlen(raw);
        for (int k = 0; length > 2 && k < 1 + round % 4; k++) {
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
            size_t at = 2 + (size_t)(seed >> 33) % (length - 2);
            if ((seed >> 20) % 5 == 0)
                memmove(raw + at, raw + at + 1, length-- - at);
            else
                raw[at] = alphabet[(seed >> 40) % (sizeof(alphabet) - 1)];
        }
        char *got = symbol_demangle(raw);
        free(got);
    }
}

/* ---- Swift, by a demangler that stands in for the real one --------------------------------------
 */

static void test_swift_coprocess(void **state)
{
    (void)state;
    /* Before there is a demangler on the path the name stays as it is... and the decision is kept,
     * so the program is put there first. */
    char folder[] = "/tmp/memhawk-swift-XXXXXX";
    assert_non_null(mkdtemp(folder));
    char path[256], search[4096];
    snprintf(path, sizeof(path), "%s/swift-demangle", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("#!/bin/sh\n[ \"$1\" = -compact ] || exit 1\n"
          "while read -r name; do\n"
          "case $name in '$s4main3fooyyF') echo 'main.foo() -> ()';; die) exit 1;; *) echo "
          "\"$name\";; esac\n"
          "done\n",
          file);
    fclose(file);
    chmod(path, 0700);
    snprintf(search, sizeof(search), "%s:%s", folder, getenv("PATH"));
    setenv("PATH", search, 1);
    char *got = symbol_demangle("$s4main3fooyyF");
    assert_non_null(got);
    assert_string_equal(got, "main.foo() -> ()");
    free(got);
    assert_null(symbol_demangle("$s4unknown"));
    assert_null(symbol_demangle("$s4two\nlines"));
    got = symbol_demangle("$s4main3fooyyF");
    assert_non_null(got);
    free(got);
    unlink(path);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_long_templates),
        cmocka_unit_test(test_nested_templates_of_4000_characters),
        cmocka_unit_test(test_substitution_bombs),
        cmocka_unit_test(test_deep_and_long),
        cmocka_unit_test(test_damaged_names),
        cmocka_unit_test(test_swift_coprocess),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
