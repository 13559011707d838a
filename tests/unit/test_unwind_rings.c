// SPDX-License-Identifier: Apache-2.0
/*
 * The memory for what walks remember: the ring that is overrun, its growth, the long ring of
 * threads whose walks are long, and what becomes of it by an epoch, fork and another thread.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unwind/hand_stacks.h"
#include "unwind/internal.h"
#include "unwind/memo.h"
#include "unwind/walk_probe.h"

/* The chain's oldest walk is returned last; then others need its room, one by one, so that the rest
 * of the chain goes in any order too. */
static void overrun_takes_the_last(void **state)
{
    (void)state;
    enum { CALLERS = 28 };
    probe_begin(64, false);
    UnwindThread *thread = probe_state->warm;
    volatile uint64_t stack[64], other[64 + 400];
    uint64_t seed = 1234567;
    unsigned gone = 0;
    for (unsigned round = 0; round < 12; round++) {
        for (unsigned caller = 0; caller < CALLERS; caller++) {
            UnwindContext context = numbered_stack(stack, caller * 5);
            walk_checked(&context);
        }
        for (unsigned i = 0; i < 300; i++) { /* at places of their own */
            UnwindContext context = numbered_stack(stack, round % 3 * 5);
            if (round % 2 && i == 0)
                walk_checked(&context);
            numbered_stack(&other[i], i % 128);
            context.sp = (uint64_t)&other[i];
            walk_checked(&context);
            context = numbered_stack(stack, random_next(&seed) % CALLERS * 5);
            gone += !unwind_remembered(thread, context.pc, context.sp);
            thread->missed_pc = 0; /* a walk would follow */
            if (i % 16 == 0)
                walk_checked(&context);
        }
    }
    assert_in_range(gone, 12 * 20, 12 * 295);
    probe_end();
}

static size_t resident_bytes(void *memory, size_t bytes)
{
    static unsigned char pages[1024];
    size_t resident = 0, count = (bytes + 4095) / 4096;
    assert_true(count <= sizeof pages);
    assert_int_equal(mincore(memory, bytes, pages), 0);
    for (size_t i = 0; i < count; i++)
        resident += pages[i] & 1;
    return resident * 4096;
}

/* More walks in turn than the ring holds at first, so that none is found again until it grows. */
static void ring_grows(void **state)
{
    (void)state;
    enum { PLACES = 10, CALLERS = 30, ROUND = PLACES * CALLERS };
    probe_begin(64, false);
    for (unsigned walks = ROUND; walks < LOG_GROWS_AT; walks += ROUND)
        assert_int_equal(numbered_round(PLACES, 0, CALLERS), 0);
    size_t bytes = unwind_thread_bytes(64);
    assert_true(resident_bytes(probe_state->warm, bytes) <= 128 * 1024);
    for (unsigned round = 0; round < 4; round++)
        numbered_round(PLACES, 0, CALLERS);
    for (unsigned round = 0; round < 4; round++)
        assert_int_equal(numbered_round(PLACES, 0, CALLERS), ROUND);
    assert_true(bytes <= 288 * 1024);
    probe_end();
}

/* In the first threads only that come to it, and never beyond the thread's memory. */
static void rings_grow_in_some_threads(void **state)
{
    (void)state;
    unsigned grown = 0;
    for (unsigned i = 0; i < LOG_GROWN_MOST + 6; i++) {
        unsigned depth = 8 + (i + 1) % 3 * 106; /* at 220 there is no room to grow */
        probe_begin(depth, false);
        const UnwindThread *thread = probe_state->warm;
        const char *end = (const char *)thread + unwind_thread_bytes(depth);
        for (unsigned round = 0; round < 12; round++) {
            numbered_round(30, 0, 30);
            assert_true(thread->log_end <= end && thread->head <= thread->log_end);
        }
        grown += thread->log_end > thread->log + LOG_GROWN_BYTES - 4096;
        probe_end();
    }
    assert_in_range(grown, 1, LOG_GROWN_MOST);
}
/* ---- the long ring
 * ---------------------------------------------------------------------- */

enum { LONG_PLACES = 20, LONG_CALLERS = 30, LONG_ROUND = LONG_PLACES * LONG_CALLERS };

/* As numbered_round() with walks of 27 frames, all of them different: no ring but the long one
 * holds as many. */
