// SPDX-License-Identifier: Apache-2.0
/*
 * What walks remember: which words are compared, chains of walks of one place, epochs, and the
 * identity of a stack. Stacks are laid out by hand where a shape is rare; test_unwind_walk.c has
 * the real ones, test_unwind_rings.c is about the memory for what is remembered.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "unwind/internal.h"
#include "unwind/memo.h"
#include "unwind/walk.h"
#include "unwind/hand_stacks.h"
#include "unwind/walk_probe.h"

static void end_with_no_difference(long least_probes)
{
    long probes = probe_state->probes, differences = probe_state->differences;
    probe_end();
    assert_true(probes >= least_probes);
    assert_int_equal(differences, 0);
}

/* ---- what the memo compares
 * ---------------------------------------------------------------------- */

/* A stack laid out by hand: only the rbp that the first frame saved changes, and with it where the
 * second frame's caller lies. Each word that the first walk took a pc from stays. */
static void saved_fp_is_compared(void **state)
{
    (void)state;
    probe_begin(64, false);
    volatile uint64_t stack[16] = {0};
    stack[0] = (uint64_t)&stack[4];          /* rbp saved */
    stack[1] = (uint64_t)memo_framed_return; /* its CFA: rbp + 16 */
    stack[5] = (uint64_t)memo_saver_return;
    UnwindContext context = {.pc = (uint64_t)memo_saver_return, .sp = (uint64_t)&stack[0]};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(unwind_walk(probe_state->warm, &context)->depth, 3);
        UnwindStats stats;
        unwind_thread_stats(probe_state->warm, &stats);
        assert_int_equal(stats.verified, i);
    }
    stack[0] = (uint64_t)&stack[10]; /* no return address there: the bottom */
    assert_int_equal(unwind_walk(probe_state->warm, &context)->depth, 2);
    stack[0] = (uint64_t)&stack[4];
    assert_int_equal(unwind_walk(probe_state->warm, &context)->depth, 3);
    probe_end();
}

/* Likewise with rbx, saved two frames further in; at last by none, so that it is unknown. */
static void saved_rbx_is_compared(void **state)
{
    (void)state;
    probe_begin(64, false);
    volatile uint64_t stack[32] = {0};
    stack[1] = (uint64_t)memo_rbx_saver_return; /* its caller */
    stack[3] = (uint64_t)memo_saver_return;
    stack[5] = (uint64_t)memo_by_rbx_return; /* found from stack[2] */
    stack[9] = (uint64_t)memo_saver_return;
    UnwindContext context = {.pc = (uint64_t)memo_saver_return, .sp = (uint64_t)&stack[0]};
    for (unsigned round = 0; round < 6; round++) {
        stack[2] = (uint64_t)&stack[round % 2 ? 8 : 20]; /* the latter's caller is the bottom */
        for (unsigned again = 0; again < 2; again++) {
            assert_int_equal(walk_checked(&context)->depth, round % 2 ? 5 : 4);
            assert_int_equal(walk_checked(&context)->flags, 0);
        }
        assert_true(verified_walks() > round);
    }
    stack[1] = (uint64_t)memo_saver_return;
    assert_int_equal(walk_checked(&context)->depth, 4);
    assert_int_equal(walk_checked(&context)->flags, UNWIND_ENDED_EARLY);
    probe_end();
}

/* Whether a walk was cut depends on the word beyond its last frame. */
static void word_beyond_is_compared(void **state)
{
    (void)state;
    enum { DEPTH = 24 };
    probe_begin(DEPTH, false);
    volatile uint64_t stack[2 * DEPTH + 4] = {0};
    UnwindContext context = {.pc = (uint64_t)memo_saver_return, .sp = (uint64_t)&stack[0]};
    for (unsigned frame = 0; frame < DEPTH; frame++)
        stack[2 * frame + 1] = context.pc;
    for (unsigned round = 0; round < 6; round++) {
        bool cut = round % 2 == 0;
        stack[2 * DEPTH - 1] = cut ? context.pc : 0;
        for (unsigned again = 0; again < 2; again++) {
            const UnwindWalk *walk = walk_checked(&context);
            assert_int_equal(walk->depth, DEPTH);
            assert_int_equal(walk->flags, cut ? UNWIND_DEPTH_CUT : 0);
        }
        assert_true(verified_walks() > round);
    }
    probe_end();
}

