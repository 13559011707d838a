// SPDX-License-Identifier: Apache-2.0
/*
 * The text report, byte for byte, against output checked by hand against the table in
 * export_fake.c; and what must hold for any: the width, no control characters.
 */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bits.h"
#include "export/names.h"
#include "export_fake.h"

static char *report(ViewOptions options)
{
    View view;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    fake_view(options, &view);
    assert_int_equal(export_text.write(&view, out), 0);
    assert_int_equal(fclose(out), 0);
    view_done(&view);
    return text;
}

#define HEAD                                                                                       \
    "/opt/app/prog --title 'two words'\n"                                                          \
    "pid 4711 on box, 5.50 s, exit status 3\n"                                                     \
    "\n"                                                                                           \
    "  peak            1.5 KiB  live, 2.00 s after the start\n"                                    \
    "  allocations          65  of 6.2 KiB in all, 27 temporary (41.5 %)\n"                        \
    "  live at end     1.0 KiB  in 12 blocks, overhead 84 B\n"                                     \
    "  losses       1,234 releases not seen, 9 allocations with stacks cut at the\n"               \
    "               depth limit\n"
#define COLUMNS "  share      bytes    blocks  allocated by, below it the callers\n"

static void check(ViewOptions options, const char *expected)
{
    char *text = report(options);
    assert_string_equal(text, expected);
    free(text);
}

static void test_end(void **state)
{
    (void)state;
    check((ViewOptions){.at_ns = TIME_LAST},
          HEAD "\n"
               "Live bytes at the end, 5.50 s: 1.0 KiB, 4 stacks\n" COLUMNS
               " 58.6 %      600 B         6  std::vector<...>::push_back(int const&)  vector\n"
               "                              build(int)  app.cpp\n"
               "                              main  app.cpp\n"
               "\n"
               " 29.3 %      300 B         3  recurse(int)  app.cpp\n"
               "                              recurse(int)  app.cpp\n"
               "                              recurse(int)  app.cpp\n"
               "                              main  app.cpp\n"
               "\n"
               "  9.8 %      100 B         1  0x1234 (in libc.so.6)\n"
               "                              0x1000 (in [unknown])\n"
               "                              [stack ends early]\n"
               "\n"
               "  2.3 %       24 B         2  [stack not recorded]\n"
               "\n");
}

/* Nothing is left out: also what starts the program. */
static void test_full(void **state)
{
    (void)state;
    char *text = report((ViewOptions){.at_ns = TIME_LAST, .full = true});
    assert_non_null(strstr(text, "main  app.cpp\n"
                                 "                              __libc_start_main  libc.so.6\n"));
    free(text);
}

static void test_inverted(void **state)
{
    (void)state;
    check((ViewOptions){.at_ns = VIEW_AT_PEAK, .inverted = true, .collapse = true, .ascii = true},
          HEAD "\n"
               "Live bytes at the peak, 2.00 s: 1.5 KiB, 3 stacks\n"
               "  share      bytes    blocks  function, below it what it called\n"
               " 86.7 %    1.3 KiB        13  main  app.cpp\n"
               " 66.7 %     1000 B        10  |-build(int)  app.cpp\n"
               "                              | std::vector<...>::push_back(int const&)  vector\n"
               " 20.0 %      300 B         3  `-recurse(int) (x3)  app.cpp\n"
               "\n"
               " 13.3 %      200 B         2  [cut at the depth limit]\n"
               "                              __libc_start_main  libc.so.6\n"
               "                              main  app.cpp\n"
               "                              evil;na me<...><...  e<vil>.cpp\n"
               "\n");
}

static void test_interval(void **state)
{
    (void)state;
    check((ViewOptions){.interval = true,
                        .from_ns = FAKE_PEAK_NS,
                        .to_ns = TIME_LAST,
                        .top = 1,
                        .filter = "main"},
          HEAD "  filter       main\n"
               "\n"
               "Live bytes added from 2.00 s to 5.50 s: 0 B, 0 stacks\n"
               "  nothing\n"
               "\n"
               "Live bytes removed from 2.00 s to 5.50 s: 600 B, 2 stacks\n" COLUMNS
               " 66.7 %      400 B         4  std::vector<...>::push_back(int const&)  vector\n"
               "                              build(int)  app.cpp\n"
               "                              main  app.cpp\n"
               "\n"
               " 33.3 %      200 B         2  \xe2\x80\xa6 1 more\n");
}