static uint64_t long_round(void)
{
    static volatile uint64_t stack[160];
    uint64_t before = verified_walks();
    for (unsigned walk = 0; walk < LONG_ROUND; walk++) {
        volatile uint64_t *words = &stack[walk % LONG_PLACES];
        uint64_t bits = walk + 1;
        for (unsigned i = 0; i < 8; i++)
            random_next(&bits);
        unsigned at = 1;
        for (unsigned frame = 0; frame < 26; frame++) {
            bool wide = bits >> frame & 1;
            words[at] = wide ? (uint64_t)memo_wide_return : (uint64_t)memo_saver_return;
            at += wide ? 4 : 2;
        }
        words[at] = 0;
        UnwindContext context = {.pc = (uint64_t)memo_saver_return, .sp = (uint64_t)words};
        assert_int_equal(walk_checked(&context)->depth, 27);
        const UnwindThread *thread = probe_state->warm;
        assert_true(thread->head >= thread->log_begin && thread->head <= thread->log_end);
    }
    return verified_walks() - before;
}

static bool has_long_ring(const UnwindThread *thread)
{
    return thread->log_begin != thread->log;
}

static void long_rounds_to_long_ring(void)
{
    for (unsigned round = 0; round < 6; round++)
        long_round();
    assert_true(has_long_ring(probe_state->warm));
}

static int in_child(int (*check)(void))
{
    int status = -1;
    pid_t child = fork();
    if (child == 0)
        _exit(check());
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static int forget_and_go_on(void)
{
    UnwindThread *thread = probe_state->warm;
    const char *ring = thread->log_begin;
    memset(thread, 0, sizeof(*thread)); /* as the runtime does with states of other threads */
    unwind_thread_init(thread, 64, false);
    if (has_long_ring(thread) || long_round() != 0)
        return 1;
    long_rounds_to_long_ring();
    if (thread->log_begin != ring)
        return 2;
    return long_round() == LONG_ROUND ? 0 : 3;
}

static int go_on(void)
{
    return long_round() == LONG_ROUND ? 0 : 1;
}

static void *adopt(void *probe)
{
    probe_state = probe;
    uint64_t before = verified_walks();
    numbered_round(3, 0, 20);
    assert_int_equal(verified_walks(), before); /* its stack is another */
    assert_int_equal(numbered_round(3, 0, 20), 60);
    return NULL;
}

/* All is remembered then; not beyond an epoch, nor what a forked child forgets; another thread that
 * takes the state over gets walks of its own stack. */
static void long_ring_remembers(void **state)
{
    (void)state;
    probe_begin(64, false);
    UnwindThread *thread = probe_state->warm;
    long_rounds_to_long_ring();
    assert_int_equal(long_round(), LONG_ROUND);
    atomic_fetch_add(&unwind_epoch, 1);
    const Memo *last = thread->last;
    assert_ptr_equal(memo_front(thread, last->cell), last);
    uint64_t key = last->key, sp = last->sp;
    unwind_catch_up(thread);
    assert_null(unwind_remembered(thread, key, sp));
    assert_int_equal(long_round(), 0);
    assert_int_equal(long_round(), LONG_ROUND);
    assert_int_equal(in_child(go_on), 0);
    assert_int_equal(in_child(forget_and_go_on), 0);
    assert_int_equal(long_round(), LONG_ROUND);
    pthread_t other;
    assert_int_equal(pthread_create(&other, NULL, adopt, probe_state), 0);
    pthread_join(other, NULL);
    for (unsigned round = 0; round < 3; round++) /* the other's were the newest */
        long_round();
    assert_int_equal(long_round(), LONG_ROUND);
    probe_end();
}

/* Threads whose walks are short get none, and of the others the first ones only. */
static void long_rings_are_few(void **state)
{
    (void)state;
    enum { THREADS = LOG_LONG_MOST + 3 };
    Probe *probes[THREADS];
    unsigned count = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        probe_begin(64, false);
        for (unsigned round = 0; round < 12; round++)
            i == 1 ? numbered_round(30, 0, 30) : long_round();
        assert_true(i != 1 || !has_long_ring(probe_state->warm));
        count += has_long_ring(probe_state->warm);
        probes[i] = probe_state;
    }
    assert_in_range(count, 7, 8); /* one was given away above */
    for (unsigned i = 0; i < THREADS; i++) {
        probe_state = probes[i];
        probe_end();
    }
}

int main(void)
{
    if (unwind_init(probe_pages) < 0 || unwind_modules_refresh() < 0)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(overrun_takes_the_last),     cmocka_unit_test(ring_grows),
        cmocka_unit_test(rings_grow_in_some_threads), cmocka_unit_test(long_ring_remembers),
        cmocka_unit_test(long_rings_are_few),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
