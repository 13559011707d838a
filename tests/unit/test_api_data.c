// SPDX-License-Identifier: Apache-2.0
/*
 * Bodies of timeline, flame, functions, series and compare on a profile whose figures are in the
 * table below. It has no debug information, so functions are called by their addresses.
 *
 *   stack                          1 s       2 s       3 s      (live bytes / blocks)
 *   1  main a                     100/1     300/3      0/0
 *   2  main a b                   200/2      20/1     60/2
 *   3  main a b a  (recursion)     50/1      50/1     50/1
 *   4  b c  (cut)                   -        40/4     40/4
 *   5  c    (ended early)           -         5/1      5/1
 *   6  lost                         -         7/1      7/1
 *                            sum  350       422      162
 *
 * Then each file of the decoder's fuzz corpus, with every handler: no crash, and valid JSON.
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "api_fixture.h"
#include "profile_fixture.h"

#define CHANGE(id, bytes, blocks, total, times)                                                    \
    "changed { traceId: " #id " actual { size: " #bytes " active: " #blocks " totalBytes: " #total \
    " totalCount: " #times " } }\n"

static const char description[] =
    "=== ProcessInfo\nprocessShortName: \"x\" pid: 1 startTimestamp: 500000000 formatVersion: 1\n"
    "processFullPath: \"/opt/gone/x\"\n"
    "=== Snapshot\ntimestamp: 1000000000\n"
    "loadedSo { filename: \"/opt/gone/x\" addr: 0 moduleId: 1 }\n"
    "loadedSo { filename: \"/opt/gone/y\" addr: 4096 moduleId: 2 }\n"
    "ptrIds { ptrId: 1 ptrAddr: 0x10 moduleId: 1 exact: true }\n"   /* main */
    "ptrIds { ptrId: 2 ptrAddr: 0x20 moduleId: 1 exact: true }\n"   /* a */
    "ptrIds { ptrId: 3 ptrAddr: 0x30 moduleId: 1 exact: true }\n"   /* b */
    "ptrIds { ptrId: 4 ptrAddr: 0x1040 moduleId: 2 exact: true }\n" /* c, in y */
    "stacktraces { traceId: 1 ptrId: [2, 1] }\n"
    "stacktraces { traceId: 2 ptrId: [3, 2, 1] }\n"
    "stacktraces { traceId: 3 ptrId: [2, 3, 2, 1] }\n" CHANGE(1, 100, 1, 100, 1)
        CHANGE(2, 200, 2, 200, 2) CHANGE(
            3, 50, 1, 50,
            1) "rssBytes: 9000 threads: 2\n"
               "=== Snapshot\ntimestamp: 2000000000 kind: 1\n"
               "stacktraces { traceId: 4 ptrId: [4, 3] flags: 1 }\n"
               "stacktraces { traceId: 5 ptrId: [4] flags: 2 }\n"
               "stacktraces { traceId: 6 flags: 16 }\n" CHANGE(1, 300, 3, 300, 3)
                   CHANGE(2, 20, 1, 220, 3) CHANGE(4, 40, 4, 40, 4) CHANGE(5, 5, 1, 5, 1)
                       CHANGE(6, 7, 1, 7, 1) "=== Snapshot\ntimestamp: 3000000000 kind: 2\n" CHANGE(
                           1, 0, 0, 300, 3)
                           CHANGE(2, 60, 2, 260, 4) "end { reason: 1 status: 0 }\n";

static char path[64];
static Hub *hub;

static int setup(void **state)
{
    (void)state;
    fixture_make("memhawk", description, path);
    hub = api_fixture_hub(path);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    hub_free(hub);
    unlink(path);
    return 0;
}

/* ---- trees as text -------------------------------------------------------------------------- */

/* "main", "a" ... for what the table calls so. */
static const char *short_name(const char *function)
{
    static const char *const names[][2] = {{"0x10 (in x)", "main"},
                                           {"0x20 (in x)", "a"},
                                           {"0x30 (in x)", "b"},
                                           {"0x40 (in y)", "c"},
                                           {"?", "?"}};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strcmp(function, names[i][0]) == 0)
            return names[i][1];
    fail_msg("%s", function);
    return NULL;
}

