// SPDX-License-Identifier: Apache-2.0
/*
 * Sums over threads, and the recorder's shared tables under four threads that do what recording
 * threads do while a fifth drains as the collector does. Also the test for ThreadSanitizer: the
 * counters, which the recorder adds to by one instruction, are atomic here.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/arena.h"
#include "runtime/drain.h"
#include "runtime/livemap.h"
#include "runtime/runtime.h"
#include "runtime/thread.h"
#include "runtime_stub.h"

enum { THREADS = 4, ROUNDS = 60, STACKS = 3000, BYTES = 40 };

static void add(uint64_t *counter, uint64_t amount)
{
    __atomic_store_n(counter, __atomic_load_n(counter, __ATOMIC_RELAXED) + amount,
                     __ATOMIC_RELEASE);
}

/* recording.c's touched(): counters, a barrier, then the look at the epoch. */
static void touch(Thread *thread, Slot *slot)
{
    __atomic_fetch_add(&slot->sums.alloc_count, 0, __ATOMIC_SEQ_CST);
    if ((uint32_t)slot->stamp == thread_epoch(thread))
        return;
    slot->stamp = (uint64_t)(thread->index + 1) << 32 | thread_epoch(thread);
    stacks_mark_pending(slot->stack_id);
}

static uint32_t stack_of(uint32_t number, uint32_t tid)
{
    UnwindWalk walk = stub_walk((uint64_t)(number + 1) * UINT64_C(0x9e3779b97f4a7c15), number % 9);
    return stacks_put(NULL, &walk, tid);
}

static void record(Thread *thread, uint32_t id, uint64_t bytes)
{
    Slot *slot = thread_slot_make(thread, id);
    add(&slot->sums.alloc_count, 1);
    add(&slot->sums.alloc_bytes, bytes);
    touch(thread, slot);
}

static void forget(Thread *thread, uint32_t id, uint64_t bytes)
{
    Slot *slot = thread_slot_make(thread, id);
    add(&slot->sums.free_count, 1);
    add(&slot->sums.free_bytes, bytes);
    touch(thread, slot);
}

static void test_sums(void **state)
{
    (void)state;
    Thread *one = thread_adopt(1), *two = thread_adopt(2);
    uint32_t a = stack_of(90001, 1), b = stack_of(90002, 1);
    record(one, a, 100);
    record(two, a, 50);
    record(two, b, 7);
    forget(one, a, 50); /* two's block, released by one */
    assert_int_equal(stacks_get(a)->last.alloc_count, 0);
    drain_run();
    const Sums *sums = &stacks_get(a)->last, *total = &drain_state.total;
    assert_int_equal(sums->alloc_count, 2);
    assert_int_equal(sums->alloc_bytes, 150);
    assert_int_equal(sums->free_count, 1);
    assert_int_equal(sums->free_bytes, 50);
    assert_int_equal(total->alloc_count, 3);
    assert_int_equal(total->alloc_bytes, 157);
    assert_int_equal(drain_state.changed_count, 2);

    /* Field 2 of Snapshot: {1: id, 2: {1: live bytes, 2: live count, 4: count, 5: bytes}}. */
    WireBuffer buffer = {.grow = drain_grow};
    drain_encode_changed(&buffer);
    const uint8_t row_of_b[] = {0x12, 12,   0x08, (uint8_t)b, 0x12, 8,    0x08,
                                7,    0x10, 1,    0x20,       1,    0x28, 7};
    assert_true(b < 128);
    assert_non_null(memmem(buffer.data, buffer.bytes, row_of_b, sizeof(row_of_b)));

    drain_written();
    drain_run();
    assert_int_equal(drain_state.changed_count, 0); /* nothing was touched since */
    record(one, b, 3);
    drain_run();
    assert_int_equal(drain_state.changed_count, 1);
    assert_int_equal(stacks_get(b)->last.alloc_bytes, 10);
    drain_written();
}

/* The child's view: what lives stays, nothing was allocated by it. */
static void test_fork(void **state)
{
    (void)state;
    Sums inherited;
    uint64_t live = drain_state.total.alloc_bytes - drain_state.total.free_bytes;
    drain_after_fork(&inherited);
    assert_int_equal(inherited.alloc_count, 0);
    assert_int_equal(0 - inherited.free_bytes, live);
    drain_sweep();
    assert_int_equal(drain_state.total.alloc_count, 0);
    assert_int_equal(0 - drain_state.total.free_bytes, live);
    assert_int_equal(0 - drain_state.total.free_count, 3);
    drain_written();
}

/* ---- all at once --------------------------------------------------------------------------------
 */

static LiveMap map;
static _Atomic bool stop;
static _Atomic uint32_t errors;

