// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "unwind/internal.h"

/*
 * Where the stacks of one thread end, so that a walk never reads past the mapping it runs on. The
 * stack pointer proves that memory from it upwards is mapped; only the upper end must be known.
 */
typedef struct StackSpan {
    uint64_t low, high; /* mapped when looked up; high 0: unused */
    uint64_t floor;     /* end of the mapping below: a growing stack stays above it */
    bool grows;
} StackSpan;

enum { STACK_SPANS = 8 };

typedef struct StackBounds {
    StackSpan spans[STACK_SPANS]; /* latest first */
    uint64_t lookups;
    MapsIterator maps; /* buffer; small stacks have no room for it */
} StackBounds;

/* End of the stack that SP points into. May read /proc/self/maps; remembers. Never fails: in doubt
 * the end of SP's page. */
uint64_t bounds_high(StackBounds *bounds, uint64_t sp);
