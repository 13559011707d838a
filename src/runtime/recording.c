// SPDX-License-Identifier: Apache-2.0
/*
 * The slow sides of the hot path: a stack or slot seen for the first time, the first touch since
 * the collector looked, pushes of live bytes into the global sum, and rarities of the live map.
 *
 * Peak. Each thread keeps its live delta and pushes it when it leaves a small band. The highest sum
 * is the peak. Its composition is kept not while the heap grows but at the moment when it begins to
 * fall: before a release that would take the sum visibly below an uncaptured peak is counted, the
 * thread has the counters summed as they are (collector_capture). So a peak of milliseconds has its
 * composition, and growth costs nothing.
 */
#include "runtime/recording.h"

#include "runtime/collector.h"
#include "runtime/windows.h"

static Slot *slot_of_stack(Thread *thread, uint32_t stack_id)
{
    Slot *slot = thread_slot_find(thread, stack_id);
    if (!slot)
        slot = thread_slot_make(thread, stack_id);
    /* Without memory for a slot every state still has the losses' one, made with it. */
    return LIKELY(slot != NULL) ? slot : thread_slot_make(thread, STACK_LOSSES);
}

static COLD Slot *slot_of_walk(Thread *thread, UnwindWalk *walk)
{
    uint32_t id = stacks_find(walk->hash);
    if (!id)
        id = stacks_put(thread->unwind, walk,
                        atomic_load_explicit(&thread->owner, memory_order_relaxed));
    Slot *slot = slot_of_stack(thread, id);
    if (id != STACK_LOSSES)
        walk->tag = (uintptr_t)slot;
    return slot;
}

static Slot *slot_of_caller(Thread *thread, const UnwindContext *context)
{
    if (thread->fixed_slot)
        return thread->fixed_slot;
    UnwindWalk *walk = unwind_walk(thread->unwind, context);
    return LIKELY(walk->tag != 0) ? (Slot *)walk->tag : slot_of_walk(thread, walk);
}

/* SLOT changed by TOUCH: note it for the collector and for windows, once an epoch. */
static COLD void note_touch(Thread *thread, Slot *slot, const Touch *touch)
{
    if (thread->window_count)
        window_note(thread, slot, touch);
    slot->stamp = (uint64_t)(thread->index + 1) << 32 | thread_epoch(thread);
    stacks_mark_pending(slot->stack_id);
}

static inline void touched(Thread *thread, Slot *slot, const Touch *touch)
{
    atomic_thread_fence(memory_order_seq_cst); /* counters before the look at the epoch: drain.c */
    if (UNLIKELY((uint32_t)slot->stamp != thread_epoch(thread)))
        note_touch(thread, slot, touch);
}

static inline void count_alloc(Slot *slot, size_t size, size_t usable)
{
    counter_add(&slot->sums.alloc_count, 1);
    counter_add(&slot->sums.alloc_bytes, size);
    counter_add(&slot->sums.heads, usable + 8);
}

static inline void count_free(Slot *slot, size_t size, size_t usable)
{
    counter_add(&slot->sums.free_count, 1);
    counter_add(&slot->sums.free_bytes, size);
    counter_sub(&slot->sums.heads, usable + 8);
}

/* A block whose address still has an entry: its release was never seen. */
static COLD void missed_free(Thread *thread, LiveEntry *entry, const void *block)
{
    uint64_t value = atomic_exchange(entry, 0);
    if (!value)
        return;
    atomic_fetch_add(&runtime.loss_missed_frees, 1);
    thread->last_block = 0;
    record_free(thread, value, block, RECORD_NO_OVERHEAD);
}

/* No memory for the map: the allocation counts, and as released at once. */
static COLD void count_unmapped(Slot *slot, size_t size)
{
    atomic_fetch_add(&runtime.loss_live_map, 1);
    count_alloc(slot, size, size);
    count_free(slot, size, size);
    stacks_mark_pending(slot->stack_id);
}

static COLD uint32_t put_huge(const void *block, size_t size)
{
    if (!livemap_big_put(block, size))
        atomic_fetch_add(&runtime.loss_live_map, 1); /* its release will count 4 GiB - 1 */
    return LIVEMAP_HUGE;
}

void record_alloc(Thread *thread, LiveMap *map, void *block, size_t size, size_t usable,
                  const UnwindContext *context)
{
    Slot *slot = slot_of_caller(thread, context);
    LiveEntry *entry = livemap_find(map, block);
    if (UNLIKELY(!entry) && !(entry = livemap_make(map, block))) {
        count_unmapped(slot, size);
        return;
    }
    if (UNLIKELY(atomic_load_explicit(entry, memory_order_relaxed) != 0))
        missed_free(thread, entry, block);
    uint32_t stored = LIKELY(size < LIVEMAP_HUGE) ? (uint32_t)size : put_huge(block, size);
    atomic_store_explicit(entry, LIVE_ENTRY(slot, stored), memory_order_relaxed);
    count_alloc(slot, size, usable);
    thread->last_block = (uintptr_t)block;
    touched(thread, slot, &(Touch){.allocs = 1, .bytes = size});
    thread->room_up -= (int64_t)size;
    thread->room_down += (int64_t)size;
    if (UNLIKELY(thread->room_up < 0))
        record_push(thread, 0);
}

void record_free(Thread *thread, uint64_t value, const void *block, size_t usable)
{
    uint64_t size = (uint32_t)value;
    if (UNLIKELY(size == LIVEMAP_HUGE))
        size = livemap_big_take(block);
    if (usable == RECORD_NO_OVERHEAD)
        usable = size;
    Slot *of_block = LIVE_SLOT(value);
    bool own = of_block->stamp >> 32 == thread->index + 1;
    Slot *slot = own ? of_block : slot_of_stack(thread, of_block->stack_id);
    bool temporary = own && thread->last_block == (uintptr_t)block;

    thread->room_down -= (int64_t)size;
    thread->room_up += (int64_t)size;
    if (UNLIKELY(thread->room_down < 0))
        record_push(thread, (int64_t)size);
    count_free(slot, size, usable);
    counter_add(&slot->sums.temporary, temporary);
    touched(thread, slot, &(Touch){.frees = 1, .freed_bytes = size, .temporary = temporary});
}

/* ---- peak ------------------------------------------------------------------------------------ */

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
    int64_t before = thread_delta(thread) + upcoming;
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
    int64_t band = band_of(peak);
    thread->push_above = thread->window_count ? window_push_above(thread, band) : band;
    thread->room_up = thread->push_above;
    thread->room_down = band;
}