extern char nocfi_unframed[];

/* Without tables: rbp points to no return address at first, and then it does. */
static void unsound_fp_is_compared(void **state)
{
    (void)state;
    probe_begin(64, false);
    volatile uint64_t stack[16] = {0};
    UnwindContext context = {
        .pc = (uint64_t)nocfi_unframed + 8, .sp = (uint64_t)&stack[0], .fp = (uint64_t)&stack[4]};
    for (unsigned round = 0; round < 6; round++) {
        stack[5] = round % 2 ? (uint64_t)memo_saver_return : 12345;
        for (unsigned again = 0; again < 2; again++) {
            const UnwindWalk *walk = walk_checked(&context);
            assert_int_equal(walk->depth, round % 2 ? 2 : 1);
            assert_int_equal(walk->flags, round % 2 ? UNWIND_BY_FRAME_POINTER : UNWIND_ENDED_EARLY);
        }
        assert_true(verified_walks() > round);
    }
    probe_end();
}

/* Callers that take turns at one (pc, sp), departing from each other at several frames: each is
 * walked once. */
static void callers_in_turn(void **state)
{
    (void)state;
    enum { CALLERS = 8 };
    probe_begin(64, false);
    uint64_t saver = (uint64_t)memo_saver_return, wide = (uint64_t)memo_wide_return;
    volatile uint64_t stack[40] = {0};
    UnwindContext context = {.pc = saver, .sp = (uint64_t)&stack[0]};
    for (unsigned round = 0; round < 50; round++) {
        for (unsigned caller = 0; caller < CALLERS; caller++) {
            for (unsigned frame = 0; frame < 6; frame++)
                stack[2 * frame + 1] = saver;
            stack[13] = 0;
            if (caller % 4 < 3)
                stack[2 * (caller % 4) + 3] = wide; /* its caller is two words further out */
            stack[11] = caller < 4 ? saver : wide;
            walk_checked(&context);
        }
        assert_int_equal(verified_walks(), round * CALLERS);
    }
    probe_end();
}

/* A chain holds from MEMO_CHAIN to twice as many walks, less one. */
static void chain_lengths(void **state)
{
    (void)state;
    probe_begin(64, false);
    assert_int_equal(numbered_round(1, 0, MEMO_CHAIN), 0);
    assert_int_equal(numbered_round(1, 0, MEMO_CHAIN + 1), MEMO_CHAIN);
    assert_int_equal(numbered_round(1, 1, MEMO_CHAIN), MEMO_CHAIN); /* cut to these */
    assert_int_equal(numbered_round(1, 2 * MEMO_CHAIN, 2 * MEMO_CHAIN), 0);
    for (unsigned round = 0; round < 5; round++)
        assert_int_equal(numbered_round(1, 0, 2 * MEMO_CHAIN), 0); /* always one just dropped */
    probe_end();
}

/* The walk returned last is the first to be tried, whoever looked for it; but the hook leaves one
 * right behind the first where it is. */
static void returned_last_comes_first(void **state)
{
    (void)state;
    enum { CALLERS = MEMO_CHAIN - 2 };
    probe_begin(64, false);
    UnwindThread *thread = probe_state->warm;
    volatile uint64_t stack[64];
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned caller = 0; caller < CALLERS; caller++) {
            UnwindContext context = numbered_stack(stack, caller * 7 % CALLERS);
            uint32_t cell = memo_cell(context.pc, context.sp);
            const UnwindWalk *walk = round == 1 ? unwind_remembered(thread, context.pc, context.sp)
                                                : unwind_walk(thread, &context);
            const Memo *front = memo_front(thread, cell);
            assert_ptr_equal(walk, &thread->last->walk);
            assert_true(thread->last == front || (round == 1 && thread->last->prev == front));
            walk_checked(&context);
        }
    }
    probe_end();
}

/* The walk returned last, and then one word of the stack is another: each word in turn, to another
 * caller or to none. */
