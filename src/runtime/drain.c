// SPDX-License-Identifier: Apache-2.0
/*
 * From per-thread counters to values per stack.
 *
 * A thread notes a stack as pending at its first touch in an epoch. A drain
 *   1. takes the pending list and clears the marks,
 *   2. raises the epoch of all threads, so that later touches are noted anew,
 *   3. sums the slots of the taken stacks, releases before allocations, so that live values never
 *      go below zero.
 * On the general path a thread counts, passes a barrier, and then looks at the epoch; so an update
 * in flight is in this drain or noted for the next. The fast path looks first: one release or
 * allocation below 64 KiB that is in flight on a thread may be noted only with the next touch of
 * its stack. The sweep at the end looks at every slot, so that the last snapshot is exact. Sums are
 * made anew from cumulative counters, so a drain that was cut by fork does no harm.
 *
 * Cost: one cache line per (stack, thread) that changed. Lock: drain_lock.
 */
#include "runtime/drain.h"

#include <string.h>

#include "runtime/arena.h"
#include "runtime/runtime.h"
#include "runtime/thread.h"
#include "runtime/windows.h"

Lock drain_lock;
DrainState drain_state = {.peak = {.grow = drain_grow}};

enum { DRAIN_BATCH = 4096 };

uint8_t *drain_grow(uint8_t *data, size_t bytes, size_t old_capacity, size_t new_capacity)
{
    uint8_t *fresh = arena_map(ARENA_OUTPUT, new_capacity);
    if (!fresh)
        return NULL;
    if (bytes)
        memcpy(fresh, data, bytes);
    arena_unmap(ARENA_OUTPUT, data, old_capacity);
    return fresh;
}

static bool changed_room(void)
{
    DrainState *state = &drain_state;
    if (state->changed_count < state->changed_capacity)
        return true;
    uint32_t capacity = state->changed_capacity ? state->changed_capacity * 2 : 1024;
    uint8_t *fresh =
        drain_grow((uint8_t *)state->changed, state->changed_count * sizeof(uint32_t),
                   state->changed_capacity * sizeof(uint32_t), capacity * sizeof(uint32_t));
    if (!fresh)
        return false;
    state->changed = (uint32_t *)fresh;
    state->changed_capacity = capacity;
    return true;
}

static uint64_t counter_read(const uint64_t *counter)
{
    return __atomic_load_n(counter, __ATOMIC_ACQUIRE);
}

static void sums_of(const Stack *stack, Sums *ret_sums)
{
    Sums sums = {0};
    uint32_t first = atomic_load_explicit(&stack->first_slot, memory_order_acquire);
    for (uint32_t at = first; at; at = slot_at(at)->next_of_stack) {
        sums.free_count += counter_read(&slot_at(at)->sums.free_count);
        sums.free_bytes += counter_read(&slot_at(at)->sums.free_bytes);
    }
    for (uint32_t at = first; at; at = slot_at(at)->next_of_stack) {
        sums.temporary += counter_read(&slot_at(at)->sums.temporary);
        sums.overhead += (int64_t)counter_read((const uint64_t *)&slot_at(at)->sums.overhead);
        sums.alloc_count += counter_read(&slot_at(at)->sums.alloc_count);
        sums.alloc_bytes += counter_read(&slot_at(at)->sums.alloc_bytes);
    }
    *ret_sums = sums;
}

static void sums_replace(Sums *total, const Sums *old, const Sums *fresh)
{
    total->alloc_count += fresh->alloc_count - old->alloc_count;
    total->alloc_bytes += fresh->alloc_bytes - old->alloc_bytes;
    total->free_count += fresh->free_count - old->free_count;
    total->free_bytes += fresh->free_bytes - old->free_bytes;
    total->temporary += fresh->temporary - old->temporary;
    total->overhead += fresh->overhead - old->overhead;
}

static void drain_stack(uint32_t id)
{
    Stack *stack = stacks_get(id);
    Sums fresh;
    sums_of(stack, &fresh);
    windows_observe(id, &stack->last);
    sums_replace(&drain_state.total, &stack->last, &fresh);
    if (stack->flags & UNWIND_DEPTH_CUT)
        drain_state.depth_cut += fresh.alloc_count - stack->last.alloc_count;
    if (stack->flags & UNWIND_ENDED_EARLY)
        drain_state.unwind_ended += fresh.alloc_count - stack->last.alloc_count;
    stack->last = fresh;
}

/* Adds an id to the changed ones. Without memory its values come with its next change, or the last
 * sweep. */
static void list_changed(uint32_t id)
{
    Stack *stack = stacks_get(id);
    if (stack->listed || !changed_room())
        return;
    stack->listed = 1;
    drain_state.changed[drain_state.changed_count++] = id;
}

void drain_reserve(void)
{
    changed_room();
    wire_reserve(&drain_state.peak, 64 << 10);
}

void drain_raise_epochs(void)
{
    uint32_t epoch = thread_next_epoch();
    size_t count = thread_count();
    for (size_t i = 0; i < count; i++) {
        Thread *thread = thread_get(i);
        if (thread)
            thread_raise_epoch(thread, epoch);
    }
}

