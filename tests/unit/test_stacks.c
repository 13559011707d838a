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
    for (uint32_t i = 0; i < MANY; i++) {
        assert_int_equal(stacks_find(hash_of(i)), first + i);
        assert_int_equal(put(hash_of(i), 3), first + i); /* known: not added again */
        const Stack *stack = stacks_get(first + i);
        assert_int_equal(stack->depth, i % 7);
        for (unsigned frame = 0; frame < stack->depth; frame++)
            assert_int_equal(stack->frames[frame], stub_frame(hash_of(i), frame));
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
    assert_int_equal(stacks_get(id)->frames[255], stub_frame(UINT64_C(0xdeadbeef00000001), 255));
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
        assert_int_equal(stacks_get(id)->frames[19], stub_frame(hash, 19));
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
        cmocka_unit_test(test_fixed),     cmocka_unit_test(test_many),
        cmocka_unit_test(test_deep),      cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_lock_held), cmocka_unit_test(test_pending),
    };
    stub_start();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
