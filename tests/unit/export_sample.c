// SPDX-License-Identifier: Apache-2.0
/*
 * Writes the hand-made profile of export_fake.c in one format, for checks with the real readers:
 *
 *   export_sample FORMAT OUT [key=value ...]
 *     at=peak|end (end)   interval=1   metric=NAME   inverted=1  collapse=1  full=1  ascii=1
 * color=1 width=N   top=N   filter=REGEX   profile=small|empty|large   stacks=N  depth=N   diff=1
 * (html)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export_fake.h"

static const char *option(int argc, char **argv, const char *key, const char *otherwise)
{
    size_t length = strlen(key);
    for (int i = 3; i < argc; i++)
        if (strncmp(argv[i], key, length) == 0 && argv[i][length] == '=')
            return argv[i] + length + 1;
    return otherwise;
}

/* Three paths: one that grew, one that is gone, one that is new; one function on two of them. */
static int diff_write(Metric metric, FILE *out)
{
    static const ExportDiffFrame frames[] = {{"main", "app.c:1", "/opt/app/prog"},
                                             {"grows()", "app.c:2", "/opt/app/prog"},
                                             {"gone()", NULL, "/opt/app/prog"},
                                             {"added()", NULL, "/lib/libnew.so"},
                                             {"</script><b>evil", NULL, NULL}};
    static const uint32_t grows[] = {1, 0}, gone[] = {2, 0}, added[] = {4, 3, 0};
    static const ExportDiffRow rows[] = {
        {grows, 2, {{1000, 10, 1000, 10, 0, 0}}, {{3000, 12, 3000, 12, 0, 0}}},
        {gone, 2, {{2048, 2, 2048, 2, 0, 0}}, {{0}}},
        {added, 3, {{0}}, {{512, 1, 512, 1, 0, 0}}},
    };
    return export_html_diff(
        &(ExportDiff){"bench: list", "old.binpb", "new.binpb", metric, false, frames, 5, rows, 3},
        out);
}

int main(int argc, char **argv)
{
    const Exporter *exporter = argc > 2 ? export_find(argv[1]) : NULL;
    FILE *out = exporter ? strcmp(argv[2], "-") ? fopen(argv[2], "w") : stdout : NULL;
    if (!out)
        return 2;
    ViewOptions options = {.at_ns = TIME_LAST};
    if (strcmp(option(argc, argv, "at", "end"), "peak") == 0)
        options.at_ns = VIEW_AT_PEAK;
    options.interval = atoi(option(argc, argv, "interval", "0"));
    options.from_ns = options.interval ? FAKE_PEAK_NS : 0;
    options.to_ns = TIME_LAST;
    options.inverted = atoi(option(argc, argv, "inverted", "0"));
    options.collapse = atoi(option(argc, argv, "collapse", "0"));
    options.full = atoi(option(argc, argv, "full", "0"));
    options.ascii = atoi(option(argc, argv, "ascii", "0"));
    options.color = atoi(option(argc, argv, "color", "0"));
    options.width = (unsigned)atoi(option(argc, argv, "width", "80"));
    options.top = (size_t)atoi(option(argc, argv, "top", "0"));
    options.filter = option(argc, argv, "filter", NULL);
    if (metric_find(option(argc, argv, "metric", "live-bytes"), &options.metric) < 0)
        return 2;
    const char *which = option(argc, argv, "profile", "small");
    if (strcmp(which, "large") == 0)
        fake_large((unsigned)atoi(option(argc, argv, "stacks", "1000")),
                   (unsigned)atoi(option(argc, argv, "depth", "40")));
    else if (strcmp(which, "empty") == 0)
        fake_empty();
    else
        fake_small();
    int r;
    if (atoi(option(argc, argv, "diff", "0"))) {
        r = diff_write(options.metric, out);
    } else {
        View view;
        fake_view(options, &view);
        r = exporter->write(&view, out);
        view_done(&view);
    }
    if (fclose(out) != 0)
        r = -1;
    fake_done();
    return r == 0 ? 0 : 1;
}
