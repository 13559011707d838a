// SPDX-License-Identifier: Apache-2.0
/* Names of real compilers: what two builds may differ in goes, what tells functions apart stays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>
#include <string.h>

#include "base/bits.h"
#include "profile/name_normal.h"

static const char *normal(const char *name)
{
    static char text[512];
    size_t length = name_normal_function(name, text);
    assert_int_equal(length, strlen(text));
    assert_true(strlen(text) <= strlen(name));
    return text;
}

static void same(const char *a, const char *b)
{
    char first[512];
    strcpy(first, normal(a));
    assert_string_equal(first, normal(b));
}

static void differ(const char *a, const char *b)
{
    char first[512];
    strcpy(first, normal(a));
    assert_string_not_equal(first, normal(b));
}

static void test_compiler_suffixes(void **state)
{
    (void)state;
    assert_string_equal(normal("f.constprop.0"), "f");
    assert_string_equal(normal("f.part.0.cold"), "f");
    assert_string_equal(normal("f.llvm.15028640"), "f");
    assert_string_equal(normal("parse(int) [clone .isra.0]"), "parse(int)");
    assert_string_equal(normal("memcpy@@GLIBC_2.14"), "memcpy");
    assert_string_equal(normal("malloc@plt"), "malloc");
    /* a dot that is part of the name */
    assert_string_equal(normal("main.parse"), "main.parse");
    assert_string_equal(normal("f.coldplate"), "f.coldplate");
    assert_string_equal(normal(".cold"), ".cold");
}

static void test_lambdas_and_closures(void **state)
{
    (void)state;
    same("main::{lambda(int)#1}::operator()(int) const",
         "main::{lambda(int)#7}::operator()(int) const");
    same("main::{lambda(int)#1}::operator()(int) const",
         "main::{lambda(char)#1}::operator()(char) const");
    differ("main::{lambda(int)#1}::operator()(int) const",
           "parse::{lambda(int)#1}::operator()(int) const");
    same("main::'lambda'(int)::operator()", "main::'lambda12'(int)::operator()");
    same("main::$_0::operator()() const", "main::$_3::operator()() const");
    same("f()::{unnamed type#1}::g()", "f()::{unnamed type#2}::g()");
    same("app::run::closure$0", "app::run::closure$13");
    same("app::run::{{closure}}::h0123456789abcdef", "app::run::{closure#2}");
    same("main.main.func1", "main.main.func12");
    same("main.main.func1.2", "main.main.func3.1");
    same("closure #1 in App.run()", "closure #2 in App.run()");
    same("mod.f.__lambda2", "mod.f.__lambda15");
    differ("main.func1a", "main.func2a");
    differ("sha1", "sha2");
}

/* One lambda: of GCC, where it is inlined, of Clang; and what has it as a parameter. */
static void test_one_lambda_of_several_compilers(void **state)
{
    (void)state;
    assert_string_equal(normal("fill(Tree&)::{lambda(int)#1}::operator()(int) const"),
                        "fill::$_::operator()");
    same("fill(Tree&)::{lambda(int)#1}::operator()(int) const",
         "fill::(anonymous class)::operator()");
    same("fill(Tree&)::{lambda(int)#1}::operator()(int) const",
         "fill(Tree&)::$_0::operator()(int) const");
    same("fill(Tree&)::'lambda'(int)::operator()(int) const",
         "fill(Tree&)::'lambda3'(int)::operator()(int)");
    same("void each<fill(Tree&)::{lambda(int)#1}>(int, fill(Tree&)::{lambda(int)#1}) [clone "
         ".constprop.0]",
         "void each<fill(Tree&)::$_0>(int, fill(Tree&)::$_0)");
    same("auto f(int)::{lambda(auto:1)#1}::operator()<int>(int) const",
         "f::(anonymous class)::operator()<int>");
    same("f()::{lambda(int (*)(char))#1}::operator()(int (*)(char)) const",
         "f::(anonymous class)::operator()");
    same("A::f(int) const::{lambda()#2}::operator()() const",
         "A::f::(anonymous class)::operator()");
    same("f()::{lambda()#1}::operator()() const::{lambda(int)#1}::operator()(int) const",
         "f::(anonymous class)::operator()::(anonymous class)::operator()");
    same("f(int)::Local::g(char)", "f::Local::g(char)");
    /* what tells functions apart stays */
    differ("f(int)", "f(char)");
    differ("A::operator()(int)", "A::operator()(char)");
    differ("each<void (int)>::f", "each<void (char)>::f");
    assert_string_equal(normal("A::operator()(int) const"), "A::operator()(int)const");
    assert_string_equal(normal("f(int)::"), "f::");
    assert_string_equal(normal("{lambda(int"), "{lambda(int");
    assert_string_equal(normal("'lambda"), "'lambda");
    assert_string_equal(normal("f("), "f(");
    assert_string_equal(normal("autopsy()"), "autopsy()");
}

