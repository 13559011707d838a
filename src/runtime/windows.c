// SPDX-License-Identifier: Apache-2.0
/*
 * Open windows: see windows.h.
 *
 * A begin raises the epoch of what it watches, so that the next touch of each stack goes through
 * record_touch; a stack whose last noted touch is older than the begin is new to the window, and
 * its counters before that touch are kept. A thread's windows nest, so an older window has always
 * seen a touch that a newer one sees; each keeps its own list.
 *
 * Peaks of thread windows are exact: while one is open the thread's push threshold stands at the
 * highest value so far, so that only a new high takes the slow path. Process windows see the sum of
 * pushed values, exact to the small band that threads keep then, which is none in a program of one
 * thread. What threads had not pushed when the window began is taken out when they next do
 * something.
 *
 * Thread windows belong to their thread. Process windows are guarded by drain_lock.
 */
#include "runtime/windows.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"
#include "runtime/arena.h"
#include "runtime/drain.h"
#include "runtime/runtime.h"

enum { POOL = 4096, PROCESS_WINDOWS = 16, FIRST_BASES = 64, HANDLE_SHIFT = 16 };

typedef struct Base { /* counters before the window's first touch */
    Sums before;
    const Slot *slot; /* thread scope */
    uint32_t stack_id;
} Base;

struct Window {
    WindowDefinition *definition;
    Thread *thread; /* NULL: process scope */
    Base *bases;
    uint32_t base_count, base_capacity;
    uint32_t *seen; /* process scope: open addressing, base index + 1 by stack id */
    uint32_t seen_mask;
    uint32_t begin_epoch;
    uint32_t round;             /* process scope: counts its begins */
    _Atomic int64_t live_begin; /* thread scope: of the thread; else of the pushed sum */
    _Atomic int64_t live_max;
    uint64_t begin_ns;
    uint32_t index, serial;
    _Atomic bool open;
    bool failed; /* a base could not be kept */
};

static _Atomic(Window *) pool[POOL];
static _Atomic uint32_t pool_used;
static Window *process_windows[PROCESS_WINDOWS];
static _Atomic uint32_t process_count, process_round;

static bool window_claim(Window *window)
{
    bool expected = false;
    return atomic_compare_exchange_strong(&window->open, &expected, true);
}

static Window *window_take(void)
{
    uint32_t used = atomic_load(&pool_used);
    for (uint32_t i = 0; i < used && i < POOL; i++) {
        Window *window = atomic_load(&pool[i]);
        if (window && !atomic_load_explicit(&window->open, memory_order_relaxed) &&
            window_claim(window))
            return window;
    }
    Window *window = used < POOL ? arena_take(ARENA_WINDOWS, sizeof(*window)) : NULL;
    uint32_t index = window ? atomic_fetch_add(&pool_used, 1) : POOL;
    if (index >= POOL)
        return NULL; /* what lost a race for the last place is not used again: once a thread */
    window->index = index;
    atomic_store(&window->open, true);
    atomic_store(&pool[index], window);
    return window;
}

uint64_t window_handle(const Window *window)
{
    return (uint64_t)window->serial << HANDLE_SHIFT | (window->index + 1);
}

static Window *window_of(uint64_t handle)
{
    uint64_t index = (handle & ((1 << HANDLE_SHIFT) - 1)) - 1;
    Window *window = index < POOL ? atomic_load(&pool[index]) : NULL;
    bool right = window && atomic_load(&window->open) && window->serial == handle >> HANDLE_SHIFT;
    return right ? window : NULL;
}

/* ---- bases ----------------------------------------------------------------------------------- */

static Base *base_new(Window *window)
{
    if (window->base_count == window->base_capacity) {
        uint32_t capacity = window->base_capacity ? window->base_capacity * 2 : FIRST_BASES;
        Base *fresh = arena_map(ARENA_WINDOWS, capacity * sizeof(Base));
        if (!fresh) {
            window->failed = true;
            return NULL;
        }
        if (window->base_count)
            memcpy(fresh, window->bases, window->base_count * sizeof(Base));
        arena_unmap(ARENA_WINDOWS, window->bases, window->base_capacity * sizeof(Base));
        window->bases = fresh;
        window->base_capacity = capacity;
    }
    return &window->bases[window->base_count++];
}

