// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "export/export.h"

/*
 * Makes the View that every exporter reads: asks the profile for the state at a moment (or for what
 * was added and removed between two), keeps the stacks that match, and sorts them. Costs one
 * profile_state() or profile_between() and one sort. Libraries do not log: errors come back.
 */

typedef struct ViewOptions {
    Symbolizer *symbolizer; /* the one that labels were made with; needed by json and pprof */
    Metric metric;
    bool interval;  /* from_ns..to_ns, else the moment at_ns */
    uint64_t at_ns; /* TIME_FIRST, TIME_LAST or a time; VIEW_AT_PEAK: highest snapshot */
    uint64_t from_ns, to_ns;
    const char *filter; /* as in filter.h, on function names and module paths: keeps stacks with
                         * a matching frame; NULL: all */
    uint64_t filter_limit_ns; /* CPU time that it may take, else -ETIME; 0: any */
    bool inverted;            /* the other direction than the format's own */
    bool collapse;            /* direct recursion shown as one frame, "f (x12)"; sums unchanged */
    bool color;
    bool ascii;     /* text: no box drawing (locale is not UTF-8) */
    bool full;      /* text: long chains of callers are not cut */
    unsigned width; /* 0: 80 */
    size_t top;
    Granularity granularity;
    const ProfileWindow *window; /* all iterations of it, not a moment; NULL: none */
    const char *title;           /* NULL: the command line of the process; borrowed */
} ViewOptions;

#define VIEW_AT_PEAK (UINT64_MAX - 1)

/*
 * On success *ret_view owns its stacks until view_done() and borrows profile, labels, symbolizer
 * and the strings of the options. labels_update() must have been called. -EINVAL: the filter is not
 * a regular expression (view_filter_error() says why); -ETIME: it took longer than it may; -ENOENT:
 * there is no snapshot; -ENOMEM.
 */
int view_build(const Profile *profile, const Labels *labels, const ViewOptions *options,
               View *ret_view);
void view_done(View *view);

/* What is wrong, and where, with a filter that view_build() refused; "" when the filter is good. */
void view_filter_error(const char *filter, char *ret_message, size_t capacity);

/* (*ret_matches)[label]: whether its function or module matches; to be freed. LIMIT_NS as in
 * filter_limit_ns, looked at now and then. -EINVAL, -ETIME, -ENOMEM. */
int view_filter_labels(const Labels *labels, const char *filter, uint64_t limit_ns,
                       bool **ret_matches);

/* For rows that do not come from a state (windows): sorts by metric and fills the totals of a View
 * whose other fields are set; drops rows with all values 0. */
void view_sort(View *view);