static void *recorder(void *argument)
{
    uint32_t tid = 100 + (uint32_t)(uintptr_t)argument;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        Thread *thread = thread_adopt(tid);
        if (!thread || atomic_load(&thread->owner) != tid) {
            errors++;
            break;
        }
        for (uint32_t i = 0; i < 200; i++) {
            /* All threads meet the same new stacks at about the same time. */
            uint32_t id = stack_of((round * 50 + i) % STACKS, tid);
            if (id == STACK_LOSSES)
                errors++;
            record(thread, id, BYTES);
            forget(thread, id, BYTES);
            const void *block = (const void *)(UINT64_C(0x600000000000) + ((uint64_t)round << 26) +
                                               (tid * 1000 + i) * 32);
            LiveEntry *entry = livemap_make(&map, block);
            atomic_store_explicit(entry, tid, memory_order_relaxed);
            if (entry != livemap_find(&map, block) || atomic_load(entry) != tid)
                errors++;
        }
        if (!arena_take(ARENA_THREADS, 48))
            errors++;
        thread_release(thread);
    }
    return NULL;
}

static void *collector(void *argument)
{
    (void)argument;
    while (!stop) {
        lock_take(&drain_lock, 99, 0);
        drain_run();
        if (drain_state.total.alloc_count < drain_state.total.free_count + 0)
            errors++; /* no block lives here before a record, so live is never below zero */
        drain_written();
        lock_release(&drain_lock);
        thread_reap(1);
    }
    return NULL;
}

static void test_together(void **state)
{
    (void)state;
    pthread_t threads[THREADS], reader;
    size_t states = thread_count();
    for (size_t i = 0; i < states; i++) /* as fresh: test_fork left what lives */
        thread_release(thread_get(i));
    Sums before = drain_state.total;
    drain_state.total.free_count = drain_state.total.alloc_count;
    assert_int_equal(livemap_init(&map, 5), 0);
    pthread_create(&reader, NULL, collector, NULL);
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, recorder, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    stop = true;
    pthread_join(reader, NULL);
    drain_sweep();
    assert_int_equal(errors, 0);
    uint64_t count = (uint64_t)THREADS * ROUNDS * 200;
    assert_int_equal(drain_state.total.alloc_count - before.alloc_count, count);
    assert_int_equal(drain_state.total.alloc_bytes - before.alloc_bytes, count * BYTES);
    assert_int_equal(drain_state.total.free_bytes - before.free_bytes, count * BYTES);
    assert_in_range(thread_count(), 2, 6); /* four at once, and none lost */
    /* 59 * 50 + 200 numbers modulo 3000: each stack once, whoever came first. */
    uint64_t sum = 0;
    for (uint32_t number = 0; number < STACKS; number++) {
        uint64_t hash = (uint64_t)(number + 1) * UINT64_C(0x9e3779b97f4a7c15);
        assert_int_not_equal(stacks_find(hash), 0);
        sum += stacks_get(stacks_find(hash))->last.alloc_count;
    }
    assert_int_equal(sum, count);
}

/* What was kept as a peak stays as it was, however the values go on. */
static void test_capture(void **state)
{
    (void)state;
    Thread *thread = thread_adopt(1);
    uint32_t a = stack_of(90011, 1), b = stack_of(90012, 1);
    drain_run();
    drain_written();
    drain_state.total = (Sums){0};
    atomic_store(&runtime.peak_bytes, 40);
    record(thread, a, 40);
    drain_capture();
    atomic_store(&runtime.peak_bytes, 48);
    record(thread, a, 8);
    drain_capture(); /* a higher one takes its place */
    assert_int_equal(atomic_load(&runtime.captured_bytes), 48);
    assert_true(drain_state.peak_pending);
    record(thread, a, 1000);
    record(thread, b, 2000);
    drain_run();
    assert_true(drain_state.peak_valid);
    assert_false(drain_state.peak_pending);
    assert_int_equal(drain_state.peak_total.alloc_bytes, 48);
    assert_int_equal(drain_state.peak_total.alloc_count, 2);
    assert_int_equal(drain_state.changed_count, 2);
    const WireBuffer *peak = &drain_state.peak;
    uint8_t row[16] = {0x12, 0, 0x08}, *end = wire_put_varint(row + 3, a);
    *end++ = 0x12;
    const uint8_t sums[] = {8, 0x08, 48, 0x10, 2, 0x20, 2, 0x28, 48};
    memcpy(end, sums, sizeof(sums));
    end += sizeof(sums);
    row[1] = (uint8_t)(end - row - 2);
    assert_int_equal(peak->bytes, end - row); /* b was not there yet */
    assert_memory_equal(peak->data, row, peak->bytes);
    drain_written();
    assert_false(drain_state.peak_valid);
    drain_run();
    assert_false(drain_state.peak_valid);

    /* Without memory for it the peak is lost, and that is counted; a lower one will do. */
    record(thread, a, 70);
    drain_capture();
    assert_true(atomic_load(&runtime.captured_bytes) > 0);
    drain_state.peak = (WireBuffer){.grow = drain_grow};
    uint64_t lost = atomic_load(&runtime.loss_write);
    arena_fail_at(1);
    drain_run();
    arena_fail_at(0);
    assert_false(drain_state.peak_valid);
    assert_int_equal(atomic_load(&runtime.captured_bytes), 0);
    assert_int_equal(atomic_load(&runtime.loss_write), lost + sizeof(Sums));
    thread_release(thread);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_together),
        cmocka_unit_test(test_capture),
    };
    stub_start();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
