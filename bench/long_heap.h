// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdint.h>

#include "format/wire.h"

/*
 * The heap side of a generated profile: the state of each stack, moved on tick by tick, and its
 * sums, which are kept up beside it. Sums over stacks, at any moment, are the totals exactly.
 */

typedef struct HeapState {
    int64_t live_bytes, live_count, overhead;
    uint64_t total_count, total_bytes, temporary;
} HeapState;

/* CHANGES_MIN to CHANGES_MAX stacks change at a tick, of TICKS. */
typedef struct HeapPlan {
    uint32_t stacks, ticks, changes_min, changes_max;
    uint64_t seed;
} HeapPlan;

void heap_init(const HeapPlan *plan);

/* Moves on to TICK (from 0, one after the other). */
void heap_tick(uint32_t tick);
/* A short-lived large buffer on top of the state of the last tick, to be written as a peak: false
 * when none is due. The next heap_tick() frees it. */
bool heap_burst(void);

/* Stacks that changed by the last heap_tick() or heap_burst(), each once; those that are new have
 * not been listed before. Valid until the next call. */
uint32_t heap_changed(const uint32_t **ret_stacks);
bool heap_take_new(uint32_t stack); /* true once for each stack */

const HeapState *heap_state(uint32_t stack);
const HeapState *heap_total(void);
uint32_t heap_stacks_seen(void);
void heap_put(WireBuffer *into, uint32_t field, const HeapState *state); /* AllocSummary */
