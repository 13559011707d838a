// SPDX-License-Identifier: Apache-2.0
/*
 * The slow sides of the hot path: a stack or slot seen for the first time, the first touch since the
 * collector looked, pushes of live bytes into the global sum, and rarities of the live map.
 *
 * Peak. Each thread keeps its live delta and pushes it when it leaves a small band. The highest sum
 * is the peak. Its composition is kept not while the heap grows but at the moment when it begins to
 * fall: before a release that would take the sum visibly below an uncaptured peak is counted, the
 * thread has the counters summed as they are (collector_capture). So a peak of milliseconds has its
 * composition, and growth costs nothing.
 */
#include "runtime/record.h"

#include "runtime/collector.h"
#include "runtime/windows.h"

Slot *record_slot_of_id(Thread *thread, uint32_t stack_id)
{
    Slot *slot = thread_slot_make(thread, stack_id);
    if (LIKELY(slot != NULL))
        return slot;
    /* Without memory for a slot every state still has the losses' one, made at adoption. */
    return thread_slot_make(thread, STACK_LOSSES);
}

Slot *record_slot(Thread *thread, UnwindWalk *walk)
{
    uint32_t id = STACK_EMPTY;
    if (thread->unwind) {
        id = stacks_find(walk->hash);
        if (!id)
            id = stacks_put(thread->unwind, walk,
                            atomic_load_explicit(&thread->owner, memory_order_relaxed));
    }
    Slot *slot = record_slot_of_id(thread, id);
    if (id != STACK_LOSSES)
        walk->tag = (uintptr_t)slot;
    return slot;
}

void record_touch(Thread *thread, Slot *slot, const Touch *touch)
{
    if (thread->window_count)
        window_note(thread, slot, touch);
    slot->epoch = atomic_load_explicit(&thread->epoch, memory_order_relaxed);
    stacks_mark_pending(slot->key >> 8);
}

uint64_t record_big_size(const void *block)
{
    return livemap_big_take(block);
}

uint32_t record_big_put(const void *block, size_t size)
{
    if (livemap_big_put(block, size))
        return LIVEMAP_HUGE;
    atomic_fetch_add(&runtime.loss_live_map, 1);
    return LIVEMAP_HUGE; /* its release counts 4 GiB - 1: an error of a loss that is shown */
}

LiveEntry *record_entry_make(LiveMap *map, const void *block, Slot *slot, size_t size)
{
    LiveEntry *entry = livemap_make(map, block);
    if (entry)
        return entry;
    atomic_fetch_add(&runtime.loss_live_map, 1);
    COUNTER_ADD(slot->sums.alloc_count, 1);
    COUNTER_ADD(slot->sums.alloc_bytes, size);
    COUNTER_ADD(slot->sums.free_count, 1);
    COUNTER_ADD(slot->sums.free_bytes, size);
    stacks_mark_pending(slot->key >> 8);
    return NULL;
}

void record_missed_free(Thread *thread, LiveEntry *entry, const void *block)
{
    uint64_t value = atomic_exchange(entry, 0);
    if (!value)
        return;
    atomic_fetch_add(&runtime.loss_missed_frees, 1);
    uint64_t last = thread->last_block;
    thread->last_block = 0;
    record_free(thread, value, block, 0, true);
    thread->last_block = last;
}

/* How far a thread may drift before it tells: a part of the slack that captures have, shared by all
 * threads, so that their sum stays below it. */
static int64_t band_of(int64_t peak)
{
    int64_t band = peak / 512;
    size_t threads = thread_count();
    band /= (int64_t)(threads ? threads : 1);
    int64_t most = windows_process_open() ? 1024 : 65536;
    return band < 128 ? 128 : band > most ? most : band;
}

int64_t record_slack(int64_t peak)
{
    int64_t slack = peak / 128;
    return slack < 1024 ? 1024 : slack;
}

static void note_peak(int64_t sum)
{
    int64_t peak = atomic_load_explicit(&runtime.peak_bytes, memory_order_relaxed);
    while (sum > peak)
        if (atomic_compare_exchange_weak(&runtime.peak_bytes, &peak, sum)) {
            atomic_store_explicit(&runtime.peak_ns, runtime_now_ns(), memory_order_relaxed);
            return;
        }
}

/* UPCOMING: a release of that many bytes is part of live_delta, but not of the counters yet. */
void record_push(Thread *thread, int64_t upcoming)
{
    int64_t before = thread->live_delta + upcoming;
    int64_t sum = atomic_fetch_add(&runtime.live_sum, before) + before;
    note_peak(sum);
    if (UNLIKELY(windows_process_open()))
        windows_process_peak(sum);
    thread->live_base += before;
    if (thread->window_count)
        window_peak(thread, thread->live_base);
    int64_t peak = atomic_load_explicit(&runtime.peak_bytes, memory_order_relaxed);
    int64_t slack = record_slack(peak);
    if (sum - upcoming < peak - slack / 2 &&
        peak > atomic_load_explicit(&runtime.captured_bytes, memory_order_relaxed) + slack / 2)
        collector_capture(thread);
    atomic_fetch_sub(&runtime.live_sum, upcoming);
    thread->live_base -= upcoming;
    thread->live_delta = 0;
    int64_t band = band_of(peak);
    thread->push_above = thread->window_count ? window_push_above(thread, band) : band;
    thread->push_below = -band;
}
