// SPDX-License-Identifier: Apache-2.0
/*
 * Splits the sums of one stack into groups of blocks. Known: T blocks ever, of P live at the peak
 * and E live at the end. How many of the P are among the E is not recorded; as many as possible are
 * taken to be, which is always compatible with T, for any history needs at least P + E - both
 * allocations. A group with bytes needs a block to carry them, hence the corrections by one.
 */
#include "export/heaptrack_plan.h"

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t less(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* Blocks live both at the peak and at the end. */
static BlockGroup kept(BlockGroup peak, BlockGroup end)
{
    BlockGroup both = {smaller(peak.blocks, end.blocks), smaller(peak.bytes, end.bytes)};
    if (both.blocks && both.blocks == peak.blocks && both.bytes < peak.bytes)
        both.blocks--; /* some bytes went, so a block did */
    else if (both.blocks && both.blocks == end.blocks && both.bytes < end.bytes)
        both.blocks--; /* some bytes came */
    if (both.blocks == 0)
        both.bytes = 0;
    return both;
}

StackPlan heaptrack_plan(const StackSums *sums)
{
    StackPlan plan = {.peak_kept = kept(sums->peak, sums->end)};
    plan.peak_only.blocks = sums->peak.blocks - plan.peak_kept.blocks;
    plan.peak_only.bytes = sums->peak.bytes - plan.peak_kept.bytes;
    plan.later.blocks = sums->end.blocks - plan.peak_kept.blocks;
    plan.later.bytes = sums->end.bytes - plan.peak_kept.bytes;
    BlockGroup gone = {less(sums->total_blocks, sums->peak.blocks + plan.later.blocks),
                       less(sums->total_bytes, sums->peak.bytes + plan.later.bytes)};
    plan.temporary.blocks = smaller(sums->temporary_blocks, gone.blocks);
    plan.released.blocks = gone.blocks - plan.temporary.blocks;
    /* Shared out by number of blocks; the whole if one of the two is empty. */
    plan.temporary.bytes =
        gone.blocks
            ? (uint64_t)((unsigned __int128)gone.bytes * plan.temporary.blocks / gone.blocks)
            : 0;
    plan.released.bytes = gone.blocks ? gone.bytes - plan.temporary.bytes : 0;
    return plan;
}

uint64_t heaptrack_scaled(uint64_t blocks, uint64_t scale)
{
    return blocks == 0 ? 0 : blocks < scale ? 1 : (blocks + scale / 2) / scale;
}
