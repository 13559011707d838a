// SPDX-License-Identifier: Apache-2.0
/* Budget files: what is accepted, and one clear message with the line for what is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "profile/budget.h"

static void test_reads(void **state)
{
    (void)state;
    static const char text[] = "# budget of the parser\r\n"
                               "max-peak = \"1.5 MiB\"\n"
                               "\n"
                               "[parse]  # hot\n"
                               "max-allocations = 1_000\r\n"
                               "  max-bytes='4 KiB'\r\n"
                               "[\"BM_x/8 \\\"q\\\"\"]\n"
                               "max-temporary = 0\n"
                               "max-live-at-end = 64";
    Budget *budget;
    BudgetError error;
    assert_int_equal(budget_parse(text, sizeof text - 1, &budget, &error), 0);
    assert_int_equal(budget->section_count, 3);
    assert_null(budget->sections[0].window);
    assert_true(budget->sections[0].is_set[BUDGET_PEAK]);
    assert_false(budget->sections[0].is_set[BUDGET_BYTES]);
    assert_int_equal(budget->sections[0].max[BUDGET_PEAK], 3 << 19);
    assert_string_equal(budget->sections[1].window, "parse");
    assert_int_equal(budget->sections[1].max[BUDGET_ALLOCATIONS], 1000);
    assert_int_equal(budget->sections[1].max[BUDGET_BYTES], 4096);
    assert_string_equal(budget->sections[2].window, "BM_x/8 \"q\"");
    assert_true(budget->sections[2].is_set[BUDGET_TEMPORARY]);
    assert_int_equal(budget->sections[2].max[BUDGET_TEMPORARY], 0);
    assert_int_equal(budget->sections[2].max[BUDGET_LIVE_AT_END], 64);
    budget_free(budget);
}

static void test_long_window_names(void **state)
{
    (void)state;
    char text[400], name[256];
    memset(name, 'n', 255);
    name[255] = '\0';
    snprintf(text, sizeof text, "[%s]\nmax-bytes = 1\n", name);
    Budget *budget;
    BudgetError error;
    assert_int_equal(budget_parse(text, strlen(text), &budget, &error), 0);
    assert_string_equal(budget->sections[0].window, name);
    budget_free(budget);
}

static void refuse(const char *text, unsigned line, const char *message)
{
    Budget *budget = NULL;
    BudgetError error;
    assert_int_equal(budget_parse(text, strlen(text), &budget, &error), -EINVAL);
    assert_null(budget);
    if (error.line != line || !strstr(error.message, message))
        fail_msg("for <%s> got line %u: %s", text, error.line, error.message);
}

static void test_refuses(void **state)
{
    (void)state;
    refuse("[parse]\n\nmax-alocations = 7\n", 3, "did you mean max-allocations?");
    refuse("foo = 7\n", 1, "keys are max-allocations");
    refuse("max-bytes = 7\nmax-bytes = 8\n", 2, "set twice");
    refuse("[a]\nmax-bytes = 7\n[b]\nmax-bytes=1\n[a]\n", 5, "already, on line 1");
    refuse("[a\n", 1, "]");
    refuse("[a b]\n", 1, "needs quotes");
    refuse("[]\n", 1, "");
    refuse("[\"\"]\n", 1, "name of a window");
    refuse("[\"a\n", 1, "closing quote");
    refuse("[\"a\\n\"]\n", 1, "after \\");
    refuse("[[a]]\n", 1, "[[");
    refuse("[a] x\n", 1, "unexpected text");
    refuse("max-bytes = 4 KiB\n", 1, "needs quotes");
    refuse("max-bytes = \"4 XiB\"\n", 1, "wants bytes");
    refuse("max-bytes = \"4\" 5\n", 1, "unexpected text");
    refuse("max-allocations = \"4 KiB\"\n", 1, "a whole number");
    refuse("max-allocations = 1.5\n", 1, "a whole number");
    refuse("max-allocations = -1\n", 1, "a whole number");
    refuse("max-allocations =\n", 1, "a whole number");
    refuse("max-allocations = 99999999999999999999\n", 1, "too large");
    refuse("max-bytes = \"9999999999999 GiB\"\n", 1, "too large");
    refuse("max-bytes 4\n", 1, "key = value");
    refuse("= 4\n", 1, "key = value");
    refuse("# only this\n", 0, "no limit");
    refuse("[a]\n", 1, "section \"a\" has no limit");
    refuse("max-bytes = 1\n[a]\nmax-bytes = 1\n[b]\n# max-bytes = 1\n", 4,
           "section \"b\" has no limit");
    refuse("\xef\xbb\xbf[a]\n", 1, "no limit");
    refuse("\xef\xbb\xbf\xef\xbb\xbf[a]\n", 1, "key = value");
    refuse("", 0, "no limit");
}

static void test_long_lines(void **state)
{
    (void)state;
    char text[3000];
    memset(text, ' ', sizeof text);
    memcpy(text, "max-bytes = ", 12);
    text[2998] = '4';
    text[2999] = '\0';
    refuse(text, 1, "line longer");
}

static void test_amounts(void **state)
{
    (void)state;
    uint64_t amount;
    static const struct {
        const char *text;
        uint64_t amount;
    } good[] = {{"0", 0},           {"4096", 4096},
                {"4KiB", 4096},     {"1.5 KiB", 1536},
                {"2 kB", 2000},     {"2 MB", 2000000},
                {"64 B", 64},       {"1 GiB", 1 << 30},
                {" 10_000", 10000}, {"9223372036854775807", INT64_MAX}};
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        assert_int_equal(budget_amount(good[i].text, true, &amount), 0);
        assert_int_equal(amount, good[i].amount);
    }
    static const char *const bad[] = {"",   "KiB", "1 kib", "-1",    "1e3",  "1.",
                                      ".5", "_1",  "1__0",  "1.2.3", "0x10", "1 KiBx"};
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_int_equal(budget_amount(bad[i], true, &amount), -EINVAL);
    assert_int_equal(budget_amount("4KiB", false, &amount), -EINVAL);
    assert_int_equal(budget_amount("9223372036854775808", true, &amount), -ERANGE);
    assert_int_equal(budget_amount("00000000000000000000000000000000000001", true, &amount),
                     -ERANGE);
}

static void test_files(void **state)
{
    (void)state;
    char path[] = "/tmp/memhawk_budget_XXXXXX";
    Budget *budget;
    BudgetError error;
    assert_int_equal(budget_read("/nonexistent/budget", &budget, &error), -ENOENT);
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "[a]\nmax-peak = 5\n", 17), 17);
    assert_int_equal(budget_read(path, &budget, &error), 0);
    assert_int_equal(budget->sections[0].max[BUDGET_PEAK], 5);
    budget_free(budget);
    assert_int_equal(ftruncate(fd, 2 << 20), 0);
    assert_int_equal(budget_read(path, &budget, &error), -EINVAL);
    assert_non_null(strstr(error.message, "1 MiB"));
    close(fd);
    unlink(path);
}

/* Any bytes: no crash, and an error always has a text (run under ASan in CI). */
static void test_garbage(void **state)
{
    (void)state;
    static const char alphabet[] = "[]\"'\\=#\n max-bytes0123KiB_.\t\r";
    uint64_t random = 7;
    for (int round = 0; round < 20000; round++) {
        char text[64];
        size_t length = (random = hash_mix(random, 1)) % sizeof text;
        for (size_t i = 0; i < length; i++)
            text[i] = alphabet[(random = hash_mix(random, 2)) % (sizeof alphabet)];
        Budget *budget = NULL;
        BudgetError error;
        if (budget_parse(text, length, &budget, &error) == 0)
            budget_free(budget);
        else
            assert_true(error.message[0] != '\0');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads),   cmocka_unit_test(test_long_window_names),
        cmocka_unit_test(test_refuses), cmocka_unit_test(test_long_lines),
        cmocka_unit_test(test_amounts), cmocka_unit_test(test_files),
        cmocka_unit_test(test_garbage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
