// SPDX-License-Identifier: Apache-2.0
/*
 * See long_heap.h. A stack allocates blocks of one size (16 bytes to 64 KiB, small ones far more
 * often) and has one of five ways to live: temporary (freed within the tick), cache (fills up to a
 * level and is emptied now and then), load (rises and falls with the waves of the day), leak (grows
 * slowly), start (allocated once). A fifth of all stacks is there at the first tick, the others
 * come, ever more seldom, until three quarters of the run are over. At a tick mostly the same hot
 * stacks change, and some of the others.
 */
#include "long_heap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "long_code.h"

enum { BURST_STACK = 0, HOT_STACKS = 1500, CACHE_BLOCKS = 400, BURST_EVERY = 37, WAVES = 6 };

typedef enum Way { WAY_TEMPORARY, WAY_CACHE, WAY_LOAD, WAY_LEAK, WAY_START } Way;

typedef struct HeapStack {
    HeapState now;
    uint32_t size, overhead;
    uint32_t changed_at; /* change number, so that it is listed once */
    uint8_t way;
    bool told;
} HeapStack;

static HeapPlan plan;
static HeapStack *stacks;
static HeapState total;
static uint32_t seen, change_number, *changed, changed_count, current_tick;
static uint64_t random_state;
static int64_t burst_blocks, highest;

static uint64_t random_below(uint64_t bound)
{
    return code_random(&random_state) % bound;
}

static uint32_t usable(uint32_t size)
{
    return size + 8 <= 32 ? 24 : ((size + 8 + 15) & ~15u) - 8; /* glibc's chunks */
}

void heap_init(const HeapPlan *given)
{
    static const uint8_t ways[16] = {WAY_TEMPORARY, WAY_TEMPORARY, WAY_TEMPORARY, WAY_TEMPORARY,
                                     WAY_TEMPORARY, WAY_CACHE,     WAY_CACHE,     WAY_CACHE,
                                     WAY_LOAD,      WAY_LOAD,      WAY_LOAD,      WAY_LOAD,
                                     WAY_LEAK,      WAY_START,     WAY_START,     WAY_START};
    plan = *given;
    random_state = plan.seed * 2 + 1;
    stacks = calloc(plan.stacks, sizeof *stacks);
    changed = calloc(plan.stacks, sizeof *changed);
    if (!stacks || !changed) {
        perror("long_heap");
        exit(1);
    }
    for (uint32_t i = 0; i < plan.stacks; i++) {
        uint32_t power = 4 + (uint32_t)(random_below(7) + random_below(7) * random_below(2));
        stacks[i].size = (1u << power) + (uint32_t)random_below(1u << power);
        if (stacks[i].size > 65536)
            stacks[i].size = 65536;
        stacks[i].overhead = usable(stacks[i].size) - stacks[i].size;
        stacks[i].way = ways[random_below(16)];
    }
}

static void allocate(uint32_t stack, int64_t count, int64_t freed, uint64_t temporary)
{
    HeapStack *s = &stacks[stack];
    int64_t kept = count - freed;
    HeapState change = {
        kept * s->size, kept, kept * s->overhead, (uint64_t)count, (uint64_t)count * s->size,
        temporary};
    HeapState *sums[] = {&s->now, &total};

    for (int i = 0; i < 2; i++) {
        sums[i]->live_bytes += change.live_bytes;
        sums[i]->live_count += change.live_count;
        sums[i]->overhead += change.overhead;
        sums[i]->total_count += change.total_count;
        sums[i]->total_bytes += change.total_bytes;
        sums[i]->temporary += change.temporary;
    }
    if (s->changed_at == change_number)
        return;
    s->changed_at = change_number;
    changed[changed_count++] = stack;
}

/* 0 to 1, WAVES times over the run. */
static double load_now(void)
{
    return 0.5 - 0.5 * cos(2 * 3.14159265358979 * WAVES * current_tick / (plan.ticks + 1.0));
}