/* In batches, because next_pending belongs to the pushers again once the mark is cleared. */
static void drain_pending(void)
{
    uint32_t taken = stacks_take_pending();
    static uint32_t ids[DRAIN_BATCH];
    while (taken != STACK_LIST_END) {
        uint32_t count = 0;
        for (; taken != STACK_LIST_END && count < DRAIN_BATCH; count++) {
            Stack *stack = stacks_get(taken);
            ids[count] = taken;
            taken = atomic_load_explicit(&stack->next_pending, memory_order_relaxed);
            atomic_exchange(&stack->pending, 0);
        }
        drain_raise_epochs();
        for (uint32_t i = 0; i < count; i++) {
            drain_stack(ids[i]);
            list_changed(ids[i]);
        }
    }
}

void drain_kept(int64_t live)
{
    atomic_store_explicit(&runtime.captured_bytes, live, memory_order_relaxed);
    atomic_store_explicit(&runtime.lowest_bytes, live, memory_order_relaxed);
}

static void peak_encode(void)
{
    DrainState *state = &drain_state;
    if (!state->peak_pending)
        return;
    state->peak_pending = false;
    state->peak.bytes = 0;
    state->peak.failed = false;
    drain_encode_changed(&state->peak);
    state->peak_valid = !state->peak.failed;
    if (state->peak_valid)
        return;
    /* No memory: that much is not written, and whatever comes may be kept. */
    atomic_fetch_add(&runtime.loss_write, state->changed_count * sizeof(Sums));
    drain_kept(0);
}

void drain_run(void)
{
    peak_encode();
    drain_pending();
}

int64_t drain_live_bytes(void)
{
    return (int64_t)(drain_state.total.alloc_bytes - drain_state.total.free_bytes);
}

void drain_capture(void)
{
    drain_pending();
    DrainState *state = &drain_state;
    state->peak_valid = false;
    state->peak_pending = true;
    state->peak_total = state->total;
    state->peak_bytes = atomic_load_explicit(&runtime.peak_bytes, memory_order_relaxed);
    state->peak_ns = atomic_load_explicit(&runtime.peak_ns, memory_order_relaxed);
    drain_kept(drain_live_bytes());
}

void drain_sweep(void)
{
    uint32_t count = stacks_count();
    for (uint32_t id = 1; id <= count; id++)
        stacks_mark_pending(id);
    drain_run();
}

void encode_sums(WireBuffer *buffer, uint32_t field, const Sums *sums)
{
    size_t at = wire_begin(buffer, field);
    wire_uint(buffer, 1, sums->alloc_bytes - sums->free_bytes);
    wire_uint(buffer, 2, sums->alloc_count - sums->free_count);
    wire_uint(buffer, 3, (uint64_t)sums->overhead);
    wire_uint(buffer, 4, sums->alloc_count);
    wire_uint(buffer, 5, sums->alloc_bytes);
    wire_uint(buffer, 100, sums->temporary);
    wire_end(buffer, at);
}

void drain_encode_changed(WireBuffer *buffer)
{
    for (uint32_t i = 0; i < drain_state.changed_count; i++) {
        size_t at = wire_begin(buffer, 2);
        wire_uint(buffer, 1, drain_state.changed[i]);
        encode_sums(buffer, 2, &stacks_get(drain_state.changed[i])->last);
        wire_end(buffer, at);
    }
}

void drain_written(void)
{
    for (uint32_t i = 0; i < drain_state.changed_count; i++)
        stacks_get(drain_state.changed[i])->listed = 0;
    drain_state.changed_count = 0;
    drain_state.peak_valid = false;
}

/*
 * The child of fork is alone, so all counters are its own to rewrite. Per stack the first slot gets
 * the live sums and the others zero; "released" counts below zero (modulo 2^64) make what is live
 * now, without any allocation of the child's.
 */
static bool inherit_stack(Stack *stack, Sums *inherited)
{
    Sums sums;
    sums_of(stack, &sums);
    uint32_t first = atomic_load(&stack->first_slot);
    for (uint32_t at = first; at; at = slot_at(at)->next_of_stack)
        slot_at(at)->sums = (Sums){0};
    if (first)
        slot_at(first)->sums = (Sums){.free_count = sums.free_count - sums.alloc_count,
                                      .free_bytes = sums.free_bytes - sums.alloc_bytes,
                                      .overhead = sums.overhead};
    stack->last = (Sums){0};
    stack->listed = stack->defined = 0;
    inherited->free_count += sums.free_count - sums.alloc_count;
    inherited->free_bytes += sums.free_bytes - sums.alloc_bytes;
    inherited->overhead += sums.overhead;
    return sums.alloc_count != sums.free_count;
}

void drain_after_fork(Sums *ret_inherited)
{
    lock_reset(&drain_lock);
    drain_state = (DrainState){.peak = {.grow = drain_grow}}; /* may have been amid a growth */
    stacks_take_pending();
    *ret_inherited = (Sums){0};
    for (uint32_t id = 1; id <= stacks_count(); id++) {
        atomic_store(&stacks_get(id)->pending, 0);
        if (inherit_stack(stacks_get(id), ret_inherited))
            stacks_mark_pending(id);
    }
}
