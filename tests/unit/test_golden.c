// SPDX-License-Identifier: Apache-2.0
/*
 * Golden files of every format version stay readable: each tests/golden/NAME.binpb is loaded and
 * what the model says is compared with NAME.expected, which was checked by hand against NAME.txt.
 * And NAME.binpb must be what the independent encoder makes of NAME.txt, up to compression: a file
 * made now gives the same. With MEMHAWK_UPDATE_GOLDEN=1 in the environment the expectations are
 * written anew instead.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "profile_dump.h"
#include "profile_fixture.h"

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = NULL;
    size_t capacity = 0;
    ssize_t n;

    if (!file)
        fail_msg("%s: %s", path, strerror(errno));
    n = getdelim(&text, &capacity, 0, file);
    fclose(file);
    if (n < 0)
        fail_msg("%s: empty", path);
    return text;
}

static char *dump_file(const char *path)
{
    ProfileError error = {0};
    Profile *profile;
    char *text = NULL;
    size_t bytes;
    FILE *out;

    if (profile_open(path, &profile, &error) < 0)
        fail_msg("%s: %s", path, error.message);
    out = open_memstream(&text, &bytes);
    profile_dump(profile, out);
    fclose(out);
    profile_close(profile);
    return text;
}

static void check_golden(const char *name, const char *schema)
{
    char binpb[512], expected[512], txt[512], fresh[64];
    char *dump, *want;

    snprintf(binpb, sizeof binpb, "%s/%s.binpb", GOLDEN_DIR, name);
    snprintf(expected, sizeof expected, "%s/%s.expected", GOLDEN_DIR, name);
    snprintf(txt, sizeof txt, "%s/%s.txt", GOLDEN_DIR, name);
    dump = dump_file(binpb);
    if (getenv("MEMHAWK_UPDATE_GOLDEN")) {
        FILE *out = fopen(expected, "w");
        assert_non_null(out);
        fputs(dump, out);
        fclose(out);
    }
    want = read_file(expected);
    assert_string_equal(dump, want);
    free(dump);

    fixture_make_from(schema, txt, fresh);
    dump = dump_file(fresh);
    assert_string_equal(dump, want);
    unlink(fresh);
    free(dump);
    free(want);
}

static void test_published(void **state)
{
    (void)state;
    check_golden("published", "published");
}

static void test_v1(void **state)
{
    (void)state;
    check_golden("v1", "memhawk");
}

static void test_damaged(void **state)
{
    (void)state;
    check_golden("damaged", "memhawk");
}

static void test_future(void **state)
{
    char schema[512];

    (void)state;
    snprintf(schema, sizeof schema, "%s/future.proto", GOLDEN_DIR);
    check_golden("future", schema);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published),
        cmocka_unit_test(test_v1),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_future),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
