// SPDX-License-Identifier: Apache-2.0
/* Every setting: right, wrong, at its limits; and reading them from a process' environment. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/config.h"

static const char *self;

static Config set(const char *assignment, bool right)
{
    Config config = {.enabled = true, .interval_ms = 1000, .depth = 64, .log = CONFIG_LOG_WARN};
    if (config_set(&config, assignment) != right)
        fail_msg("%s: taken for %s", assignment, right ? "wrong" : "right");
    return config;
}

static void test_numbers(void **state)
{
    static const char *const wrong[] = {
        "MEMHAWK_INTERVAL_MS=9",
        "MEMHAWK_INTERVAL_MS=3600001",
        "MEMHAWK_INTERVAL_MS=",
        "MEMHAWK_INTERVAL_MS=-10",
        "MEMHAWK_INTERVAL_MS=+10",
        "MEMHAWK_INTERVAL_MS= 10",
        "MEMHAWK_INTERVAL_MS=10ms",
        "MEMHAWK_INTERVAL_MS=0x10",
        "MEMHAWK_DEPTH=0",
        "MEMHAWK_DEPTH=257",
        "MEMHAWK_DEPTH=deep",
        "MEMHAWK_DEPTH=99999999999999999999999999",
        "MEMHAWK_DEPTH=18446744073709551680" /* 2^64 + 64 */,
        "MEMHAWK_ENABLE=2",
        "MEMHAWK_ENABLE=yes",
        "MEMHAWK_ENABLE=",
        "MEMHAWK_ROOT_PID=0",
        "MEMHAWK_ROOT_PID=2147483648",
    };

    (void)state;
    assert_int_equal(set("MEMHAWK_INTERVAL_MS=10", true).interval_ms, 10);
    assert_int_equal(set("MEMHAWK_INTERVAL_MS=3600000", true).interval_ms, 3600000);
    assert_int_equal(set("MEMHAWK_INTERVAL_MS=0000250", true).interval_ms, 250);
    assert_int_equal(set("MEMHAWK_DEPTH=1", true).depth, 1);
    assert_int_equal(set("MEMHAWK_DEPTH=256", true).depth, 256);
    assert_false(set("MEMHAWK_ENABLE=0", true).enabled);
    assert_true(set("MEMHAWK_ENABLE=1", true).enabled);
    assert_int_equal(set("MEMHAWK_ROOT_PID=2147483647", true).root_pid, 2147483647);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        Config config = set(wrong[i], false);
        assert_int_equal(config.interval_ms, 1000); /* the defaults stay */
        assert_int_equal(config.depth, 64);
        assert_true(config.enabled);
        assert_int_equal(config.root_pid, 0);
    }
}

static void test_words(void **state)
{
    (void)state;
    assert_int_equal(set("MEMHAWK_UNWIND=cfi", true).unwind, CONFIG_UNWIND_CFI);
    assert_int_equal(set("MEMHAWK_UNWIND=fp", true).unwind, CONFIG_UNWIND_FP);
    assert_int_equal(set("MEMHAWK_UNWIND=none", true).unwind, CONFIG_UNWIND_NONE);
    set("MEMHAWK_UNWIND=FP", false);
    set("MEMHAWK_UNWIND=", false);
    assert_int_equal(set("MEMHAWK_LOG=off", true).log, CONFIG_LOG_OFF);
    assert_int_equal(set("MEMHAWK_LOG=error", true).log, CONFIG_LOG_ERROR);
    assert_int_equal(set("MEMHAWK_LOG=info", true).log, CONFIG_LOG_INFO);
    assert_int_equal(set("MEMHAWK_LOG=debug", false).log, CONFIG_LOG_WARN);
    assert_int_equal(set("MEMHAWK_FOLLOW=all", true).follow, CONFIG_FOLLOW_ALL);
    assert_int_equal(set("MEMHAWK_FOLLOW=none", true).follow, CONFIG_FOLLOW_NONE);
    Config config = set("MEMHAWK_FOLLOW=^cc1", true);
    assert_int_equal(config.follow, CONFIG_FOLLOW_REGEX);
    assert_string_equal(config.follow_regex, "^cc1");
}

