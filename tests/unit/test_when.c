// SPDX-License-Identifier: Apache-2.0
/* Moments on the command line: expectations by `date -u -d ... +%s` and by hand. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/bits.h"
#include "cli/when.h"
#include "profile/profile.h"

#define START UINT64_C(1700000000000000000)

static void test_seconds(void **state)
{
    static const struct {
        const char *text;
        uint64_t since_start_ns;
    } rows[] = {
        {"0", 0},
        {"2", 2000000000},
        {"0.25", 250000000},
        {"1.000000001", 1000000001},
        {"1.0000000019", 1000000001}, /* finer than ns is cut, not rounded */
        {"3.5s", 3500000000},
        {"007", 7000000000},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        uint64_t ns = 1;
        assert_int_equal(when_parse(rows[i].text, START, &ns), 0);
        assert_int_equal(ns - START, rows[i].since_start_ns);
    }
}

static void test_words(void **state)
{
    uint64_t ns;
    (void)state;
    assert_int_equal(when_parse("start", START, &ns), 0);
    assert_int_equal(ns, TIME_FIRST);
    assert_int_equal(when_parse("end", START, &ns), 0);
    assert_int_equal(ns, TIME_LAST);
}

static void test_rfc3339(void **state)
{
    static const struct {
        const char *text;
        uint64_t ns;
    } rows[] = {
        {"1970-01-01T00:00:00Z", 0},
        {"2026-01-31T12:00:00Z", UINT64_C(1769860800000000000)},
        {"2026-01-31t12:00:00z", UINT64_C(1769860800000000000)},
        {"2026-01-31 12:00:00Z", UINT64_C(1769860800000000000)},
        {"2026-01-31T12:00:00.5Z", UINT64_C(1769860800500000000)},
        {"2026-01-31T14:00:00+02:00", UINT64_C(1769860800000000000)},
        {"2026-01-31T06:30:00-05:30", UINT64_C(1769860800000000000)},
        {"2024-02-29T00:00:00Z", UINT64_C(1709164800000000000)},
        {"2016-12-31T23:59:60Z", UINT64_C(1483228800000000000)}, /* leap second */
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        uint64_t ns = 1;
        assert_int_equal(when_parse(rows[i].text, START, &ns), 0);
        assert_int_equal(ns, rows[i].ns);
    }
}

static void test_refused(void **state)
{
    static const char *const rows[] = {
        "",
        "x",
        "-1",
        "+1",
        "1.",
        ".5",
        "1,5",
        "1e3",
        "0x10",
        " 1",
        "1 ",
        "nan",
        "inf",
        "99999999999999999999",
        "peak",                 /* a choice of --at, not a moment */
        "2026-01-31T12:00:00",  /* no zone */
        "2026-01-31",           /* no time */
        "2026-02-31T00:00:00Z", /* no such day */
        "2025-02-29T12:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-01-31T24:00:00Z",
        "2026-01-31T12:60:00Z",
        "2026-01-31T12:00:00.Z",
        "2026-01-31T12:00:00Zx",
        "2026-01-31T12:00:00+2:00",
        "2026-01-31T12:00:00+0200",
        "26-01-31T12:00:00Z",
        "1970-01-01T00:00:00+01:00", /* before the epoch */
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        uint64_t ns = 42;
        if (when_parse(rows[i], START, &ns) != -EINVAL || when_check(rows[i]) != -EINVAL)
            fail_msg("'%s' was accepted", rows[i]);
        assert_int_equal(ns, 42); /* written only on success */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_seconds),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_rfc3339),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