void window_note(Thread *thread, Slot *slot, const Touch *touch)
{
    for (uint32_t i = 0; i < thread->window_count; i++) {
        Window *window = thread->windows[i];
        Base *base =
            (int32_t)((uint32_t)slot->stamp - window->begin_epoch) < 0 ? base_new(window) : NULL;
        if (!base)
            continue;
        *base = (Base){.slot = slot, .stack_id = slot->stack_id, .before = slot->sums};
        base->before.alloc_count -= touch->allocs;
        base->before.alloc_bytes -= touch->bytes;
        base->before.free_count -= touch->frees;
        base->before.free_bytes -= touch->freed_bytes;
        base->before.temporary -= touch->temporary;
    }
}

static bool seen_room(Window *window)
{
    if (window->seen && window->base_count * 2 < window->seen_mask)
        return true;
    uint32_t cells = window->seen ? (window->seen_mask + 1) * 2 : 1024;
    uint32_t *fresh = arena_map(ARENA_WINDOWS, cells * sizeof(uint32_t));
    if (!fresh)
        return false;
    for (uint32_t i = 0; i < window->base_count; i++) {
        uint32_t at = window->bases[i].stack_id & (cells - 1);
        while (fresh[at])
            at = (at + 1) & (cells - 1);
        fresh[at] = i + 1;
    }
    if (window->seen)
        arena_unmap(ARENA_WINDOWS, window->seen, (window->seen_mask + 1) * sizeof(uint32_t));
    window->seen = fresh;
    window->seen_mask = cells - 1;
    return true;
}

static void observe(Window *window, uint32_t id, const Sums *before)
{
    if (!seen_room(window)) {
        window->failed = true;
        return;
    }
    uint32_t at = id & window->seen_mask;
    for (; window->seen[at]; at = (at + 1) & window->seen_mask)
        if (window->bases[window->seen[at] - 1].stack_id == id)
            return;
    Base *base = base_new(window);
    if (!base)
        return;
    *base = (Base){.stack_id = id, .before = *before};
    window->seen[at] = window->base_count;
}

void windows_observe(uint32_t id, const Sums *before)
{
    if (!atomic_load_explicit(&process_count, memory_order_relaxed))
        return;
    for (int i = 0; i < PROCESS_WINDOWS; i++)
        if (process_windows[i])
            observe(process_windows[i], id, before);
}

/* ---- peaks ----------------------------------------------------------------------------------- */

static void raise_max(Window *window, int64_t live)
{
    int64_t max = atomic_load_explicit(&window->live_max, memory_order_relaxed);
    while (live > max && !atomic_compare_exchange_weak(&window->live_max, &max, live))
        ;
}

void window_peak(Thread *thread, int64_t live)
{
    for (uint32_t i = 0; i < thread->window_count; i++)
        raise_max(thread->windows[i], live);
}

int64_t window_push_above(const Thread *thread, int64_t band)
{
    for (uint32_t i = 0; i < thread->window_count; i++) {
        int64_t room = atomic_load(&thread->windows[i]->live_max) - thread->live_base;
        if (room < band)
            band = room;
    }
    return band;
}

bool windows_process_open(void)
{
    return atomic_load_explicit(&process_count, memory_order_relaxed) != 0;
}

void windows_process_peak(int64_t sum)
{
    for (int i = 0; i < PROCESS_WINDOWS; i++) {
        Window *window = __atomic_load_n(&process_windows[i], __ATOMIC_ACQUIRE);
        if (window)
            raise_max(window, sum);
    }
}

bool windows_process_settle(Thread *thread, int64_t pending)
{
    uint32_t round = atomic_load(&process_round), before = thread->process_round;
    if (round == before)
        return false;
    thread->process_round = round;
    for (int i = 0; i < PROCESS_WINDOWS; i++) {
        Window *window = __atomic_load_n(&process_windows[i], __ATOMIC_ACQUIRE);
        if (!window || (int32_t)(window->round - before) <= 0 ||
            (int32_t)(window->round - round) > 0)
            continue;
        atomic_fetch_add(&window->live_begin, pending);
        atomic_fetch_add(&window->live_max, pending);
    }
    return true;
}