/* A moment without a snapshot of its own says whose figures are shown. */
static void check_as_of(ViewOptions options, const char *expected)
{
    char *text = report(options), *note = strstr(text, "  as of ");
    if (!expected) {
        assert_null(note);
    } else {
        assert_non_null(note);
        note[strcspn(note, "\n")] = '\0';
        assert_string_equal(note, expected);
    }
    free(text);
}

static void test_as_of(void **state)
{
    (void)state;
    const uint64_t s = 1000000000;
    check_as_of((ViewOptions){.at_ns = FAKE_PEAK_NS}, NULL);
    check_as_of((ViewOptions){.at_ns = FAKE_PEAK_NS + 4000000}, NULL); /* shown as 2.00 s too */
    check_as_of((ViewOptions){.at_ns = FAKE_PEAK_NS + s}, "  as of the snapshot at 2.00 s");
    check_as_of((ViewOptions){.at_ns = FAKE_PEAK_NS - s}, "  as of the start");
    check_as_of((ViewOptions){.interval = true, .from_ns = FAKE_START_NS, .to_ns = TIME_LAST},
                NULL);
    check_as_of(
        (ViewOptions){.interval = true, .from_ns = FAKE_START_NS + s, .to_ns = FAKE_LAST_NS - s},
        "  as of the start and the snapshot at 2.00 s");
}

/* 2,000 stacks under one chain of 38: gathered below 1 %, the chain cut, and whole with `full`. */
static void test_large(void **state)
{
    (void)state;
    fake_large(2000, 40);
    char *text = report((ViewOptions){.at_ns = TIME_LAST, .inverted = true});
    assert_non_null(strstr(text, "\xe2\x8b\xae 23 more frames\n")); /* 37 follow: 12, 23, 2 */
    assert_non_null(strstr(text, "100.0 %    1.9 MiB     2,001  "));
    assert_non_null(strstr(text, "\xe2\x80\xa6 2 more\n") ? text : strstr(text, "more\n"));
    size_t cut = strlen(text);
    free(text);
    text = report((ViewOptions){.at_ns = TIME_LAST, .inverted = true, .full = true});
    assert_null(strstr(text, "more frames"));
    assert_true(strlen(text) > cut);
    free(text);
    fake_small();
}

static void check_lines(const char *text, unsigned width, bool ascii)
{
    char *copy = strdup(text), *rest = copy;
    for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n")) {
        assert_true(name_columns(line) <= width);
        for (const char *p = line; *p; p++)
            assert_true((unsigned char)*p >= ' ' && *p != 0x7f && (!ascii || *p > 0));
    }
    free(copy);
}

static void test_any_width(void **state)
{
    (void)state;
    for (unsigned width = 40; width <= 140; width++)
        for (int ascii = 0; ascii <= 1; ascii++)
            for (int inverted = 0; inverted <= 1; inverted++) {
                char *text = report((ViewOptions){.at_ns = VIEW_AT_PEAK,
                                                  .width = width,
                                                  .ascii = ascii,
                                                  .inverted = inverted,
                                                  .metric = METRIC_TOTAL_COUNT});
                check_lines(text, width, ascii);
                free(text);
            }
}

/* Forty columns: shares, bytes and names; the figures beside them are left out. */
static void test_narrow(void **state)
{
    (void)state;
    char *text = report((ViewOptions){.at_ns = VIEW_AT_PEAK, .inverted = true, .width = 40});
    assert_non_null(strstr(text, "  peak            1.5 KiB at 2.00 s\n"
                                 "  allocations          65 of 6.2 KiB\n"
                                 "  live at end     1.0 KiB in 12 blocks\n"));
    assert_non_null(strstr(text, "  share      bytes  function\n"
                                 " 86.7 %    1.3 KiB  main\n"
                                 " 66.7 %     1000 B  \xe2\x94\x9c build(int)\n"));
    free(text);
}

static void test_empty(void **state)
{
    (void)state;
    fake_empty();
    char *text = report((ViewOptions){.at_ns = TIME_LAST});
    assert_non_null(strstr(text, "Live bytes at the end, 5.50 s: 0 B, 0 stacks\n  nothing\n"));
    free(text);
    fake_small();
}

static int begin(void **state)
{
    (void)state;
    setlocale(LC_CTYPE, "C.UTF-8");
    fake_small();
    return 0;
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
        cmocka_unit_test(test_end),    cmocka_unit_test(test_inverted),
        cmocka_unit_test(test_full),   cmocka_unit_test(test_interval),
        cmocka_unit_test(test_large),  cmocka_unit_test(test_any_width),
        cmocka_unit_test(test_empty),  cmocka_unit_test(test_as_of),
        cmocka_unit_test(test_narrow),
    };
    return cmocka_run_group_tests(tests, begin, done);
}
