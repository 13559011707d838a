// SPDX-License-Identifier: Apache-2.0
/* Who may ask the server of the live page: words that are taken and words that are not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/bits.h"
#include "web/guard.h"

static const Listening on_loopback = {
    .port = 8123, .loopback = true, .address = "127.0.0.1", .name = ""};
static const Listening on_one = {.port = 8123, .address = "192.0.2.7", .name = "box.example"};
static const Listening on_all = {.port = 8123, .any = true, .address = "[::]", .name = ""};

static Guard made(const Listening *listening)
{
    Guard guard;
    assert_int_equal(guard_init(listening, &guard), 0);
    return guard;
}

static void test_tokens_are_random_hex(void **state)
{
    (void)state;
    Guard first = made(&on_loopback), second = made(&on_loopback);
    const char *texts[] = {first.token, first.ticket, second.token, second.ticket};
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        assert_int_equal(strlen(texts[i]), 32);
        assert_int_equal(strspn(texts[i], "0123456789abcdef"), 32);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(texts[i], texts[k]);
    }
}

static void test_token(void **state)
{
    char text[64];
    (void)state;
    Guard guard = made(&on_loopback);
    assert_true(guard_token(&guard, guard.token));
    assert_true(guard_ticket(&guard, guard.ticket));
    assert_false(guard_token(&guard, guard.ticket));
    assert_false(guard_ticket(&guard, guard.token));
    assert_false(guard_token(&guard, NULL));
    assert_false(guard_token(&guard, ""));
    for (size_t i = 0; i < 32; i++) { /* each character counts, and each part is too short */
        strcpy(text, guard.token);
        text[i] = text[i] == '0' ? '1' : '0';
        assert_false(guard_token(&guard, text));
        text[i] = 0;
        assert_false(guard_token(&guard, text));
    }
    snprintf(text, sizeof(text), "%s0", guard.token);
    assert_false(guard_token(&guard, text));
    snprintf(text, sizeof(text), "%s%s", guard.token, "0123456789");
    assert_false(guard_token(&guard, text));
}

static void check_hosts(const Listening *listening, const char *const *good, const char *const *bad)
{
    Guard guard = made(listening);
    for (; *good; good++)
        if (!guard_host(&guard, *good))
            fail_msg("%s is refused", *good);
    for (; *bad; bad++)
        if (guard_host(&guard, *bad))
            fail_msg("%s is taken", *bad);
    assert_false(guard_host(&guard, NULL));
}

static void test_host_on_loopback(void **state)
{
    static const char *const good[] = {"127.0.0.1:8123", "localhost:8123", "LocalHost:8123",
                                       "[::1]:8123", NULL};
    static const char *const bad[] = {"",
                                      ":",
                                      ":8123",
                                      "127.0.0.1",
                                      "localhost",
                                      "127.0.0.1:",
                                      "evil",
                                      "evil:8123",
                                      "127.0.0.1:812",
                                      "127.0.0.1:81230",
                                      "127.0.0.1:73659",
                                      "127.0.0.1:8123x",
                                      "127.0.0.1:008123",
                                      "127.0.0.1:+8123",
                                      "127.0.0.1: 8123",
                                      "127.0.0.1:08123000",
                                      "localhost.evil:8123",
                                      "127.0.0.2:8123",
                                      "[::1]",
                                      "[::1",
                                      "[::1]8123",
                                      "[::1]x:8123",
                                      "[]:8123",
                                      "::1:8123",
                                      "127.0.0.1:8123:8123",
                                      "localhost:8123/",
                                      "user@localhost:8123",
                                      "192.0.2.7:8123",
                                      NULL};
    (void)state;
    check_hosts(&on_loopback, good, bad);
}

static void test_host_on_one_address(void **state)
{
    static const char *const good[] = {"192.0.2.7:8123", "box.example:8123", "BOX.example:8123",
                                       NULL};
    static const char *const bad[] = {"localhost:8123", "127.0.0.1:8123",        "192.0.2.8:8123",
                                      "example:8123",   "box.example.evil:8123", NULL};
    char own[300], host[300];
    (void)state;
    check_hosts(&on_one, good, bad);
    assert_int_equal(gethostname(own, sizeof(own)), 0);
    snprintf(host, sizeof(host), "%.200s:8123", own);
    Guard guard = made(&on_one);
    assert_true(guard_host(&guard, host)); /* the machine's own name */
    guard_host_text(&guard, host, sizeof(host));
    assert_string_equal(host, "box.example:8123");
}

/* Any numeric address may be ours, and none can be made to point elsewhere. */
static void test_host_on_all_addresses(void **state)
{
    static const char *const good[] = {"192.0.2.7:8123", "[2001:db8::1]:8123", "127.0.0.1:8123",
                                       "localhost:8123", NULL};
    static const char *const bad[] = {"evil:8123",        "192.0.2.7.evil:8123", "192.0.2:8123",
                                      "192.0.2.300:8123", "[2001:db8::x]:8123",  "[192.0.2.7]:8123",
                                      "2001:db8::1:8123", "192.0.2.7:80",        NULL};
    (void)state;
    check_hosts(&on_all, good, bad);
}

static void test_port_80_goes_without_saying(void **state)
{
    Listening listening = on_loopback;
    (void)state;
    listening.port = 80;
    Guard guard = made(&listening);
    assert_true(guard_host(&guard, "localhost"));
    assert_true(guard_host(&guard, "[::1]"));
    assert_true(guard_host(&guard, "localhost:80"));
    assert_false(guard_host(&guard, "localhost:8123"));
}

static void test_origin(void **state)
{
    static const char *const bad[] = {"",
                                      "null",
                                      "https://localhost:8123",
                                      "http://localhost",
                                      "http://localhost:8123/",
                                      "http://evil:8123",
                                      "localhost:8123",
                                      "http://127.0.0.1:8123"};
    (void)state;
    assert_true(guard_origin(NULL, "localhost:8123"));
    assert_true(guard_origin("http://localhost:8123", "localhost:8123"));
    assert_true(guard_origin("HTTP://LOCALHOST:8123", "localhost:8123"));
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_false(guard_origin(bad[i], "localhost:8123"));
}

static void test_fetch(void **state)
{
    (void)state;
    assert_true(guard_fetch(NULL, NULL, false));
    assert_true(guard_fetch("same-origin", "cors", false));
    assert_true(guard_fetch("none", "navigate", false));
    assert_true(guard_fetch("cross-site", "navigate", true)); /* a link to the page */
    assert_true(guard_fetch("same-site", "navigate", true));
    assert_false(guard_fetch("cross-site", "navigate", false));
    assert_false(guard_fetch("cross-site", "no-cors", true));
    assert_false(guard_fetch("cross-site", NULL, true));
    assert_false(guard_fetch("same-site", "cors", false)); /* another port of localhost */
    assert_false(guard_fetch("", "cors", false));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokens_are_random_hex),
        cmocka_unit_test(test_token),
        cmocka_unit_test(test_host_on_loopback),
        cmocka_unit_test(test_host_on_one_address),
        cmocka_unit_test(test_host_on_all_addresses),
        cmocka_unit_test(test_port_80_goes_without_saying),
        cmocka_unit_test(test_origin),
        cmocka_unit_test(test_fetch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