/* ---- begin and end --------------------------------------------------------------------------- */

static uint32_t tid_of(const Thread *thread)
{
    return atomic_load_explicit(&thread->owner, memory_order_relaxed);
}

static bool begin_thread(Thread *thread, Window *window)
{
    if (thread->window_count == THREAD_WINDOWS)
        return false;
    record_push(thread, 0);
    window->thread = thread;
    window->live_begin = thread->live_base;
    atomic_store(&window->live_max, thread->live_base);
    window->begin_epoch = thread_next_epoch();
    thread->windows[thread->window_count++] = window;
    thread->push_above = thread->room_up = 0;
    thread_raise_epoch(thread, window->begin_epoch);
    return true;
}

static bool begin_process(Thread *thread, Window *window)
{
    int free_cell = 0;
    record_push(thread, 0);
    if (!lock_take(&drain_lock, tid_of(thread), 0))
        return false;
    while (free_cell < PROCESS_WINDOWS && process_windows[free_cell])
        free_cell++;
    if (free_cell < PROCESS_WINDOWS) {
        drain_run();
        int64_t live = atomic_load(&runtime.live_sum);
        atomic_store(&window->live_begin, live);
        atomic_store(&window->live_max, live);
        window->round = thread->process_round = atomic_load(&process_round) + 1;
        if (window->seen)
            memset(window->seen, 0, (window->seen_mask + 1) * sizeof(uint32_t));
        __atomic_store_n(&process_windows[free_cell], window, __ATOMIC_RELEASE);
        atomic_fetch_add(&process_count, 1);
        atomic_store(&process_round, window->round); /* who sees the round finds its window */
    }
    lock_release(&drain_lock);
    record_push(thread, 0); /* from now on in small steps */
    return free_cell < PROCESS_WINDOWS;
}

Window *window_begin(Thread *thread, const char *name, int scope)
{
    Window *window = window_take();
    if (!window)
        goto fail;
    window->serial++;
    window->base_count = 0;
    window->failed = false;
    window->thread = NULL;
    window->definition = window_table_begin(name, scope, tid_of(thread));
    if (!window->definition)
        goto close;
    window->begin_ns = clock_monotonic_ns();
    if (scope == MEMHAWK_THREAD ? begin_thread(thread, window) : begin_process(thread, window))
        return window;
close:
    atomic_store(&window->open, false);
fail:
    atomic_fetch_add(&runtime.loss_windows, 1);
    return NULL;
}

static void close_thread(Thread *thread, Window *window)
{
    uint32_t kept = 0;
    record_push(thread, 0);
    window_peak(thread, thread->live_base);
    for (uint32_t i = 0; i < thread->window_count; i++)
        if (thread->windows[i] != window)
            thread->windows[kept++] = thread->windows[i];
    thread->window_count = kept;
}

void windows_abandon(Thread *thread)
{
    for (uint32_t i = 0; i < thread->window_count; i++)
        atomic_store(&thread->windows[i]->open, false);
    atomic_fetch_add(&runtime.loss_windows, thread->window_count);
    thread->window_count = 0;
}

static int close_process(Thread *thread, Window *window)
{
    record_push(thread, 0);
    if (!lock_take(&drain_lock, tid_of(thread), 0))
        return -EPERM;
    int at = 0;
    while (at < PROCESS_WINDOWS && process_windows[at] != window)
        at++;
    if (at == PROCESS_WINDOWS) { /* another thread was faster */
        lock_release(&drain_lock);
        return -EINVAL;
    }
    drain_run();
    __atomic_store_n(&process_windows[at], NULL, __ATOMIC_RELEASE);
    atomic_fetch_sub(&process_count, 1);
    return 0; /* drain_lock is kept: the sums must stay until they are read */
}

