// SPDX-License-Identifier: Apache-2.0
/* Filters: what matches (by hand), what is refused and where, and that none costs more than it may.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bits.h"
#include "base/clock.h"
#include "export/filter.h"

static int match(const char *expression, const char *text)
{
    Filter *filter;
    char why[200];
    if (filter_new(expression, 0, why, sizeof(why), &filter) < 0)
        fail_msg("%s: %s", expression, why);
    assert_string_equal(why, "");
    int r = filter_match(filter, text);
    assert_int_equal(filter_match(filter, text), r); /* it keeps nothing */
    filter_free(filter);
    return r;
}

static void test_matches(void **state)
{
    static const struct {
        const char *expression, *text;
        int want;
    } rows[] = {
        {"put", "cache_put", 1},
        {"PUT", "cache_put", 0},
        {"(?i)PUT", "cache_put", 1},
        {"^put", "cache_put", 0},
        {"put$", "cache_put", 1},
        {"^(recurse|build)\\(", "build(int)", 1},
        {"^(recurse|build)\\(", "rebuild(int)", 0},
        {"[[:digit:]]{2,3}x", "a12x", 1},
        {"[[:digit:]]{2,3}x", "a1x", 0},
        {"operator new\\[\\]", "operator new[](unsigned long)", 1},
        {"std::(?!vector)", "std::vector<int>", 0}, /* what a POSIX expression cannot say */
        {"std::(?!vector)", "std::list<int>", 1},
        {"(a.)\\1", "abab", 1},
        {"libc\\.so", "/usr/lib/libc.so.6", 1},
        {"libc\\.so", "/usr/lib/libcxso.6", 0},
        {"", "anything", 1},
        {"x", "", 0},
        {"^$", "", 1},
        {"^.$", "\xc3\xa9", 1}, /* one letter, two bytes */
        {"(?i)\xc3\x89t\xc3\xa9", "l'\xc3\xa9t\xc3\xa9", 1},
        {"end", "\xff\xfe not UTF-8 \x80 end", 1},
        {"8.*end", "\xff\xfe not UTF-8 \x80 end", 0},
        {"a(?C1)b", "ab", 1}, /* a callout of its own */
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (match(rows[i].expression, rows[i].text) != rows[i].want)
            fail_msg("%s on %s: not %d", rows[i].expression, rows[i].text, rows[i].want);
}

static void test_refusals(void **state)
{
    static const struct {
        const char *expression, *where;
    } rows[] = {
        {"a(", "(at byte 2)"},    {"ab)", "(at byte 2)"},
        {"[z-a]", "(at byte 3)"}, {"*a", "(at byte 0)"},
        {"a\\", "(at byte 2)"},   {"\\C", "(at byte 2)"},
        {"a\xff", "(at byte 1)"}, {"((a{1,100}){1,100}){1,100}", "too large"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        Filter *filter = NULL;
        char why[200], small[8];
        assert_int_equal(filter_new(rows[i].expression, 0, why, sizeof(why), &filter), -EINVAL);
        assert_null(filter);
        if (!strstr(why, rows[i].where))
            fail_msg("%s: %s", rows[i].expression, why);
        assert_int_equal(filter_new(rows[i].expression, 0, small, sizeof(small), &filter), -EINVAL);
        assert_true(memchr(small, 0, sizeof(small)) && strncmp(small, why, 7) == 0);
        assert_int_equal(filter_new(rows[i].expression, 0, NULL, 0, &filter), -EINVAL);
    }
}

static void test_length(void **state)
{
    char text[FILTER_BYTES_MAX + 2] = "";
    Filter *filter;
    (void)state;
    memset(text, 'x', FILTER_BYTES_MAX);
    assert_int_equal(match(text, "x"), 0);
    text[FILTER_BYTES_MAX] = 'x';
    assert_int_equal(filter_new(text, 0, NULL, 0, &filter), -EINVAL);
    memset(text, '(', 400);
    assert_int_equal(filter_new(text, 0, NULL, 0, &filter), -EINVAL);
}

/* Each took seconds to minutes, or a GiB, with regcomp() and regexec(), or does by backtracking.
 * The limit is 50 ms of CPU; one second is what a sanitizer on a loaded machine may add to it. */
static void test_cost(void **state)
{
    static const char *const expressions[] = {
        "((((m*)*)*)*){99}",
        "m{0,}{0,}{0,}{2,3}{2,31}",
        "o(?:(?:(?:(?:(?:(?:(?:*)*)*)*)*)*)*)*{0477,}1",
        "((((((((((a+)+)+)+)+)+)+)+)+)+)+$",
        "(a*)*b",
        "(a|aa)+$",
        "(a|a|a|a)*c",
        "(.*)*(.*)*(.*)*x",
        "a.*a.*a.*a.*a.*a.*a.*x",
        "([aeiou].{30}#|(a+){5,}){9}x",
        "(?=(a+)+b)(?R)?",
        "(a?){300}a{300}b",
    };
    char *text = malloc(20001);
    (void)state;
    assert_non_null(text);
    memset(text, 'a', 20000);
    text[20000] = '\0';
    for (size_t i = 0; i < ARRAY_SIZE(expressions); i++) {
        Filter *filter;
        uint64_t start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        if (filter_new(expressions[i], 50000000, NULL, 0, &filter) == 0) {
            int r = filter_match(filter, text);
            if (r != 0 && r != 1 && r != -ETIME)
                fail_msg("%s: %d", expressions[i], r);
            filter_free(filter);
        }
        uint64_t took = clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
        if (took > 1000000000)
            fail_msg("%s: %llu ms", expressions[i], (unsigned long long)took / 1000000);
    }
    free(text);
}

/* Cheap matches add up, too: the time is that of all together. */
static void test_time_of_all(void **state)
{
    Filter *filter;
    size_t tries = 0;
    (void)state;
    assert_int_equal(filter_new("x", 10000000, NULL, 0, &filter), 0);
    while (tries < 1U << 30 && filter_match(filter, "y") == 0)
        tries++;
    assert_in_range(tries, 1, (1U << 30) - 1);
    filter_free(filter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matches),     cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_length),      cmocka_unit_test(test_cost),
        cmocka_unit_test(test_time_of_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
