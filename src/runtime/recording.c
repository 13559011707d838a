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
#include "runtime/recording_fast.h"
#include "runtime/windows.h"

static Slot *slot_of_stack(Thread *thread, uint32_t stack_id)
{
    Slot *slot = thread_slot_find(thread, stack_id);
    if (!slot)
        slot = thread_slot_make(thread, stack_id);
    /* Without memory for a slot every state still has the losses' one, made with it. */
    return LIKELY(slot != NULL) ? slot : thread_slot_make(thread, STACK_LOSSES);
}

static Slot *slot_of_walk(Thread *thread, UnwindWalk *walk)
{
    RecentSlot *recent = thread_recent(thread, walk->hash);
    if (LIKELY(recent->hash == walk->hash) && LIKELY(recent->slot != NULL)) {
        walk->tag = (uintptr_t)recent->slot;
        return recent->slot;
    }
    uint32_t id = stacks_find(walk->hash);
    if (!id)
        id = stacks_put(thread->unwind, walk,
                        atomic_load_explicit(&thread->owner, memory_order_relaxed));
    Slot *slot = slot_of_stack(thread, id);
    if (id != STACK_LOSSES) {
        walk->tag = (uintptr_t)slot;
        *thread_recent(thread, walk->hash) = (RecentSlot){walk->hash, slot}; /* it may be new */
    }
    return slot;
}

Slot *record_slot(Thread *thread, const UnwindContext *context)
{
    if (thread->fixed_slot)
        return thread->fixed_slot;
    UnwindWalk *walk = unwind_walk(thread->unwind, context);
    return LIKELY(walk->tag != 0) ? (Slot *)walk->tag : slot_of_walk(thread, walk);
}

/*
 * SLOT changed by TOUCH: note it for the collector and for windows, once an epoch. With the stamp
 * the fast path takes the slot from a remembered walk again, so none may be left from before a
 * module went away: the epoch is read first, for it rises after the unwinder's
 * (drain_raise_epochs).
 */
static COLD void note_touch(Thread *thread, Slot *slot, const Touch *touch)
{
    uint32_t epoch = thread_epoch(thread);
    atomic_thread_fence(memory_order_acquire);
    if (thread->unwind)
        unwind_catch_up(thread->unwind);
    if (thread->window_count)
        window_note(thread, slot, touch);
    slot->stamp = (uint64_t)(thread->index + 1) << 32 | epoch;
    stacks_mark_pending(slot->stack_id);
    /* The bytes of an allocation are not in the delta yet, those of a release are. */
    if (UNLIKELY(windows_process_open()) &&
        windows_process_settle(thread, thread_delta(thread) + (int64_t)touch->freed_bytes))
        record_push(thread, 0);
}

static inline void touched(Thread *thread, Slot *slot, const Touch *touch)
{
    atomic_thread_fence(memory_order_seq_cst); /* counters before the look at the epoch: drain.c */
    if (UNLIKELY((uint32_t)slot->stamp != thread_epoch(thread)))
        note_touch(thread, slot, touch);
}

static inline void count_alloc(Slot *slot, size_t size, uint64_t overhead)
{
    counter_add(&slot->sums.alloc_count, 1);
    counter_add(&slot->sums.alloc_bytes, size);
    counter_add((uint64_t *)&slot->sums.overhead, overhead);
}

static inline void count_free(Slot *slot, size_t size, uint64_t overhead)
{
    counter_add(&slot->sums.free_count, 1);
    counter_add(&slot->sums.free_bytes, size);
    counter_sub((uint64_t *)&slot->sums.overhead, overhead);
}

