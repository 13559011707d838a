// SPDX-License-Identifier: Apache-2.0
/* Parameters of the API: what is taken as what, and that wrong ones are told by their name. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bits.h"
#include "web/http_query.h"
#include "web/query.h"
#include "web/selection.h"

/* "a=1&b=2", without escapes. */
static ApiQuery *parse(const char *text)
{
    ApiQuery *query;
    char copy[1000], *rest = NULL;
    assert_int_equal(http_query_new(&query), 0);
    strncpy(copy, text, sizeof(copy) - 1);
    copy[sizeof(copy) - 1] = 0;
    for (char *at = strtok_r(copy, "&", &rest); at; at = strtok_r(NULL, "&", &rest)) {
        char *value = strchr(at, '=');
        size_t length = (size_t)(value - at);
        assert_int_equal(http_query_add(query, at, length, value + 1, strlen(value + 1)), 0);
    }
    return query;
}

/* The reply is a 400 whose message names the parameter. */
static void check_refusal(ApiReply *reply, const char *parameter)
{
    assert_int_equal(reply->status, 400);
    json_t *body = json_loads(reply->body, 0, NULL), *error = json_object_get(body, "error");
    const char *message = json_string_value(json_object_get(error, "message"));
    assert_string_equal(json_string_value(json_object_get(error, "code")), "bad-request");
    if (strncmp(message, parameter, strlen(parameter)) != 0)
        fail_msg("%s: the message is %s", parameter, message);
    json_decref(body);
    free(reply->body);
}

static Selection good(const char *text)
{
    ApiReply reply = {0};
    Selection selection;
    ApiQuery *query = parse(text);
    if (!selection_parse(query, &reply, &selection))
        fail_msg("%s: %s", text, reply.body);
    if (selection.filter)
        selection.filter = "given"; /* the query goes */
    http_query_free(query);
    return selection;
}

static void test_defaults(void **state)
{
    (void)state;
    Selection s = good("id=1");
    assert_int_equal(s.mode, SELECTION_PEAK);
    assert_int_equal(s.metric, METRIC_LIVE_BYTES);
    assert_int_equal(s.granularity, GRANULARITY_FUNCTION);
    assert_null(s.filter);
    assert_true(s.from_ns == TIME_FIRST && s.to_ns == TIME_LAST);
    assert_true(good("mode=moment").at_ns == TIME_LAST);
    assert_null(good("filter=").filter);
}

/* The end of the microsecond for moments; a span for the peak begins at the begin of it. */
static void test_times(void **state)
{
    (void)state;
    Selection moment = good("mode=moment&at=1700000000000001");
    assert_true(moment.at_ns == UINT64_C(1700000000000001999));
    Selection between = good("mode=between&from=5&to=5");
    assert_true(between.from_ns == 5999 && between.to_ns == 5999);
    Selection peak = good("from=5&to=5");
    assert_true(peak.from_ns == 5000 && peak.to_ns == 5999);
    Selection whole = good("mode=between&from=start&to=end");
    assert_true(whole.from_ns == TIME_FIRST && whole.to_ns == TIME_LAST);
    assert_true(good("mode=moment&at=0").at_ns == 999);
}

static void test_words(void **state)
{
    (void)state;
    assert_int_equal(good("metric=temporary&granularity=line").granularity, GRANULARITY_LINE);
    assert_int_equal(good("metric=temporary").metric, METRIC_TEMPORARY);
    assert_int_equal(good("mode=window&window=w").mode, SELECTION_WINDOW);
    for (int m = 0; m < 4; m++) {
        char text[64];
        snprintf(text, sizeof(text), "window=w&mode=%s", selection_mode_name((SelectionMode)m));
        assert_int_equal(good(text).mode, m);
    }
    assert_non_null(good("filter=^a+(b|c){2,3}[{]{5}$").filter);
    assert_non_null(good("filter=a\\.b\\{9999\\}(?i)(x*)\\1").filter);
    assert_non_null(good("filter=(ab|cd){1,100}e{0,9}(f{2,})+$").filter);
}