static const char *label_name(const json_t *body, int64_t label)
{
    static const char *const marks[] = {"root", "other", "cut", "early", "lost"};
    char at[64];
    if (label < 0) {
        assert_true(label >= -5);
        return marks[-label - 1];
    }
    snprintf(at, sizeof(at), "labels.function.%ld", (long)label);
    return short_name(json_string_value(api_fixture_at(body, at)));
}

static int64_t node(const json_t *body, const char *column, size_t i)
{
    char at[64];
    snprintf(at, sizeof(at), "nodes.%s.%zu", column, i);
    return api_fixture_int(body, at);
}

/* "main 100/20 (a 30/30)": name, total/self of a side, children in brackets. Takes BODY. */
static void assert_tree(json_t *body, unsigned side, const char *expected)
{
    char text[1000] = "", total[32], self[32];
    size_t count = json_array_size(api_fixture_at(body, "nodes.label"));
    int64_t level = 0;
    snprintf(total, sizeof(total), "total.%u", side);
    snprintf(self, sizeof(self), "self.%u", side);
    for (size_t i = 0; i < count; i++) {
        size_t used = strlen(text);
        int64_t own = node(body, "level", i);
        if (i)
            used +=
                (size_t)snprintf(text + used, sizeof(text) - used, "%s", own > level ? " (" : "");
        for (; i && level > own; level--)
            used += (size_t)snprintf(text + used, sizeof(text) - used, ")");
        bool sibling = i && text[used - 1] != '(';
        level = own;
        snprintf(text + used, sizeof(text) - used, "%s%s %ld/%ld", sibling ? " " : "",
                 label_name(body, node(body, "label", i)), (long)node(body, total, i),
                 (long)node(body, self, i));
    }
    for (; level > 0; level--)
        strcat(text, ")");
    json_decref(body);
    assert_string_equal(text, expected);
}

static json_t *get(const char *route, const char *query)
{
    return api_fixture_get(hub, route, query, NULL);
}

static void assert_fails(const char *route, const char *query, unsigned status)
{
    unsigned got;
    json_t *body = api_fixture_get(hub, route, query, &got);
    assert_true(json_is_string(api_fixture_at(body, "error.message")));
    json_decref(body);
    assert_int_equal(got, status);
}

/* ---- timeline ------------------------------------------------------------------------------- */

static void test_timeline(void **state)
{
    (void)state;
    json_t *all = get("timeline", "id=1");
    assert_int_equal(api_fixture_int(all, "snapshots"), 3);
    assert_int_equal(api_fixture_int(all, "first"), 500000);
    assert_int_equal(api_fixture_int(all, "last"), 3000000);
    assert_int_equal(api_fixture_int(all, "peak.time"), 2000000);
    assert_int_equal(api_fixture_int(all, "peak.live_bytes"), 422);
    assert_int_equal(json_array_size(api_fixture_at(all, "time")), 3);
    assert_int_equal(api_fixture_int(all, "live_bytes.0"), 350);
    assert_int_equal(api_fixture_int(all, "live_count.1"), 11);
    assert_int_equal(api_fixture_int(all, "total_bytes.2"), 662);
    assert_int_equal(api_fixture_int(all, "kind.1"), 1);
    assert_int_equal(api_fixture_int(all, "rss_bytes.0"), 9000);
    assert_int_equal(api_fixture_int(all, "rss_bytes.1"), 0);
    assert_int_equal(api_fixture_int(all, "threads.0"), 2);
    json_decref(all);

    json_t *part = get("timeline", "id=1&from=1000001&to=3000000");
    assert_int_equal(api_fixture_int(part, "snapshots"), 2);
    assert_int_equal(api_fixture_int(part, "time.0"), 2000000);
    json_decref(part);

    /* one column: the first, the highest, the last */
    json_t *few = get("timeline", "id=1&points=1");
    assert_int_equal(json_array_size(api_fixture_at(few, "time")), 3);
    json_decref(few);

    json_t *none = get("timeline", "id=1&from=5000000&to=6000000");
    assert_int_equal(api_fixture_int(none, "snapshots"), 0);
    assert_true(json_is_null(api_fixture_at(none, "peak")));
    assert_int_equal(json_array_size(api_fixture_at(none, "time")), 0);
    json_decref(none);
}