static void set_long(const char *name, size_t length, bool right)
{
    char assignment[5000];
    size_t at = (size_t)snprintf(assignment, sizeof(assignment), "%s=", name);
    memset(assignment + at, 'x', length);
    assignment[at + length] = 0;
    set(assignment, right);
}

static void test_texts(void **state)
{
    (void)state;
    assert_string_equal(set("MEMHAWK_OUTPUT=/tmp/a b", true).output, "/tmp/a b");
    assert_string_equal(set("MEMHAWK_OUTPUT=", true).output, "");
    assert_string_equal(set("MEMHAWK_NAME_FILTER=a=b", true).name_filter, "a=b");
    set_long("MEMHAWK_OUTPUT", 4095, true);
    set_long("MEMHAWK_OUTPUT", 4096, false);
    set_long("MEMHAWK_NAME_FILTER", 511, true);
    set_long("MEMHAWK_NAME_FILTER", 512, false);
    set_long("MEMHAWK_FOLLOW", 511, true);
    set_long("MEMHAWK_FOLLOW", 512, false);
}

static void test_not_ours(void **state)
{
    (void)state;
    set("MEMHAWK_DEPTHS=3", false);
    set("MEMHAWK_DEPT=3", false);
    set("MEMHAWK_DEPTH", false);
    set("memhawk_depth=3", false);
    set("", false);
}

/* Runs this program with that environment; it prints what it read (main, below). */
static void read_in_child(char *const *environment, char *ret_text, size_t capacity)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], 1);
        dup2(ends[1], 2);
        execle(self, self, "read", (char *)NULL, environment);
        _exit(127);
    }
    close(ends[1]);
    size_t used = 0;
    ssize_t got;
    while ((got = read(ends[0], ret_text + used, capacity - 1 - used)) > 0)
        used += (size_t)got;
    ret_text[used] = 0;
    close(ends[0]);
    int status;
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
}

static int print_settings(void)
{
    static Config config;
    config_read(&config);
    config_complain(&config);
    printf("%d %u %u %d %d %d %s\n", config.enabled, config.interval_ms, config.depth,
           (int)config.unwind, (int)config.follow, (int)config.log, config.output);
    return 0;
}

static void test_environment(void **state)
{
    static char huge[40000], exact[16384], text[4096];
    memset(huge, 'x', sizeof(huge) - 1);
    memset(exact, 'y', sizeof(exact) - 1); /* with its end just as large as the reader's buffer */

    (void)state;
    read_in_child((char *[]){NULL}, text, sizeof(text));
    assert_string_equal(text, "1 1000 64 0 0 2 \n");
    read_in_child((char *[]){"MEMHAWK_DEPTH=33", huge, "MEMHAWK_UNWIND=fp", exact,
                             "A=", "MEMHAWK_OUTPUT=/o", huge, huge, "MEMHAWK_INTERVAL_MS=50", NULL},
                  text, sizeof(text));
    assert_string_equal(text, "1 50 33 1 0 2 /o\n");
    /* A value inside another variable is none of ours. */
    memcpy(huge + 20000, "MEMHAWK_DEPTH=9", 15);
    read_in_child((char *[]){huge, "X=MEMHAWK_DEPTH=8", NULL}, text, sizeof(text));
    assert_string_equal(text, "1 1000 64 0 0 2 \n");
}

static void test_complaints(void **state)
{
    static char text[4096];

    (void)state;
    read_in_child((char *[]){"MEMHAWK_DEPTH=0", "MEMHAWK_INTERVAL_MS=70", NULL}, text,
                  sizeof(text));
    assert_string_equal(text, "memhawk: wrong value for MEMHAWK_DEPTH, allowed: 1 to 256; using "
                              "the default\n1 70 64 0 0 2 \n");
    read_in_child((char *[]){"MEMHAWK_DEPTH=0", "MEMHAWK_LOG=error", NULL}, text, sizeof(text));
    assert_string_equal(text, "1 1000 64 0 0 1 \n");
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),     cmocka_unit_test(test_words),
        cmocka_unit_test(test_texts),       cmocka_unit_test(test_not_ours),
        cmocka_unit_test(test_environment), cmocka_unit_test(test_complaints),
    };
    if (count > 1)
        return print_settings();
    self = arguments[0];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