static void released(Thread *thread, const void *block, uint32_t slot_bits, size_t size,
                     uint64_t overhead)
{
    Slot *of_block = record_slot_of(slot_bits);
    bool own = of_block->stamp >> 32 == thread->index + 1;
    Slot *slot = own ? of_block : slot_of_stack(thread, of_block->stack_id);
    bool temporary = own && thread->last_block == (uintptr_t)block;

    thread->room_down -= (int64_t)size;
    thread->room_up += (int64_t)size;
    if (UNLIKELY(thread->room_down < 0))
        record_push(thread, (int64_t)size);
    count_free(slot, size, overhead);
    counter_add(&slot->sums.temporary, temporary);
    touched(thread, slot, &(Touch){.frees = 1, .freed_bytes = size, .temporary = temporary});
}

/* Stands in for a size that is not known: exact where a stack allocates one size. */
static uint64_t mean_size(uint32_t slot_bits)
{
    const Sums *sums = &record_slot_of(slot_bits)->sums;
    return sums->alloc_bytes / (sums->alloc_count | !sums->alloc_count);
}

/* A block whose address still has an entry: its release was never seen, and its size went with it.
 */
static COLD void missed_free(Thread *thread, LiveEntry *entry, const void *block)
{
    uint64_t overhead;
    uint32_t slot_bits = live_take(entry, &overhead);
    if (!slot_bits)
        return;
    atomic_fetch_add(&runtime.loss_missed_frees, 1);
    thread->last_block = 0;
    released(thread, block, slot_bits, mean_size(slot_bits), overhead);
}

/* No memory for the map: the allocation counts, and as released at once. */
static COLD void count_unmapped(Slot *slot, size_t size)
{
    atomic_fetch_add(&runtime.loss_live_map, 1);
    count_alloc(slot, size, 0);
    count_free(slot, size, 0);
    stacks_mark_pending(slot->stack_id);
}

/* The entry for a new block, empty; NULL: no memory, and the block is counted. */
static LiveEntry *entry_for(Thread *thread, const void *block, Slot *slot, size_t size)
{
    LiveEntry *entry = livemap_find(&runtime.heap, block);
    if (UNLIKELY(!entry) && !(entry = livemap_make(&runtime.heap, block))) {
        count_unmapped(slot, size);
        return NULL;
    }
    if (UNLIKELY(atomic_load_explicit(entry, memory_order_relaxed) != 0))
        missed_free(thread, entry, block);
    return entry;
}

static void allocated(Thread *thread, Slot *slot, const void *block, size_t size, uint64_t overhead)
{
    count_alloc(slot, size, overhead);
    thread->last_block = (uintptr_t)block;
    touched(thread, slot, &(Touch){.allocs = 1, .bytes = size});
    thread->room_up -= (int64_t)size;
    thread->room_down += (int64_t)size;
    if (UNLIKELY(thread->room_up < 0))
        record_push(thread, 0);
}

/* A glibc chunk by whose header the fast path of the release would go wrong is marked: it spans
 * more than two granules, being large or a mapping. */
static void put(LiveEntry *entry, const void *block, uint32_t slot_bits, uint64_t overhead)
{
    if (runtime.glibc_malloc && !fast_is_common(block))
        live_put_escaped(entry, slot_bits, overhead);
    else
        live_put(entry, slot_bits, overhead);
}

void record_alloc_at(Thread *thread, Slot *slot, void *block, size_t size, size_t usable)
{
    LiveEntry *entry = entry_for(thread, block, slot, size);
    if (!entry)
        return;
    put(entry, block, (uint32_t)(uintptr_t)slot, usable - size);
    allocated(thread, slot, block, size, usable - size);
}

void record_alloc(Thread *thread, void *block, size_t size, size_t usable,
                  const UnwindContext *context)
{
    record_alloc_at(thread, record_slot(thread, context), block, size, usable);
}

Taken record_take(const void *block)
{
    Taken taken = {0};
    LiveEntry *entry = runtime.heap.root ? livemap_find(&runtime.heap, block) : NULL;
    if (!entry || !atomic_load_explicit(entry, memory_order_relaxed))
        return taken;
    taken.usable = record_usable(block);
    taken.slot_bits = live_take(entry, &taken.overhead);
    return taken;
}