/* ---- flame ---------------------------------------------------------------------------------- */

static void test_flame_moment(void **state)
{
    (void)state;
    assert_tree(get("flame", "id=1&mode=moment&at=1000000"), 0,
                "root 350/0 (main 350/0 (a 350/100 (b 250/200 (a 50/50))))");
    /* the peak: 2 s */
    assert_tree(get("flame", "id=1"), 0,
                "root 422/0 (main 370/0 (a 370/300 (b 70/20 (a 50/50)))"
                " cut 40/0 (b 40/0 (c 40/40)) lost 7/7 early 5/0 (c 5/5))");
    assert_tree(get("flame", "id=1&inverted=1"), 0,
                "root 422/0 (a 350/0 (main 300/300 b 50/0 (a 50/0 (main 50/50)))"
                " c 45/0 (b 40/0 (cut 40/40) early 5/5) b 20/0 (a 20/0 (main 20/20)) lost 7/7)");
    assert_tree(get("flame", "id=1&metric=live-count&mode=moment&at=end"), 0,
                "root 9/0 (cut 4/0 (b 4/0 (c 4/4)) main 3/0 (a 3/0 (b 3/2 (a 1/1)))"
                " lost 1/1 early 1/0 (c 1/1))");
    json_t *body = get("flame", "id=1");
    assert_int_equal(api_fixture_int(body, "at"), 2000000);
    assert_int_equal(api_fixture_int(body, "totals.live-bytes.0"), 422);
    assert_int_equal(api_fixture_int(body, "totals.total-bytes.0"), 622);
    assert_int_equal(api_fixture_int(body, "totals.live-count.0"), 11);
    assert_int_equal(api_fixture_int(body, "nodes.metrics.total-bytes.0.1"), 570);
    assert_int_equal(api_fixture_int(body, "stacks"), 6);
    assert_int_equal(api_fixture_int(body, "node_count"), 11);
    assert_string_equal(json_string_value(api_fixture_at(body, "labels.module.0")), "/opt/gone/x");
    assert_int_equal(api_fixture_int(body, "labels.known.0"), 0);
    json_decref(body);
}

static void test_flame_between(void **state)
{
    (void)state;
    /* 1: -300; 2: +40; others stay */
    json_t *body = get("flame", "id=1&mode=between&from=2000000&to=3000000");
    for (int m = 0; m < METRIC_MAX; m++) {
        char at[80];
        const char *name = metric_name((Metric)m);
        int64_t v[4];
        static const char *const keys[] = {"totals.%s.0", "totals.%s.1", "state.from.%s",
                                           "state.to.%s"};
        for (int k = 0; k < 4; k++) {
            snprintf(at, sizeof(at), keys[k], name);
            v[k] = api_fixture_int(body, at);
        }
        assert_int_equal(v[3] - v[2], v[0] - v[1]);
    }
    assert_int_equal(api_fixture_int(body, "state.from.live-bytes"), 422);
    assert_int_equal(api_fixture_int(body, "state.to.live-bytes"), 162);
    assert_int_equal(api_fixture_int(body, "stacks"), 2);
    assert_string_equal(json_string_value(api_fixture_at(body, "sides.1")), "removed");
    assert_tree(json_incref(body), 0, "root 40/0 (main 40/0 (a 40/0 (b 40/40)))");
    assert_tree(body, 1, "root 300/0 (main 300/0 (a 300/300 (b 0/0)))");
    /* from the start: before the first snapshot there was nothing */
    assert_tree(get("flame", "id=1&mode=between&to=1000000"), 0,
                "root 350/0 (main 350/0 (a 350/100 (b 250/200 (a 50/50))))");
    assert_tree(get("flame", "id=1&mode=between&from=1000000&to=2000000&metric=total-bytes"), 0,
                "root 272/0 (main 220/0 (a 220/200 (b 20/20)) cut 40/0 (b 40/0 (c 40/40))"
                " lost 7/7 early 5/0 (c 5/5))");
}