static void each_word_of_the_last_is_compared(void **state)
{
    (void)state;
    probe_begin(64, false);
    volatile uint64_t stack[64];
    for (unsigned number = 0; number < 128; number++) {
        for (unsigned frame = 0; frame < 7; frame++) {
            UnwindContext context = numbered_stack(stack, number);
            const UnwindWalk *walk = walk_checked(&context);
            assert_ptr_equal(unwind_remembered(probe_state->warm, context.pc, context.sp), walk);
            context = numbered_stack(stack, number ^ 1u << frame);
            assert_int_equal(walk_checked(&context)->depth, 8);
            context = numbered_stack(stack, number);
            walk_checked(&context);
            unsigned at = 1;
            for (unsigned inner = 0; inner < frame; inner++)
                at += number >> inner & 1 ? 4 : 2;
            stack[at] = 0;
            assert_int_equal(walk_checked(&context)->depth, frame + 1);
        }
    }
    probe_end();
}

/* WORDS words, few different ones at each place, one of them changed between walks: the return
 * addresses are of PCS, or 0 where ENDS tells; saved rbps in between. */
static void few_words(unsigned depth, unsigned words, const uint64_t pcs[4], unsigned ends)
{
    enum { ROUNDS = 60000 };
    probe_begin(depth, false);
    uint64_t seed = 88172645463325252u + depth;
    volatile uint64_t stack[200];
    for (unsigned i = 0; i < ARRAY_SIZE(stack); i++)
        stack[i] = i % 2 ? (uint64_t)memo_saver_return : (uint64_t)&stack[6];
    for (unsigned i = 0; i < ROUNDS; i++) {
        uint64_t random = random_next(&seed);
        unsigned at = random % words;
        uint64_t pc = random >> 10 & 15 || !ends ? pcs[random >> 14 & 3] : 0;
        stack[at] = at % 2 ? pc : (uint64_t)&stack[random >> 14 & 2 ? 6 : 10];
        stack[words | 1] = (uint64_t)memo_outer_return;
        stack[(words | 1) + 2] = (uint64_t)memo_outer_return;
        UnwindContext context = {.pc = pcs[random >> 20 & 1],
                                 .sp = (uint64_t)&stack[random >> 22 & 2],
                                 .fp = (uint64_t)&stack[random >> 24 & 3 ? 4 : 8]};
        walk_checked(&context);
    }
    assert_true(verified_walks() > ROUNDS / 8);
    UnwindStats stats;
    unwind_thread_stats(probe_state->warm, &stats);
    assert_true(stats.joined > ROUNDS / 60 || depth < 60); /* few reach their ends then */
    probe_end();
}

/* Stacks laid out by hand: chains, joins and the log with walks of all lengths; frames whose CFAs
 * come from rbp; plain ones only; walks cut by depth. */
static void stacks_of_few_words(void **state)
{
    (void)state;
    uint64_t saver = (uint64_t)memo_saver_return, wide = (uint64_t)memo_wide_return,
             framed = (uint64_t)memo_framed_return, outer = (uint64_t)memo_outer_return;
    few_words(64, 16, (uint64_t[]){saver, wide, saver, framed}, 1);
    few_words(200, 40, (uint64_t[]){saver, wide, saver, framed}, 1);
    few_words(64, 120, (uint64_t[]){saver, saver, saver, wide}, 0);
    few_words(64, 40, (uint64_t[]){saver, wide, saver, outer}, 0);
    few_words(40, 120, (uint64_t[]){saver, saver, saver, wide}, 0);
    few_words(52, 120, (uint64_t[]){saver, saver, saver, wide}, 0);
    few_words(12, 40, (uint64_t[]){saver, saver, saver, wide}, 0);
    few_words(12, 40, (uint64_t[]){saver, saver, saver, wide}, 1);
    few_words(8, 40, (uint64_t[]){saver, wide, saver, framed}, 1);
}

/* One walk is returned again and again, also when it is the oldest and the next one needs its room;
 * that next one goes through all of its frames. */
static void oldest_returned_last(void **state)
{
    (void)state;
    enum { OUTER = 48, INNER = 24 };
    probe_begin(64, false);
    volatile uint64_t stack[2 * (OUTER + INNER) + 4] = {0};
    UnwindContext outer = {.pc = (uint64_t)memo_saver_return, .sp = (uint64_t)&stack[2 * INNER]};
    for (unsigned i = 0; i < OUTER - 2; i++)
        stack[2 * (INNER + i) + 1] = outer.pc;
    stack[2 * (INNER + OUTER - 2) + 1] = (uint64_t)memo_outer_return;
    for (unsigned round = 0; round < 3000; round++) {
        assert_int_equal(walk_checked(&outer)->depth, OUTER);
        unsigned inner = 1 + round * 7 % 16;
        UnwindContext context = {.pc = outer.pc, .sp = (uint64_t)&stack[2 * (INNER - inner)]};
        for (unsigned i = 0; i < inner; i++)
            stack[2 * (INNER - inner + i) + 1] = outer.pc;
        if (inner > 3) /* one of many */
            stack[2 * (INNER - inner + round / 16 % (inner - 2)) + 1] = (uint64_t)memo_wide_return;
        walk_checked(&context);
    }
    assert_true(verified_walks() > 2800);
    probe_end();
}