void record_put_back(const void *block, const Taken *taken)
{
    if (taken->slot_bits)
        put(livemap_find(&runtime.heap, block), block, taken->slot_bits, taken->overhead);
}

void record_free(Thread *thread, const void *block, const Taken *taken)
{
    released(thread, block, taken->slot_bits, taken->usable - taken->overhead, taken->overhead);
}

/*
 * ---- blocks of the program's own allocators ----------------------------------------------------
 *
 * A block has the entry of its first granule of 8 bytes, marked LIVE_ESCAPE, and its size in the
 * next one: 30 bits of it, and where that is not enough (CUSTOM_MORE) the rest in the one behind.
 * So blocks must start 16 bytes apart; one that starts nearer takes the place of the other, whose
 * size it would overwrite. Where two threads announce such blocks at once, both stay, and the one
 * whose size is lost has the mean of its stack.
 */
enum { CUSTOM_GRANULE = 8, CUSTOM_MORE = 2, CUSTOM_SHIFT = 2, CUSTOM_BITS = 30 };

static bool is_custom_block(uint32_t entry)
{
    return (entry & LIVE_ESCAPE) == LIVE_ESCAPE; /* a size's lowest bit is 0 */
}

static void custom_put(LiveEntry *entry, uint32_t slot_bits, uint64_t size)
{
    uint64_t rest = size >> CUSTOM_BITS;
    uint32_t low = (uint32_t)(size & ((UINT64_C(1) << CUSTOM_BITS) - 1)) << CUSTOM_SHIFT;
    atomic_store(&entry[1], low | (rest ? CUSTOM_MORE : 0));
    if (rest)
        atomic_store(&entry[2], (uint32_t)rest << CUSTOM_SHIFT);
    atomic_store(entry, slot_bits | LIVE_ESCAPE);
}

/* False: the cell is another block's by now. */
static bool custom_take_size(LiveEntry *cell, uint32_t *ret_value)
{
    *ret_value = atomic_load(cell);
    return !is_custom_block(*ret_value) && atomic_compare_exchange_strong(cell, ret_value, 0);
}

/* The slot bits of the block that starts at ENTRY, 0: none; it is taken out. */
static uint32_t custom_take(LiveEntry *entry, uint64_t *ret_size)
{
    uint32_t slot = atomic_load(entry), low, high = 0;
    if (!is_custom_block(slot) || !atomic_compare_exchange_strong(entry, &slot, 0))
        return 0;
    slot &= ~(uint32_t)LIVE_ESCAPE;
    if (custom_take_size(&entry[1], &low) &&
        (!(low & CUSTOM_MORE) || custom_take_size(&entry[2], &high))) {
        *ret_size = (uint64_t)(high >> CUSTOM_SHIFT) << CUSTOM_BITS | low >> CUSTOM_SHIFT;
    } else {
        atomic_fetch_add(&runtime.loss_missed_frees, 1);
        *ret_size = mean_size(slot);
    }
    return slot;
}

/* Ends the blocks whose entries a block of that size at this place would overlap. */
static void custom_make_way(Thread *thread, const void *block, size_t size)
{
    int cells = size >> CUSTOM_BITS ? 2 : 1;
    for (int at = -2; at <= cells; at++) {
        const char *near = (const char *)block + at * CUSTOM_GRANULE;
        LiveEntry *entry = livemap_find(&runtime.custom, near);
        if (!entry || !is_custom_block(atomic_load(entry)))
            continue;
        if (at > -2 || (atomic_load(&entry[1]) & CUSTOM_MORE))
            record_custom_free(thread, near);
    }
}