static void test_flame_cut_and_filter(void **state)
{
    (void)state;
    /* root, main, a stay; b with its a, and three stacks at the root give way */
    json_t *body = get("flame", "id=1&limit=5");
    assert_int_equal(api_fixture_int(body, "node_count"), 11);
    assert_tree(body, 0, "root 422/0 (main 370/0 (a 370/300 (other 70/70)) other 52/52)");
    assert_tree(get("flame", "id=1&filter=0x40"), 0,
                "root 45/0 (cut 40/0 (b 40/0 (c 40/40)) early 5/0 (c 5/5))");
    assert_tree(get("flame", "id=1&filter=gone/y$"), 0,
                "root 45/0 (cut 40/0 (b 40/0 (c 40/40)) early 5/0 (c 5/5))");
    assert_tree(get("flame", "id=1&filter=nothing"), 0, "root 0/0");
    assert_fails("flame", "id=1&filter=(", 400);
    assert_fails("flame", "id=1&mode=peak&from=5000000&to=6000000", 404);
    assert_fails("flame", "id=9", 404);
    assert_fails("flame", "id=1&limit=1", 400);
    assert_fails("flame", "id=1&limit=999999", 400);
}

static uint32_t label_id(const char *name)
{
    json_t *body = get("flame", "id=1");
    size_t count = json_array_size(api_fixture_at(body, "labels.id"));
    for (size_t i = 0; i < count; i++) {
        char at[64];
        snprintf(at, sizeof(at), "labels.id.%zu", i);
        uint32_t id = (uint32_t)api_fixture_int(body, at);
        if (strcmp(label_name(body, (int64_t)i), name) == 0) {
            json_decref(body);
            return id;
        }
    }
    fail_msg("no label %s", name);
    return 0;
}

static json_t *get_focus(const char *name, const char *direction)
{
    char query[200];
    snprintf(query, sizeof(query), "id=1&focus=%u&direction=%s", label_id(name), direction);
    return get("flame", query);
}

static void test_flame_focus(void **state)
{
    (void)state;
    /* below the outermost a, once for the stack that has two */
    assert_tree(get_focus("a", "callees"), 0, "root 370/0 (a 370/300 (b 70/20 (a 50/50)))");
    /* above the innermost a */
    assert_tree(get_focus("a", "callers"), 0,
                "root 370/0 (a 370/0 (main 320/320 b 50/0 (a 50/0 (main 50/50))))");
    assert_tree(get_focus("b", "callees"), 0, "root 110/0 (b 110/20 (a 50/50 c 40/40))");
    assert_tree(get_focus("b", "callers"), 0,
                "root 110/0 (b 110/0 (a 70/0 (main 70/70) cut 40/40))");
    assert_fails("flame", "id=1&focus=4000000", 404);
    assert_fails("flame", "id=1&focus=0&direction=up", 400);
}

/* ---- functions ------------------------------------------------------------------------------ */

static void assert_row(const json_t *body, size_t row, const char *name, int64_t self,
                       int64_t total, int64_t self_count, int64_t total_count)
{
    static const char *const columns[] = {"self", "total", "self_count", "total_count"};
    int64_t expected[] = {self, total, self_count, total_count};
    char at[64];
    snprintf(at, sizeof(at), "rows.label.%zu", row);
    assert_string_equal(label_name(body, api_fixture_int(body, at)), name);
    for (int i = 0; i < 4; i++) {
        snprintf(at, sizeof(at), "rows.%s.0.%zu", columns[i], row);
        assert_int_equal(api_fixture_int(body, at), expected[i]);
    }
}

static void test_functions(void **state)
{
    (void)state;
    json_t *body = get("functions", "id=1");
    assert_int_equal(api_fixture_int(body, "row_count"), 4);
    assert_row(body, 0, "a", 350, 370, 4, 5); /* recursion counts once; larger self first */
    assert_row(body, 1, "main", 0, 370, 0, 5);
    assert_row(body, 2, "b", 20, 110, 1, 6);
    assert_row(body, 3, "c", 45, 45, 5, 5);
    json_decref(body);
    body = get("functions", "id=1&limit=1&metric=live-count");
    assert_int_equal(api_fixture_int(body, "row_count"), 4);
    assert_int_equal(json_array_size(api_fixture_at(body, "rows.label")), 1);
    assert_row(body, 0, "b", 1, 6, 1, 6);
    json_decref(body);
    body = get("functions", "id=1&mode=between&from=2000000&to=3000000");
    assert_row(body, 0, "a", 0, 40, 0, 1);
    assert_int_equal(api_fixture_int(body, "rows.total.1.0"), 300);
    assert_int_equal(api_fixture_int(body, "rows.self.1.0"), 300);
    assert_int_equal(api_fixture_int(body, "rows.total_count.1.0"), 3);
    json_decref(body);
}