static void test_refusals(void **state)
{
    static const struct {
        const char *text, *parameter;
    } rows[] = {
        {"mode=x", "mode:"},
        {"mode=", "mode:"},
        {"metric=bytes", "metric:"},
        {"granularity=file", "granularity:"},
        {"mode=moment&at=", "at:"},
        {"mode=moment&at=x", "at:"},
        {"mode=moment&at=-1", "at:"},
        {"mode=moment&at=+1", "at:"},
        {"mode=moment&at= 1", "at:"},
        {"mode=moment&at=1.5", "at:"},
        {"mode=moment&at=1e3", "at:"},
        {"mode=moment&at=0x10", "at:"},
        {"mode=moment&at=peak", "at:"},
        {"mode=moment&at=18446744073709551", "at:"}, /* past the last ns */
        {"mode=moment&at=99999999999999999999", "at:"},
        {"mode=between&from=6&to=5", "from:"},
        {"mode=between&from=end&to=5", "from:"},
        {"mode=between&from=z", "from:"},
        {"to=z", "to:"},
        {"from=6&to=5", "from:"},
        {"mode=window", "window:"},
        {"mode=window&window=w&metric=overhead", "metric:"},
        {"filter=(", "filter:"},
        {"filter=[z-a]", "filter:"},
        {"filter=((a{1,100}){1,100}){1,100}", "filter:"},
        {"filter=a**", "filter:"},
        {"filter=*a", "filter:"},
        {"filter=\\C", "filter:"}, /* a byte amid UTF-8 */
        {"filter=((", "filter:"},
        {"filter=[", "filter:"},
        {"filter=[[:", "filter:"},
        {"filter=a{99999999999999999999999}", "filter:"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        ApiReply reply = {0};
        Selection selection;
        ApiQuery *query = parse(rows[i].text);
        if (selection_parse(query, &reply, &selection))
            fail_msg("%s is taken", rows[i].text);
        check_refusal(&reply, rows[i].parameter);
        http_query_free(query);
    }
}

static void test_long_filter(void **state)
{
    char text[600] = "filter=";
    (void)state;
    memset(text + 7, 'x', 500);
    assert_non_null(good(text).filter);
    text[507] = 'x';
    ApiReply reply = {0};
    Selection selection;
    ApiQuery *query = parse(text);
    assert_false(selection_parse(query, &reply, &selection));
    check_refusal(&reply, "filter:");
    http_query_free(query);
}

static void test_numbers(void **state)
{
    static const char *const bad[] = {
        "9", "21", "", "x", "10x", " 10", "-10", "+10", "1e1", "0xa", "99999999999999999999999"};
    uint64_t value;
    bool flag;
    uint32_t id;
    (void)state;
    ApiQuery *query = parse("low=10&high=20&on=1&off=0&two=2&id=4294967294&big=4294967295");
    ApiReply reply = {0};
    assert_true(query_number(query, &reply, "low", 10, 20, 15, &value) && value == 10);
    assert_true(query_number(query, &reply, "high", 10, 20, 15, &value) && value == 20);
    assert_true(query_number(query, &reply, "none", 10, 20, 15, &value) && value == 15);
    assert_true(query_flag(query, &reply, "on", &flag) && flag);
    assert_true(query_flag(query, &reply, "off", &flag) && !flag);
    assert_true(query_flag(query, &reply, "none", &flag) && !flag);
    assert_true(query_id(query, &reply, "id", &id) && id == 4294967294U);
    assert_null(reply.body);
    assert_false(query_flag(query, &reply, "two", &flag));
    check_refusal(&reply, "two:");
    reply = (ApiReply){0};
    assert_false(query_id(query, &reply, "big", &id));
    check_refusal(&reply, "big:");
    reply = (ApiReply){0};
    assert_false(query_id(query, &reply, "none", &id));
    check_refusal(&reply, "none:");
    http_query_free(query);
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        assert_int_equal(http_query_new(&query), 0);
        assert_int_equal(http_query_add(query, "n", 1, bad[i], strlen(bad[i])), 0);
        reply = (ApiReply){0};
        if (query_number(query, &reply, "n", 10, 20, 15, &value))
            fail_msg("'%s' is taken", bad[i]);
        check_refusal(&reply, "n:");
        http_query_free(query);
    }
}

static void test_query(void **state)
{
    ApiQuery *query;
    char name[8];
    (void)state;
    assert_int_equal(http_query_new(&query), 0);
    assert_int_equal(http_query_add(query, "a", 1, "1", 1), 0);
    assert_int_equal(http_query_add(query, "a", 1, "1", 1), -EEXIST);
    assert_int_equal(http_query_add(query, "flag", 4, NULL, 7), 0);
    assert_string_equal(api_query_get(query, "flag"), "");
    assert_int_equal(http_query_add(query, "b", 1, "x\0y", 3), -EINVAL);
    assert_int_equal(http_query_add(query, "b\0c", 3, "x", 1), -EINVAL);
    assert_int_equal(http_query_add(query, "b", 1, "\xff", 1), -EINVAL);
    assert_int_equal(http_query_add(query, "b", 1, "\xc0\xae", 2), -EINVAL);     /* overlong */
    assert_int_equal(http_query_add(query, "b", 1, "\xed\xa0\x80", 3), -EINVAL); /* surrogate */
    assert_int_equal(http_query_add(query, "b", 1, "\xc3\xa4", 2), 0);
    assert_string_equal(api_query_get(query, "b"), "ä");
    assert_null(api_query_get(query, "c"));
    for (int i = 3; i < 32; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        assert_int_equal(http_query_add(query, name, strlen(name), "", 0), 0);
    }
    assert_int_equal(http_query_add(query, "z", 1, "", 0), -E2BIG);
    http_query_free(query);
}

/* What is told may hold names of hostile profiles. */
static void test_errors_are_json(void **state)
{
    ApiReply reply = {.file_name = strdup("x")};
    (void)state;
    assert_int_equal(api_fail(&reply, 404, "not-found", "%s", "\xff\x01 \"</script>"), 0);
    assert_null(reply.file_name);
    json_t *body = json_loads(reply.body, 0, NULL);
    assert_non_null(body);
    assert_int_equal(strlen(reply.body), reply.size);
    json_decref(body);
    char text[2000];
    memset(text, 'y', sizeof(text));
    text[sizeof(text) - 1] = 0;
    assert_int_equal(api_fail(&reply, 500, "internal", "%s", text), 0); /* replaces the first */
    assert_int_equal(reply.status, 500);
    body = json_loads(reply.body, 0, NULL);
    assert_non_null(body);
    json_decref(body);
    free(reply.body);
    assert_int_equal(api_reply_json(&reply, NULL), -ENOMEM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),    cmocka_unit_test(test_times),
        cmocka_unit_test(test_words),       cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_long_filter), cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_query),       cmocka_unit_test(test_errors_are_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