static void test_rust_and_abi(void **state)
{
    (void)state;
    same("core::ptr::drop::h0123456789abcdef", "core::ptr::drop::hfedcba9876543210");
    same("std[a1b2c3d4e5f60718]::io::read", "std[0000000000000000]::io::read");
    same("<app::{impl#0} as T>::f", "<app::{impl#4} as T>::f");
    same("name[abi:cxx11](int)", "name(int)");
    same("(anonymous namespace)::f()", "{anonymous}::f()");
    same("_GLOBAL__N_1::f()", "(anonymous namespace)::f()");
    same("std::vector<int, std::allocator<int> >::push_back(int&&)",
         "std::vector<int,std::allocator<int>>::push_back(int &&)");
    assert_string_equal(normal("operator new(unsigned long)"), "operator new(unsigned long)");
    assert_string_equal(normal("g::h0123456789abcde"), "g::h0123456789abcde"); /* 15 digits */
    assert_string_equal(normal("g::hello_from_abroad"),
                        "g::hello_from_abroad"); /* h and 16 letters */
    assert_string_equal(normal("std::array<int, 3>::at[abc]"), "std::array<int,3>::at[abc]");
    assert_string_equal(normal(""), "");
}

/* Names of an ELF file may be as long as this, and a comparison takes every one of them. */
static void test_long_names(void **state)
{
    enum { LENGTH = 512 << 10 };
    static const char *const parts[] = {"a(", "((", "{lambda(", "1.", ".1", "123456789", "[abi:"};
    (void)state;
    char *name = malloc(LENGTH + 1), *text = malloc(LENGTH + 1);
    assert_non_null(name);
    assert_non_null(text);
    name[LENGTH] = '\0';
    for (size_t p = 0; p < ARRAY_SIZE(parts); p++) {
        size_t part = strlen(parts[p]);
        for (size_t i = 0; i < LENGTH; i++)
            name[i] = parts[p][i % part];
        clock_t begin = clock();
        assert_int_equal(name_normal_function(name, text), LENGTH);
        clock_t taken = clock() - begin;
        if (taken > 2 * CLOCKS_PER_SEC) /* some ms, and was ten seconds or a minute */
            fail_msg("%s: %ld s", parts[p], (long)(taken / CLOCKS_PER_SEC));
        assert_string_equal(text, name);
    }
    free(name);
    free(text);
}

static void module(const char *path, const char *expected)
{
    char text[256];
    size_t length = name_normal_module(path, text);
    assert_int_equal(length, strlen(expected));
    assert_string_equal(text, expected);
}

static void test_modules(void **state)
{
    (void)state;
    module("/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30", "libstdc++.so");
    module("/lib/libc-2.31.so", "libc.so");
    module("/opt/libfoo.so (deleted)", "libfoo.so");
    module("/opt/app-1.2", "app-1.2");
    module("/opt/libfoo-bar.so.1", "libfoo-bar.so");
    module("/opt/x.sock", "x.sock");
    module("[vdso]", "[vdso]");
    module("/", "/");
    module("", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compiler_suffixes),
        cmocka_unit_test(test_lambdas_and_closures),
        cmocka_unit_test(test_one_lambda_of_several_compilers),
        cmocka_unit_test(test_rust_and_abi),
        cmocka_unit_test(test_long_names),
        cmocka_unit_test(test_modules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