/* ---- series --------------------------------------------------------------------------------- */

static void assert_series(const json_t *body, size_t row, const char *name, int64_t one,
                          int64_t two, int64_t three)
{
    int64_t expected[] = {one, two, three};
    char at[64];
    snprintf(at, sizeof(at), "series.%zu.label", row);
    assert_string_equal(label_name(body, api_fixture_int(body, at)), name);
    for (int i = 0; i < 3; i++) {
        snprintf(at, sizeof(at), "series.%zu.value.%d", row, i);
        assert_int_equal(api_fixture_int(body, at), expected[i]);
    }
}

static void test_series_self(void **state)
{
    (void)state;
    json_t *body = get("series", "id=1&by=self&top=2");
    assert_int_equal(json_array_size(api_fixture_at(body, "series")), 2);
    assert_series(body, 0, "a", 150, 350, 50);
    assert_series(body, 1, "b", 200, 20, 60);
    assert_int_equal(api_fixture_int(body, "time.2"), 3000000);
    static const int64_t total[] = {350, 422, 162}, other[] = {0, 52, 52};
    for (int i = 0; i < 3; i++) {
        char at[64];
        snprintf(at, sizeof(at), "total.%d", i);
        assert_int_equal(api_fixture_int(body, at), total[i]);
        snprintf(at, sizeof(at), "other.%d", i);
        assert_int_equal(api_fixture_int(body, at), other[i]);
    }
    json_decref(body);
}

static void test_series_total(void **state)
{
    (void)state;
    char query[100];
    json_t *body = get("series", "id=1&by=total");
    assert_true(json_is_null(api_fixture_at(body, "other")));
    assert_int_equal(json_array_size(api_fixture_at(body, "series")), 4);
    assert_series(body, 0, "main", 350, 370, 110);
    assert_series(body, 1, "a", 350, 370, 110); /* recursion counts once */
    assert_series(body, 2, "b", 250, 110, 150);
    assert_series(body, 3, "c", 0, 45, 45);
    json_decref(body);
    snprintf(query, sizeof(query), "id=1&by=total&top=0&pin=%u", label_id("c"));
    body = get("series", query);
    assert_int_equal(json_array_size(api_fixture_at(body, "series")), 1);
    assert_series(body, 0, "c", 0, 45, 45);
    assert_true(json_is_true(api_fixture_at(body, "series.0.pinned")));
    json_decref(body);
    /* within a span, from what was there at its start */
    body = get("series", "id=1&by=self&from=1500000&metric=total-bytes&top=1");
    assert_int_equal(json_array_size(api_fixture_at(body, "time")), 2);
    assert_int_equal(api_fixture_int(body, "series.0.value.0"), 350);
    assert_int_equal(api_fixture_int(body, "series.0.value.1"), 350);
    assert_int_equal(api_fixture_int(body, "total.1"), 662);
    json_decref(body);
    body = get("series", "id=1&from=5000000");
    assert_int_equal(json_array_size(api_fixture_at(body, "series")), 0);
    json_decref(body);
    assert_fails("series", "id=1&pin=77", 404);
    assert_fails("series", "id=1&pin=1,x", 400);
    assert_fails("series", "id=1&by=all", 400);
}

/* ---- compare -------------------------------------------------------------------------------- */

