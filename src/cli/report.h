// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cli/session.h"
#include "export/export.h"

/* What `memhawk report` was asked for; as given, times not yet resolved. */
typedef struct ReportOptions {
    const char *path;
    const char *at, *from, *to; /* NULL: not given */
    Metric metric;
    size_t top;
    Granularity granularity;
    bool inverted, collapse, full, follow;
    const char *filter;
    const char *window; /* NULL: a moment or interval */
    bool per_iteration; /* minimum, median, maximum over the window's iterations */
    bool metric_given;
    const Exporter *exporter;
    const char *output; /* NULL: standard output */
    SymbolOptions symbols;
} ReportOptions;

/*
 * Makes the view that the options ask for from a labelled session. 0, or a negative errno after one
 * problem line. view_done().
 */
int report_build_view(const Session *session, const ReportOptions *options, View *ret_view);

/* `report --follow`: redraws until the run ends or the user quits. Exit status. */
int report_follow(Session *session, const ReportOptions *options);
