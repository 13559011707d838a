// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "profile/profile.h"
#include "symbol/labels.h"
#include "web/timeline.h"

/* The labels with the highest values over a span, as series over the columns of a Timeline. */

typedef struct TopSeriesOptions {
    Metric metric;
    bool self; /* of the allocating function only; else with all it called, recursion once */
    size_t top;
    const uint32_t *pins; /* labels that are there in any case */
    size_t pin_count;
} TopSeriesOptions;

typedef struct TopSeriesRow {
    uint32_t label;
    bool pinned;
    int64_t *values; /* per column */
} TopSeriesRow;

typedef struct TopSeries {
    TopSeriesRow *rows; /* the top ones, highest first, then pins that are not among them */
    size_t count;
    int64_t *total; /* per column, over all stacks */
    int64_t *storage;
} TopSeries;

/* The timeline has at least one column. Cost: two passes over the changes inside the span.
 * 0 or -ENOMEM; top_series_done(). */
int top_series_make(const Profile *profile, const Labels *labels, const Timeline *timeline,
                    const TopSeriesOptions *options, TopSeries *ret_series);
void top_series_done(TopSeries *series);
