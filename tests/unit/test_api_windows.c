// SPDX-License-Identifier: Apache-2.0
/*
 * The body of windows for a program that gave each request a window of its own: titles in the order
 * of the file, and no square of their number while the process is locked.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "api_fixture.h"
#include "profile_fixture.h"

enum { WINDOWS = 20000 };

/* "request/0" of the process, "request/1" and so on down to "request/1" again; the last is
 * "request/0" of a thread. */
static char *describe(void)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    fputs("=== ProcessInfo\npid: 1 startTimestamp: 5\n=== Snapshot\ntimestamp: 10\n", out);
    for (unsigned i = 0; i < WINDOWS; i++)
        fprintf(out, "window { windowId: %u name: \"request/%u\" scope: 1 }\n", i + 1,
                i ? WINDOWS - i : 0);
    fprintf(out, "window { windowId: %u name: \"request/0\" scope: 0 }\n", WINDOWS + 1);
    /* the second and the third window both have stacks 1 and 2, the third in two shapes */
    fputs("windowShape { windowId: 2 shapeId: 1 row { traceId: 1 bytes: 1 } row { traceId: 2 "
          "bytes: 1 } }\n"
          "windowShape { windowId: 3 shapeId: 1 row { traceId: 2 bytes: 1 } }\n"
          "windowShape { windowId: 3 shapeId: 2 row { traceId: 1 bytes: 1 } row { traceId: 2 "
          "bytes: 1 } }\n",
          out);
    fclose(out);
    return text;
}

static const char *title_at(const json_t *body, unsigned index)
{
    char at[40];
    snprintf(at, sizeof(at), "windows.%u.title", index);
    return json_string_value(api_fixture_at(body, at));
}

static double thread_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void test_many_windows(void **state)
{
    (void)state;
    char path[64], *description = describe();
    fixture_make("memhawk", description, path);
    free(description);
    Hub *hub = api_fixture_hub(path);
    double begin = thread_seconds();
    json_t *body = api_fixture_get(hub, "windows", "id=1", NULL);
    double taken = thread_seconds() - begin;
    assert_int_equal(json_array_size(api_fixture_at(body, "windows")), WINDOWS + 1);
    assert_string_equal(title_at(body, 0), "request/0 (process)");
    assert_string_equal(title_at(body, 1), "request/19999");
    assert_string_equal(title_at(body, WINDOWS - 1), "request/1");
    assert_string_equal(title_at(body, WINDOWS), "request/0 (thread)");
    assert_int_equal(api_fixture_int(body, "windows.0.stacks"), 0);
    assert_int_equal(api_fixture_int(body, "windows.1.stacks"), 2);
    assert_int_equal(api_fixture_int(body, "windows.2.stacks"), 2);
    if (taken > 3) /* half a second with a sanitizer, and was ten without */
        fail_msg("the answer took %.1f s of the processor", taken);
    json_decref(body);
    hub_free(hub);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_many_windows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