void record_custom_alloc(Thread *thread, const void *block, size_t size,
                         const UnwindContext *context)
{
    custom_make_way(thread, block, size); /* a block announced twice: the later one counts */
    Slot *slot = record_slot(thread, context);
    LiveEntry *entry = livemap_make(&runtime.custom, block);
    if (!entry) {
        count_unmapped(slot, size);
        return;
    }
    custom_put(entry, (uint32_t)(uintptr_t)slot, size);
    allocated(thread, slot, block, size, 0);
}

void record_custom_free(Thread *thread, const void *block)
{
    uint64_t size;
    LiveEntry *entry = runtime.custom.root ? livemap_find(&runtime.custom, block) : NULL;
    uint32_t slot_bits = entry ? custom_take(entry, &size) : 0;
    if (slot_bits)
        released(thread, block, slot_bits, size, 0);
}

/* ---- peak ------------------------------------------------------------------------------------ */

/*
 * How far a thread may drift before it tells: a part of the slack that captures have, shared by all
 * threads, so that their sum stays below it. Threads with small heaps would tell at every call and
 * share a cache line that often (two threads with 17 KiB each: 86 ns a pair instead of 56), so with
 * several threads it is not less than 2 KiB, and all of them together not more than 128 KiB: an
 * eighth of what a peak may be off by.
 */
static int64_t band_of(int64_t peak)
{
    enum {
        LEAST = 128,
        LEAST_SHARED = 2048,
        LEAST_ALL = 128 << 10,
        MOST = 65536,
        MOST_WINDOW = 1024
    };
    int64_t threads = (int64_t)thread_count();
    threads = threads ? threads : 1;
    int64_t band = peak / 512 / threads, least = LEAST;
    bool window = windows_process_open();
    if (window && threads == 1)
        return 0; /* its peak is exact then */
    if (threads > 1 && !window)
        least = LEAST_ALL / threads < LEAST_SHARED ? LEAST_ALL / threads : LEAST_SHARED;
    least = least < LEAST ? LEAST : least;
    int64_t most = window ? MOST_WINDOW : MOST;
    return band < least ? least : band > most ? most : band;
}

int64_t record_slack(int64_t peak)
{
    int64_t slack = peak / 128;
    return slack < 1024 ? 1024 : slack;
}

bool record_is_uncaptured(int64_t sum)
{
    int64_t kept = atomic_load_explicit(&runtime.captured_bytes, memory_order_relaxed);
    return sum > kept + record_slack(sum) / 2;
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

static void note_lowest(int64_t sum)
{
    int64_t lowest = atomic_load_explicit(&runtime.lowest_bytes, memory_order_relaxed);
    while (sum < lowest && !atomic_compare_exchange_weak(&runtime.lowest_bytes, &lowest, sum))
        ;
}

/* UPCOMING: a release of that many bytes is part of live_delta, but not of the counters yet. */
void record_push(Thread *thread, int64_t upcoming)
{
    int64_t before = thread_delta(thread) + upcoming;
    bool window = windows_process_open();
    if (UNLIKELY(window))
        windows_process_settle(thread, before);
    int64_t sum = atomic_fetch_add(&runtime.live_sum, before) + before;
    note_peak(sum);
    if (UNLIKELY(window))
        windows_process_peak(sum);
    thread->live_base += before;
    if (thread->window_count)
        window_peak(thread, thread->live_base);
    int64_t peak = atomic_load_explicit(&runtime.peak_bytes, memory_order_relaxed);
    sum = atomic_load(&runtime.live_sum); /* a thread that raised the peak just now is in it */
    if (sum - upcoming < peak - record_slack(peak) / 2 && record_is_uncaptured(sum))
        collector_capture(thread);
    if (!upcoming)
        livemap_warm(&runtime.heap, thread->last_block, &thread->warm_last);
    note_lowest(atomic_fetch_sub(&runtime.live_sum, upcoming) - upcoming);
    thread->live_base -= upcoming;
    int64_t band = band_of(peak);
    thread->push_above = thread->window_count ? window_push_above(thread, band) : band;
    thread->room_up = thread->push_above;
    thread->room_down = band;
}
