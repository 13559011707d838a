// SPDX-License-Identifier: Apache-2.0
/* The stack table: growth, colliding hashes, what a failed mapping does, the pending list. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runtime/arena.h"
#include "runtime/stacks.h"
#include "runtime_stub.h"

enum { TID = 1000, MANY = 100000 };

static uint32_t put(uint64_t hash, unsigned depth)
{
    UnwindWalk walk = stub_walk(hash, depth);
    return stacks_put(NULL, &walk, TID);
}

/* Spread over 64 bits; every 4th differs from its neighbour in the upper half only, so that the
 * cell is the same; every 5th in the lowest bits only. */
static uint64_t hash_of(uint32_t i)
{
    uint64_t hash = (uint64_t)(i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    return i % 4 == 3 ? (uint64_t)i << 40 | 77 : i % 5 == 4 ? i : hash;
}

static void test_fixed(void **state)
{
    (void)state;
    assert_int_equal(stacks_count(), 2);
    assert_int_equal(stacks_get(STACK_LOSSES)->flags, 16);
    assert_int_equal(stacks_get(STACK_EMPTY)->depth, 0);
    assert_int_equal(stacks_find(UINT64_C(0x123456789)), 0);
}

static void test_many(void **state)
{
    (void)state;
    uint32_t first = stacks_count() + 1;
    for (uint32_t i = 0; i < MANY; i++) {
        assert_int_equal(stacks_find(hash_of(i)), 0);
        assert_int_equal(put(hash_of(i), i % 7), first + i);
        assert_int_equal(stacks_count(), first + i);
    }
    FrameWord frames[UNWIND_MAX_DEPTH];
    for (uint32_t i = 0; i < MANY; i++) {
        assert_int_equal(stacks_find(hash_of(i)), first + i);
        assert_int_equal(put(hash_of(i), 3), first + i); /* known: not added again */
        const Stack *stack = stacks_get(first + i);
        assert_int_equal(stack->depth, i % 7);
        stacks_frames(stack, frames);
        for (unsigned frame = 0; frame < stack->depth; frame++)
            assert_int_equal(frames[frame], stub_frame(hash_of(i), frame));
    }
    assert_int_equal(stacks_count(), first + MANY - 1);
    assert_int_equal(stacks_find(hash_of(MANY + 1)), 0);
}

/* 256 frames, the deepest there are. */
static void test_deep(void **state)
{
    (void)state;
    uint32_t id = put(UINT64_C(0xdeadbeef00000001), UNWIND_MAX_DEPTH);
    assert_int_equal(stacks_get(id)->depth, UNWIND_MAX_DEPTH);
    FrameWord frames[UNWIND_MAX_DEPTH];
    stacks_frames(stacks_get(id), frames);
    assert_int_equal(frames[255], stub_frame(UINT64_C(0xdeadbeef00000001), 255));
}

/* Adds a stack with these frames, as thread TID; the next hash each time. */
static const Stack *put_frames(const FrameWord *frames, unsigned depth, uint32_t tid)
{
    static uint64_t hash = UINT64_C(0x5000000000000001);
    UnwindWalk walk = stub_walk(hash += UINT64_C(0x123456789abcdf), depth);
    stub_frames = frames;
    const Stack *stack = stacks_get(stacks_put(NULL, &walk, tid));
    stub_frames = NULL;
    FrameWord back[UNWIND_MAX_DEPTH];
    stacks_frames(stack, back);
    assert_int_equal(stack->depth, depth);
    assert_memory_equal(back, frames, depth * sizeof(FrameWord));
    return stack;
}

/* 1 2 ... 300 are frames; a stack is a span of them, or of one with a few replaced. */
static void test_shared_frames(void **state)
{
    (void)state;
    static FrameWord line[300], other[300];
    for (unsigned i = 0; i < 300; i++)
        line[i] = other[i] = i + 1;
    const Stack *whole = put_frames(line, 20, TID);
    assert_int_equal(whole->outer, 0);
    uint32_t whole_id = stacks_find(whole->hash);
    /* Its own caller: all of it is there. */
    const Stack *caller = put_frames(line + 1, 19, TID);
    assert_int_equal(caller->outer, whole_id);
    assert_int_equal(caller->own, 0);
    /* Three other inner frames: refers to where the fourth is, not to the stack before. */
    other[1] = 1001, other[2] = 1002, other[3] = 1003;
    const Stack *branch = put_frames(other + 1, 19, TID);
    assert_int_equal(branch->outer, whole_id);
    assert_int_equal(branch->own, 3);
    /* Ends in the branch's own frames, and in the first's. */
    const Stack *inner = put_frames(other + 2, 18, TID);
    assert_int_equal(inner->outer, stacks_find(branch->hash));
    other[12] = 1012;
    const Stack *middle = put_frames(other, 20, TID);
    assert_int_equal(middle->outer, whole_id);
    assert_int_equal(middle->own, 13);
    /* Nothing in common; another thread's comes between and does not matter. */
    assert_int_equal(put_frames(line + 100, 20, TID + 1)->outer, 0);
    const Stack *near_middle = put_frames(other + 12, 8, TID);
    assert_int_equal(near_middle->outer, stacks_find(middle->hash));
    assert_int_equal(put_frames(line + 50, 9, TID)->outer, 0);
    /* 255 frames of its own are the most beside shared ones. */
    put_frames(line + 255, 1, TID);
    assert_int_equal(put_frames(line, 256, TID)->own, 255);
    put_frames(line + 254, 2, TID);
    assert_int_equal(put_frames(line, 256, TID)->own, 254);
    /* A child of fork cannot trust what its parent was changing. */
    stacks_after_fork();
    assert_int_equal(put_frames(line + 1, 255, TID)->outer, 0);
}

/* No memory: counted under the losses, nothing half-made, and the next one succeeds. */
static void test_no_memory(void **state)
{
    (void)state;
    uint32_t lost = 0, before = stacks_count();
    for (uint32_t i = 0; i < 60000; i++) {
        uint64_t hash = (uint64_t)(i + 7) * UINT64_C(0xd1342543de82ef95);
        arena_fail_at(1);
        uint32_t id = put(hash, 20);
        arena_fail_at(0);
        if (id != STACK_LOSSES) {
            assert_int_equal(stacks_find(hash), id);
            continue;
        }
        lost++;
        assert_int_equal(stacks_find(hash), 0);
        id = put(hash, 20);
        assert_int_not_equal(id, STACK_LOSSES);
        FrameWord frames[20];
        stacks_frames(stacks_get(id), frames);
        assert_int_equal(frames[19], stub_frame(hash, 19));
    }
    assert_int_equal(stacks_count(), before + 60000);
    /* Pages of 4096 stacks: 14 or 15; chunks of 64 KiB for 160 bytes a stack: about 147. The table
     * doubles once and does without. */
    assert_in_range(lost, 150, 180);
}

static void test_lock_held(void **state)
{
    (void)state;
    assert_int_not_equal(put(UINT64_C(0xabcdef0123), 1), STACK_LOSSES);
    stacks_after_fork(); /* as if the fork had come amid an insertion: usable again */
    assert_int_not_equal(put(UINT64_C(0xabcdef0124), 1), STACK_LOSSES);
}

static void test_pending(void **state)
{
    (void)state;
    assert_int_equal(stacks_take_pending(), STACK_LIST_END);
    stacks_mark_pending(5);
    stacks_mark_pending(9);
    stacks_mark_pending(5);
    stacks_mark_pending(STACK_LOSSES);
    uint32_t at = stacks_take_pending(), seen = 0;
    static const uint32_t expected[] = {STACK_LOSSES, 9, 5}; /* last in, first out; each once */
    for (; at != STACK_LIST_END; at = atomic_load(&stacks_get(at)->next_pending)) {
        assert_in_range(seen, 0, 2);
        assert_int_equal(at, expected[seen++]);
    }
    assert_int_equal(seen, 3);
    assert_int_equal(stacks_take_pending(), STACK_LIST_END);
    stacks_mark_pending(5); /* its mark still stands: only a drain clears it */
    assert_int_equal(stacks_take_pending(), STACK_LIST_END);
    atomic_store(&stacks_get(5)->pending, 0);
    stacks_mark_pending(5);
    assert_int_equal(stacks_take_pending(), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fixed),         cmocka_unit_test(test_many),
        cmocka_unit_test(test_deep),          cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_lock_held),     cmocka_unit_test(test_pending),
        cmocka_unit_test(test_shared_frames),
    };
    stub_start();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
