// SPDX-License-Identifier: Apache-2.0
/*
 * The writer of large answers against jansson, which must read back exactly what was put in.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "web/json_out.h"

static json_t *parse(JsonOut *out)
{
    ApiReply reply = {.status = 200};
    json_error_t error;
    assert_int_equal(json_out_reply(out, &reply), 0);
    json_t *body = json_loadb(reply.body, reply.size, 0, &error);
    if (!body)
        fail_msg("%s: %.*s", error.text, (int)reply.size, reply.body);
    free(reply.body);
    return body;
}

static void test_integers(void **state)
{
    (void)state;
    enum { COUNT = 20000 };
    static int64_t values[COUNT];
    static const int64_t edges[] = {0,  1,   -1,  9,    10,   99,        100,       101,
                                    -9, -10, -99, -100, 1000, INT64_MAX, INT64_MIN, INT64_MIN + 1};
    uint64_t seed = 12345;
    memcpy(values, edges, sizeof(edges));
    for (size_t i = sizeof(edges) / sizeof(*edges); i < COUNT; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        values[i] = (int64_t)seed >> (i % 64);
    }
    JsonOut out = {0};
    json_out_integers(&out, NULL, values, COUNT);
    json_t *body = parse(&out);
    assert_int_equal(json_array_size(body), COUNT);
    for (size_t i = 0; i < COUNT; i++)
        assert_true(json_integer_value(json_array_get(body, i)) == values[i]);
    json_decref(body);
}

static void test_nesting(void **state)
{
    (void)state;
    JsonOut out = {0};
    Values values = {{1, 2, 3, 4, 5, -6}};
    json_out_open(&out, NULL, '{');
    json_out_integers(&out, "none", NULL, 0);
    json_out_open(&out, "list", '[');
    json_out_integer(&out, NULL, -7);
    json_out_open(&out, NULL, '{');
    json_out_close(&out, '}');
    json_out_text(&out, NULL, "a \"b\" \n</script>");
    json_out_text(&out, NULL, NULL);
    json_out_close(&out, ']');
    json_out_metrics(&out, "values", &values);
    json_out_value(&out, "last", json_true());
    json_out_close(&out, '}');
    json_t *body = parse(&out);
    json_t *expected =
        json_pack("{s:[], s:[i, {}, s, n], s:{s:i, s:i, s:i, s:i, s:i, s:i}, s:b}", "none", "list",
                  -7, "a \"b\" \n</script>", "values", "live-bytes", 1, "live-count", 2,
                  "total-bytes", 3, "total-count", 4, "temporary", 5, "overhead", -6, "last", 1);
    assert_non_null(expected);
    assert_true(json_equal(body, expected));
    json_decref(body);
    json_decref(expected);
}

/* What jansson refuses makes the whole answer fail, not a hole in it. */
static void test_failure(void **state)
{
    (void)state;
    JsonOut out = {0};
    ApiReply reply = {.status = 200};
    json_out_open(&out, NULL, '[');
    json_out_value(&out, NULL, json_string("\xff")); /* NULL: no UTF-8 */
    json_out_close(&out, ']');
    assert_true(json_out_reply(&out, &reply) < 0);
    assert_null(reply.body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_nesting),
        cmocka_unit_test(test_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