static bool row_of(const Base *base, WindowRow *ret_row)
{
    const Sums *now = base->slot ? &base->slot->sums : &stacks_get(base->stack_id)->last;
    Touch values = {.allocs = now->alloc_count - base->before.alloc_count,
                    .bytes = now->alloc_bytes - base->before.alloc_bytes,
                    .frees = now->free_count - base->before.free_count,
                    .freed_bytes = now->free_bytes - base->before.free_bytes,
                    .temporary = now->temporary - base->before.temporary};
    *ret_row = (WindowRow){base->stack_id, values};
    return values.allocs || values.frees;
}

static void sift(WindowRow *rows, uint32_t at, uint32_t count)
{
    for (uint32_t child; (child = at * 2 + 1) < count; at = child) {
        if (child + 1 < count && rows[child + 1].stack_id > rows[child].stack_id)
            child++;
        if (rows[at].stack_id >= rows[child].stack_id)
            return;
        WindowRow other = rows[at];
        rows[at] = rows[child];
        rows[child] = other;
    }
}

/* Heapsort: libc's qsort may allocate. */
static void sort_rows(WindowRow *rows, uint32_t count)
{
    for (uint32_t at = count / 2; at-- > 0;)
        sift(rows, at, count);
    for (uint32_t end = count; end > 1;) {
        end--;
        WindowRow last = rows[0];
        rows[0] = rows[end];
        rows[end] = last;
        sift(rows, 0, end);
    }
}

/* The rows take the place of the bases, which are larger. */
_Static_assert(sizeof(WindowRow) <= sizeof(Base), "rows are made in place");

static uint32_t make_rows(Window *window, struct memhawk_counts *counts)
{
    WindowRow *rows = (WindowRow *)(void *)window->bases;
    uint32_t count = 0;
    for (uint32_t i = 0; i < window->base_count; i++) {
        Base base = window->bases[i];
        WindowRow row;
        if (!row_of(&base, &row))
            continue;
        rows[count++] = row;
        counts->allocations += row.values.allocs;
        counts->bytes += row.values.bytes;
        counts->frees += row.values.frees;
        counts->freed_bytes += row.values.freed_bytes;
        counts->temporary += row.values.temporary;
    }
    sort_rows(rows, count);
    return count;
}

/* What is left at the end was there at once. Of a process window that can be more than the pushed
 * sums say. */
static uint64_t peak_of(const Window *window, const struct memhawk_counts *counts)
{
    int64_t peak = atomic_load(&window->live_max) - atomic_load(&window->live_begin);
    int64_t left = (int64_t)(counts->bytes - counts->freed_bytes);
    peak = peak < 0 ? 0 : peak;
    return (uint64_t)(left > peak ? left : peak);
}

int window_end(Thread *thread, uint64_t handle, struct memhawk_counts *ret_counts)
{
    Window *window = window_of(handle);
    if (!window)
        return -EINVAL;
    if (window->thread && window->thread != thread)
        return -EPERM;
    struct memhawk_counts counts = {.duration_ns = clock_monotonic_ns() - window->begin_ns};
    bool process = !window->thread;
    int ret = process ? close_process(thread, window) : 0;
    if (ret < 0)
        return ret;
    if (!process)
        close_thread(thread, window);
    uint32_t rows = make_rows(window, &counts);
    if (process)
        lock_release(&drain_lock);
    counts.peak_bytes = peak_of(window, &counts);
    if (window->failed)
        atomic_fetch_add(&runtime.loss_windows, 1);
    else
        window_table_add(window->definition, (WindowRow *)(void *)window->bases, rows, &counts,
                         tid_of(thread));
    *ret_counts = counts;
    atomic_store(&window->open, false);
    return window->failed ? -ENOMEM : 0;
}

void windows_after_fork(void)
{
    for (uint32_t i = 0; i < POOL && i < atomic_load(&pool_used); i++) {
        Window *window = atomic_load(&pool[i]);
        if (window)
            atomic_store(&window->open, false);
    }
    memset(process_windows, 0, sizeof(process_windows));
    atomic_store(&process_count, 0);
    window_table_after_fork();
}
