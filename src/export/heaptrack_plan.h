// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdint.h>

/*
 * From sums to events: what blocks a stack must have had so that a reader of single events finds
 * our sums again. All in counts of blocks and their bytes together.
 */
typedef struct BlockGroup {
    uint64_t blocks, bytes;
} BlockGroup;

typedef struct StackPlan {
    BlockGroup temporary; /* allocated and released at once */
    BlockGroup released;  /* allocated and released, not at once; not live at the peak */
    BlockGroup peak_kept; /* live at the peak and at the end */
    BlockGroup peak_only; /* live at the peak, then released */
    BlockGroup later;     /* allocated after the peak, live at the end */
} StackPlan;

typedef struct StackSums {
    uint64_t total_blocks, total_bytes, temporary_blocks;
    BlockGroup peak, end; /* live then */
} StackSums;

/* Exact for every history in which no temporary block is live at the peak; counts are clamped, not
 * wrapped, where sums contradict each other. */
StackPlan heaptrack_plan(const StackSums *sums);

/* Blocks of a group when one stands for `scale`; at least 1 if there was any. */
uint64_t heaptrack_scaled(uint64_t blocks, uint64_t scale);