static void test_compare(void **state)
{
    (void)state;
    json_t *body = get("compare", "id=1&at=1000000&id2=1&at2=peak");
    assert_int_equal(api_fixture_int(body, "totals.live-bytes.0"), 350);
    assert_int_equal(api_fixture_int(body, "totals.live-bytes.1"), 422);
    /* functions of one module without names are one: x x, x x x, x x x x; x y; y; and nothing */
    assert_int_equal(api_fixture_int(body, "row_count"), 5);
    assert_string_equal(json_string_value(api_fixture_at(body, "rows.0.kind")), "more");
    assert_int_equal(api_fixture_int(body, "rows.0.change"), 200);
    assert_int_equal(api_fixture_int(body, "rows.0.before"), 100);
    assert_int_equal(api_fixture_int(body, "rows.0.after"), 300);
    assert_int_equal(json_array_size(api_fixture_at(body, "rows.0.frames")), 2);
    assert_true(json_is_null(api_fixture_at(body, "rows.0.differs")));
    assert_int_equal(api_fixture_int(body, "rows.1.change"), -180);
    assert_string_equal(json_string_value(api_fixture_at(body, "rows.2.kind")), "new");
    assert_int_equal(api_fixture_int(body, "rows.2.change"), 40);
    assert_tree(json_incref(body), 0,
                "root 350/0 (? 350/0 (? 350/100 (? 250/200 (? 50/50)) ? 0/0) ? 0/0)");
    assert_tree(body, 1, "root 422/7 (? 410/0 (? 370/300 (? 70/20 (? 50/50)) ? 40/40) ? 5/5)");
    body = get("compare", "id=1&at=peak&id2=1&at2=2000000");
    assert_int_equal(api_fixture_int(body, "row_count"), 0);
    json_decref(body);
    assert_fails("compare", "id=1&at=peak&id2=3", 404);
    assert_fails("compare", "id=1&at=peak&id2=1&focus=4000000", 404);
    assert_fails("compare", "id=1&at=peak&id2=1&focus_before=4000000", 404);
    assert_fails("compare", "id=1&id2=1&focus=0&direction=up", 400);
    assert_fails("compare", "id=1&id2=1&focus=0&focus_before=0", 400);
    assert_fails("compare", "id=1&id2=1&focus=x", 400);
}

static json_t *get_compare_focus(const char *parameter, const char *name, const char *direction)
{
    char query[200];
    snprintf(query, sizeof(query), "id=1&at=1000000&id2=1&at2=peak&%s=%u&direction=%s", parameter,
             label_id(name), direction);
    return get("compare", query);
}

/* Of one module all functions are one here: those of x are x, c is y.
 *   before: x x 100, x x x 200, x x x x 50; after: 300, 20, 50, y x 40, y 5 */
static void test_compare_focus(void **state)
{
    (void)state;
    json_t *body = get_compare_focus("focus", "c", "callees");
    assert_int_equal(api_fixture_int(body, "row_count"), 2);
    assert_int_equal(json_array_size(api_fixture_at(body, "rows")), 2);
    assert_int_equal(api_fixture_int(body, "rows.0.change"), 40);
    assert_int_equal(api_fixture_int(body, "rows.1.change"), 5);
    assert_int_equal(api_fixture_int(body, "labels.id.0"), label_id("c"));
    assert_int_equal(api_fixture_int(body, "labels.id_before.0"), -1);
    assert_int_equal(api_fixture_int(body, "totals.live-bytes.0"), 0);
    assert_int_equal(api_fixture_int(body, "totals.live-bytes.1"), 45);
    assert_tree(json_incref(body), 0, "root 0/0 (? 0/0)");
    assert_tree(body, 1, "root 45/0 (? 45/45)");
    assert_tree(get_compare_focus("focus", "c", "callers"), 1, "root 45/0 (? 45/5 (? 40/40))");
    body = get_compare_focus("focus", "b", "callees"); /* below the outermost x */
    assert_int_equal(api_fixture_int(body, "row_count"), 3);
    assert_tree(json_incref(body), 0,
                "root 350/0 (? 350/0 (? 350/100 (? 250/200 (? 50/50)) ? 0/0))");
    assert_tree(body, 1, "root 410/0 (? 410/0 (? 370/300 (? 70/20 (? 50/50)) ? 40/40))");
    /* above the innermost x */
    assert_tree(get_compare_focus("focus_before", "b", "callers"), 1,
                "root 410/0 (? 410/40 (? 370/300 (? 70/20 (? 50/50))))");
    /* before, nothing went through c */
    body = get_compare_focus("focus_before", "c", "callees");
    assert_int_equal(api_fixture_int(body, "row_count"), 0);
    assert_tree(body, 1, "root 0/0");
}