/* A plain step past the end of the stack, where a page lies that must not be read. */
static void plain_step_stays_on_stack(void **state)
{
    (void)state;
    enum { BYTES = 8192 };
    char *memory = mmap(NULL, BYTES + 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_int_equal(mprotect(memory, BYTES, PROT_READ | PROT_WRITE), 0);
    probe_begin(64, false);
    UnwindContext context = {.pc = (uint64_t)memo_saver_return};
    for (uint64_t room = 8; room <= 16; room += 8) { /* its CFA is 16 above */
        context.sp = (uint64_t)memory + BYTES - room;
        const UnwindWalk *walk = unwind_walk(probe_state->warm, &context);
        assert_int_equal(walk->depth, 1);
        assert_int_equal(walk->flags, room < 16 ? UNWIND_ENDED_EARLY : 0);
    }
    probe_end();
    munmap(memory, BYTES + 4096);
}

/* When a module goes away, no walk remembered from before may be returned. */
static void epoch_forgets(void **state)
{
    (void)state;
    probe_begin(64, false);
    volatile uint64_t stack[16] = {0};
    UnwindContext context = {.pc = (uint64_t)memo_saver_return, .sp = (uint64_t)&stack[0]};
    for (unsigned epoch = 0; epoch < 3; epoch++) {
        for (unsigned i = 0; i < 3; i++)
            assert_int_equal(unwind_walk(probe_state->warm, &context)->depth, 1);
        UnwindStats stats;
        unwind_thread_stats(probe_state->warm, &stats);
        assert_int_equal(stats.walks, 3 * (epoch + 1));
        assert_int_equal(stats.verified, 2 * (epoch + 1));
        assert_int_equal(stats.joined, 0);
        atomic_fetch_add(&unwind_epoch, 1);
    }
    probe_end();
}

static UnwindContext in_unknown_code;
static uint64_t verified_amid;

/* Inside a refresh: code that the loader knows cannot be looked up, and may be known soon. */
static void walk_amid_refresh(void)
{
    for (int i = 0; i < 3; i++)
        assert_int_equal(unwind_walk(probe_state->warm, &in_unknown_code)->flags,
                         UNWIND_ENDED_EARLY);
    verified_amid = verified_walks();
}

static int loader_knows(void *address, void *result)
{
    (void)address, (void)result;
    return 0;
}

/* A walk that ended because the modules could not be looked at is made anew each time; one that
 * ended in code of no module is remembered. */
static void unsure_is_forgotten(void **state)
{
    (void)state;
    volatile uint64_t stack[16] = {0};
    void *code = probe_pages(4096), *plug = dlopen(WALK_PLUGS "/libwalk_plug1.so", RTLD_NOW);
    assert_non_null(plug);
    unwind_modules_refresh();
    dlclose(plug);
    probe_begin(64, false);
    in_unknown_code = (UnwindContext){.pc = (uint64_t)code + 8, .sp = (uint64_t)&stack[0]};
    verified_amid = 99;
    unwind_dl_find_object = loader_knows;
    unwind_on_unload = walk_amid_refresh;
    unwind_modules_refresh();
    unwind_on_unload = NULL;
    assert_int_equal(verified_amid, 0);
    for (int i = 0; i < 3; i++)
        unwind_walk(probe_state->warm, &in_unknown_code);
    assert_int_equal(verified_walks(), 2);
    unwind_dl_find_object = NULL;
    probe_end();
    munmap(code, 4096);
}

static uint64_t waited_ns[2];

static void *refresh_beside(void *context)
{
    (void)context;
    for (int i = 0; i < 2; i++) {
        uint64_t start_ns = clock_monotonic_ns();
        assert_int_equal(unwind_modules_refresh(), -EBUSY);
        waited_ns[i] = clock_monotonic_ns() - start_ns;
    }
    return NULL;
}

static void stand_still_amid_refresh(void)
{
    pthread_t beside;
    assert_int_equal(pthread_create(&beside, NULL, refresh_beside, NULL), 0);
    pthread_join(beside, NULL);
}

/* A thread that was stopped inside a refresh: another one waits for it a while, once. */
static void stuck_refresh_is_awaited_once(void **state)
{
    (void)state;
    void *plug = dlopen(WALK_PLUGS "/libwalk_plug1.so", RTLD_NOW);
    assert_non_null(plug);
    assert_int_equal(unwind_modules_refresh(), 0);
    dlclose(plug);
    unwind_on_unload = stand_still_amid_refresh;
    assert_int_equal(unwind_modules_refresh(), 0);
    unwind_on_unload = NULL;
    assert_in_range(waited_ns[0], 100000000, 900000000);
    assert_in_range(waited_ns[1], 0, 90000000);
    assert_int_equal(unwind_modules_refresh(), 0); /* it went on: all is as before */
}

/* ---- identity
 * ---------------------------------------------------------------------------------------- */

static uint64_t hash_at_depth;
static void keep_hash(void)
{
    probe_walker_only();
    hash_at_depth = probe_state->walk.hash;
}

static __attribute__((noinline)) void lower(void (*inner)(void), unsigned bytes)
{
    volatile char *room = __builtin_alloca(bytes);
    room[0] = 1;
    inner();
    room[0] = 2;
}

/* The same frames at other stack addresses have the same hash. */
static void equal_frames_equal_hash(void **state)
{
    (void)state;
    probe_begin(64, false);
    uint64_t hashes[20];
    for (unsigned i = 0; i < 20; i++) {
        lower(keep_hash, 16 + i * 48);
        hashes[i] = hash_at_depth;
        assert_int_equal(hashes[i], hashes[0]);
    }
    end_with_no_difference(20);
}

/* Whether a + b * factor = 0 modulo 2^64 has a solution other than 0 with |a| and |b| below LIMIT,
 * which is below 2^31. By Legendre's theorem such a solution is a multiple of one that Euclid's
 * algorithm meets. */
static bool short_vector(uint64_t factor, uint64_t limit)
{
    __int128 a[2] = {(__int128)1 << 64, factor}, b[2] = {0, -1};
    while (a[1] != 0) {
        __int128 size = b[1] < 0 ? -b[1] : b[1];
        if (a[1] < (__int128)limit && size < (__int128)limit)
            return true;
        __int128 quotient = a[0] / a[1], next_a = a[0] - quotient * a[1],
                 next_b = b[0] - quotient * b[1];
        a[0] = a[1], b[0] = b[1];
        a[1] = next_a, b[1] = next_b;
    }
    return b[1] > -(__int128)limit && b[1] < (__int128)limit;
}

static void walk_base_lattices(void **state)
{
    (void)state;
    assert_true(short_vector(3, 4)); /* the check itself can fail */
    assert_true(short_vector(WALK_BASE, 1u << 31));
    uint64_t factor = 1;
    for (unsigned distance = 1; distance < UNWIND_MAX_DEPTH; distance++) {
        factor *= WALK_BASE;
        if (short_vector(factor, 1u << 29))
            fail_msg("distance %u", distance);
    }
}

int main(void)
{
    if (unwind_init(probe_pages) < 0 || unwind_modules_refresh() < 0)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(saved_fp_is_compared),
        cmocka_unit_test(saved_rbx_is_compared),
        cmocka_unit_test(word_beyond_is_compared),
        cmocka_unit_test(unsound_fp_is_compared),
        cmocka_unit_test(callers_in_turn),
        cmocka_unit_test(chain_lengths),
        cmocka_unit_test(returned_last_comes_first),
        cmocka_unit_test(each_word_of_the_last_is_compared),
        cmocka_unit_test(stacks_of_few_words),
        cmocka_unit_test(oldest_returned_last),
        cmocka_unit_test(plain_step_stays_on_stack),
        cmocka_unit_test(epoch_forgets),
        cmocka_unit_test(unsure_is_forgotten),
        cmocka_unit_test(stuck_refresh_is_awaited_once),
        cmocka_unit_test(equal_frames_equal_hash),
        cmocka_unit_test(walk_base_lattices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