static void live_on(uint32_t stack)
{
    HeapStack *s = &stacks[stack];
    int64_t live = s->now.live_count, some = 1 + (int64_t)random_below(24);
    int64_t fits = 1 + (1 << 20) / s->size; /* large blocks are few */

    switch ((Way)s->way) {
    case WAY_TEMPORARY:
        allocate(stack, some * 8, some * 8, (uint64_t)(some * 6));
        break;
    case WAY_CACHE:
        if (live > CACHE_BLOCKS || live > fits || random_below(200) == 0)
            allocate(stack, 1, live, 0);
        else
            allocate(stack, some, live ? (int64_t)random_below(2) : 0, 0);
        break;
    case WAY_LOAD: {
        int64_t wanted = (int64_t)(load_now() * (double)(fits > 200 ? 200 : fits));
        allocate(stack, wanted > live ? wanted - live + some : some,
                 wanted > live ? some : (live - wanted < live ? live - wanted : live), 1);
        break;
    }
    case WAY_LEAK:
        allocate(stack, fits > 2 ? 2 : 1, random_below(3) && live ? 1 : 0, 0);
        break;
    case WAY_START:
        if (live)
            allocate(stack, 1, 1, 0);
        else
            allocate(stack, some < fits ? some : fits, 0, 0);
        break;
    }
}

static uint32_t wanted_stacks(void)
{
    double part = plan.ticks > 1 ? current_tick / (0.75 * (plan.ticks - 1)) : 1;

    if (part >= 1)
        return plan.stacks;
    return (uint32_t)(plan.stacks * (0.2 + 0.8 * sqrt(part)));
}

static void begin_changes(void)
{
    change_number++;
    changed_count = 0;
}

void heap_tick(uint32_t tick)
{
    uint32_t wanted, count;

    current_tick = tick;
    begin_changes();
    if (burst_blocks)
        allocate(BURST_STACK, 0, burst_blocks, 0);
    burst_blocks = 0;
    for (wanted = wanted_stacks(); seen < wanted; seen++)
        live_on(seen);
    count = plan.changes_min +
            (uint32_t)random_below(plan.changes_max - plan.changes_min + UINT64_C(1));
    for (uint32_t i = 0; i < count; i++) {
        uint32_t hot = seen < HOT_STACKS ? seen : HOT_STACKS;
        live_on((uint32_t)(random_below(10) < 7 ? random_below(hot) * (seen / hot)
                                                : random_below(seen)));
    }
    if (total.live_bytes > highest)
        highest = total.live_bytes;
}

bool heap_burst(void)
{
    if (current_tick % BURST_EVERY != BURST_EVERY - 1)
        return false;
    int64_t blocks = 1 + (int64_t)((2 + random_below(30)) << 20) / stacks[BURST_STACK].size;
    /* Only a new high by more than a hundredth is kept by the recorder. */
    if (total.live_bytes + blocks * stacks[BURST_STACK].size < highest + highest / 100)
        return false;
    begin_changes();
    burst_blocks = blocks;
    allocate(BURST_STACK, blocks, 0, 0);
    highest = total.live_bytes;
    return true;
}

uint32_t heap_changed(const uint32_t **ret_stacks)
{
    *ret_stacks = changed;
    return changed_count;
}

bool heap_take_new(uint32_t stack)
{
    bool fresh = !stacks[stack].told;

    stacks[stack].told = true;
    return fresh;
}

const HeapState *heap_state(uint32_t stack)
{
    return &stacks[stack].now;
}

const HeapState *heap_total(void)
{
    return &total;
}

uint32_t heap_stacks_seen(void)
{
    return seen;
}

void heap_put(WireBuffer *into, uint32_t field, const HeapState *state)
{
    size_t at = wire_begin(into, field);
    wire_uint(into, 1, (uint64_t)state->live_bytes);
    wire_uint(into, 2, (uint64_t)state->live_count);
    wire_uint(into, 3, (uint64_t)state->overhead);
    wire_uint(into, 4, state->total_count);
    wire_uint(into, 5, state->total_bytes);
    wire_uint(into, 100, state->temporary);
    wire_end(into, at);
}
