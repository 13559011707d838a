// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"

/* The columns that the page draws of a span: few enough to draw, and no peak is lost. */
typedef struct Timeline {
    size_t first, end; /* snapshots of the span: first .. end - 1; equal: none */
    uint32_t *columns; /* indexes of snapshots, rising */
    size_t count;
} Timeline;

/*
 * The span is cut into POINTS equal shares of time; each that has snapshots gives the one with the
 * highest live bytes, the first of equal ones. First and last of the span are always there.
 * Costs a look at each snapshot of the span. 0 or -ENOMEM; timeline_done().
 */
int timeline_make(const Profile *profile, uint64_t from_ns, uint64_t to_ns, size_t points,
                  Timeline *ret_timeline);
void timeline_done(Timeline *timeline);