/* What is refused says which words would do. */
static void test_compare_moments(void **state)
{
    static const char *const queries[] = {"id=1&at=never&id2=1", "id=1&id2=1&at2=-5"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        unsigned status;
        json_t *body = api_fixture_get(hub, "compare", queries[i], &status);
        const char *message = json_string_value(api_fixture_at(body, "error.message"));
        assert_int_equal(status, 400);
        assert_true(strncmp(message, i ? "at2: " : "at: ", i ? 5 : 4) == 0);
        for (size_t w = 0; w < 3; w++)
            assert_non_null(strstr(message, ((const char *const[]){"start", "peak", "end"})[w]));
        json_decref(body);
    }
    json_decref(get("compare", "id=1&at=peak&id2=1&at2=start"));
    assert_fails("timeline", "id=1&from=peak", 400); /* a span has no peak */
}

/* ---- hostile files -------------------------------------------------------------------------- */

static const char *const questions[][2] = {
    {"processes", ""},
    {"process", "id=1"},
    {"timeline", "id=1"},
    {"timeline", "id=1&points=3"},
    {"flame", "id=1&mode=moment"},
    {"flame", "id=1&granularity=line&inverted=1&limit=7&metric=total-bytes"},
    {"flame", "id=1&mode=between&metric=overhead&filter=a"},
    {"flame", "id=1&mode=moment&focus=0&direction=callees"},
    {"flame", "id=1&mode=moment&focus=0&direction=callers"},
    {"functions", "id=1&mode=moment"},
    {"functions", "id=1&mode=between&granularity=line"},
    {"series", "id=1&by=self&pin=0"},
    {"series", "id=1&by=total&points=5&metric=temporary"},
    {"compare", "id=1&at=start&id2=1&at2=end"},
    {"compare", "id=1&at=peak&id2=1&metric=total-count&inverted=1"},
    {"compare", "id=1&at=start&id2=1&at2=peak&focus=0&direction=callers"},
    {"compare", "id=1&at=end&id2=1&at2=peak&focus_before=0&direction=callees"},
    {"windows", "id=1"},
};

static void ask_all(const char *file)
{
    Hub *own = api_fixture_hub(file);
    for (size_t i = 0; i < sizeof(questions) / sizeof(*questions); i++) {
        unsigned status;
        json_t *body = api_fixture_get(own, questions[i][0], questions[i][1], &status);
        assert_true(status == 200 || (status >= 400 && status < 500));
        json_decref(body);
    }
    hub_free(own);
}

/* The corpus of fuzz_decode: the first byte, when odd, says that the rest is a whole file. */
static bool unpack(const char *from, const char *to)
{
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    assert_non_null(in);
    assert_non_null(out);
    int first = fgetc(in);
    for (int c; (c = fgetc(in)) != EOF;)
        fputc(c, out);
    fclose(in);
    fclose(out);
    return first != EOF && (first & 1);
}

static void test_corpus(void **state)
{
    (void)state;
    char to[] = "/tmp/memhawk-test-XXXXXX", from[600];
    DIR *dir = opendir(CORPUS_DIR);
    const struct dirent *item;
    size_t files = 0;
    int fd = mkstemp(to);
    assert_non_null(dir);
    assert_true(fd >= 0);
    close(fd);
    while ((item = readdir(dir))) {
        if (item->d_name[0] == '.')
            continue;
        snprintf(from, sizeof(from), "%s/%s", CORPUS_DIR, item->d_name);
        if (!unpack(from, to))
            continue;
        ask_all(to);
        files++;
    }
    closedir(dir);
    unlink(to);
    assert_true(files > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_timeline),        cmocka_unit_test(test_flame_moment),
        cmocka_unit_test(test_flame_between),   cmocka_unit_test(test_flame_cut_and_filter),
        cmocka_unit_test(test_flame_focus),     cmocka_unit_test(test_functions),
        cmocka_unit_test(test_series_self),     cmocka_unit_test(test_series_total),
        cmocka_unit_test(test_compare),         cmocka_unit_test(test_compare_focus),
        cmocka_unit_test(test_compare_moments), cmocka_unit_test(test_corpus),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
