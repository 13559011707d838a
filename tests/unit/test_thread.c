// SPDX-License-Identifier: Apache-2.0
/* Thread states: who adopts which, the table of slots, epochs, the dead. One process for all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/arena.h"
#include "runtime/runtime.h"
#include "runtime/thread.h"
#include "runtime_stub.h"

enum { NO_SUCH_TID = 0x3ffffff0 }; /* above the highest pid that a kernel gives */

static void test_adoption(void **state)
{
    (void)state;
    Thread *one = thread_adopt(100), *two = thread_adopt(200);
    assert_int_equal(thread_count(), 2);
    assert_ptr_not_equal(one, two);
    assert_int_equal(one->index, 0);
    assert_int_equal(two->index, 1);
    assert_int_equal((uintptr_t)one % 64, 0);
    assert_ptr_equal(thread_get(1), two);
    assert_int_equal(atomic_load(&two->owner), 200);

    /* Back to its own: what it last allocated still counts for "temporary". */
    one->last_block = two->last_block = 0x1230;
    two->paused = 3;
    thread_release(one);
    thread_release(two);
    assert_int_equal(two->paused, 0);
    assert_ptr_equal(thread_adopt(200), two);
    assert_int_equal(two->last_block, 0x1230);
    /* Another's: no block of its own. */
    assert_ptr_equal(thread_adopt(300), one);
    assert_int_equal(one->last_block, 0);
    assert_int_equal(thread_count(), 2);
    assert_ptr_not_equal(thread_adopt(400), one);
    assert_int_equal(thread_count(), 3);
}

static void test_first_slots(void **state)
{
    (void)state;
    Thread *thread = thread_get(0);
    Slot *losses = thread_slot_find(thread, STACK_LOSSES);
    Slot *empty = thread_slot_find(thread, STACK_EMPTY);
    assert_non_null(losses);
    assert_ptr_equal(thread->fixed_slot, empty); /* states that do not unwind use that one */
    assert_int_not_equal(slot_index(losses), 0);
    assert_ptr_equal(slot_at(slot_index(losses)), losses);
    assert_int_equal(losses->stamp, UINT64_C(1) << 32); /* index + 1, epoch 0 */
}

/* The table starts with 64 cells: 5, 69 and 133 meet in one. */
static void test_collisions(void **state)
{
    (void)state;
    Thread *thread = thread_get(0);
    static const uint32_t ids[] = {5, 69, 133, 6};
    Slot *slots[4];
    for (int i = 0; i < 4; i++)
        slots[i] = thread_slot_make(thread, ids[i]);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(slots[i]->stack_id, ids[i]);
        assert_ptr_equal(thread_slot_make(thread, ids[i]), slots[i]);
    }
    assert_ptr_equal(thread_slot_find(thread, 5), slots[0]);
    assert_null(thread_slot_find(thread, 69)); /* the quick look sees the first cell only */
}

static void test_growth(void **state)
{
    (void)state;
    Thread *thread = thread_get(0);
    static Slot *slots[20001];
    for (uint32_t id = 1; id <= 20000; id++) {
        slots[id] = thread_slot_make(thread, id);
        assert_non_null(slots[id]);
        slots[id]->sums.alloc_count = id;
    }
    assert_int_equal(thread->ids_used, 20000);
    assert_true(thread->ids_used * 4 <= thread->ids_mask * 3 + 4);
    uint32_t quick = 0;
    for (uint32_t id = 1; id <= 20000; id++) {
        assert_ptr_equal(thread_slot_make(thread, id), slots[id]);
        assert_int_equal(slots[id]->sums.alloc_count, id);
        quick += thread_slot_find(thread, id) == slots[id];
    }
    assert_int_equal(thread->recent_mask, 8191); /* of 32768 cells, no more than 8192 */
    assert_int_equal(thread_recent(thread, 0x12345678a005)->hash, 0);
    assert_ptr_equal(thread_recent(thread, 0x12345678a005), &thread->recent[5]);
    assert_ptr_equal(thread_recent(thread, 0x12345678bfff), &thread->recent[0x1fff]);
    assert_int_equal(quick, 20000); /* consecutive ids never collide in a table larger than they */
    assert_int_equal(thread->ids_used, 20000);
}

/* The collector reaches all slots of a stack, whichever the threads. */
static void test_slots_of_stack(void **state)
{
    (void)state;
    Slot *mine = thread_slot_make(thread_get(0), 17), *other = thread_slot_make(thread_get(1), 17);
    assert_ptr_not_equal(mine, other);
    uint32_t first = atomic_load(&stacks_get(17)->first_slot);
    assert_ptr_equal(slot_at(first), other); /* the newest first */
    assert_ptr_equal(slot_at(other->next_of_stack), mine);
    assert_int_equal(mine->next_of_stack, 0);
    assert_int_equal(other->stamp >> 32, 2);
}

static void test_no_memory(void **state)
{
    (void)state;
    Thread *thread = thread_get(1);
    uint32_t failures = 0;
    for (uint32_t id = 1; id <= 5000; id++) {
        uint32_t used = thread->ids_used;
        arena_fail_at(1);
        Slot *slot = thread_slot_make(thread, id);
        arena_fail_at(0);
        if (slot)
            continue;
        failures++;
        assert_int_equal(thread->ids_used, used);
        assert_non_null(thread_slot_make(thread, id));
    }
    /* Doublings of the table for 5,000 ids at 3/4 full: 64, 128, ... 4096 outgrown. */
    assert_int_equal(failures, 7);
    size_t before = thread_count();
    arena_fail_at(1); /* a state's first mapping */
    assert_null(thread_adopt(999));
    arena_fail_at(0);
    assert_int_equal(thread_count(), before);
    assert_non_null(thread_adopt(999));
}

static void test_epochs(void **state)
{
    (void)state;
    Thread *thread = thread_get(0);
    uint32_t epoch = thread_next_epoch();
    assert_int_equal(thread_next_epoch(), epoch + 1);
    thread_raise_epoch(thread, epoch + 1);
    assert_int_equal(thread_epoch(thread), epoch + 1);
    thread_raise_epoch(thread, epoch); /* never back */
    assert_int_equal(thread_epoch(thread), epoch + 1);
    assert_int_equal(atomic_load(&thread->stamp) >> 32, 1);

    runtime.glibc_malloc = false;
    Thread *fresh = thread_adopt(5000);
    runtime.glibc_malloc = true;
    assert_true(atomic_load(&fresh->stamp) & THREAD_NEVER_FAST);
    thread_raise_epoch(fresh, epoch + 9);
    assert_true(atomic_load(&fresh->stamp) & THREAD_NEVER_FAST);
    assert_int_equal(thread_epoch(fresh), epoch + 9);
    thread_release(fresh);
}

/* Threads that died without a word are found only where states are many. */
static void test_reap(void **state)
{
    (void)state;
    uint32_t pid = (uint32_t)getpid();
    for (size_t i = 0; i < thread_count(); i++)
        thread_release(thread_get(i));
    assert_int_equal(thread_reap(pid), 0);
    thread_adopt(pid);
    for (uint32_t i = 1; i < 64; i++)
        thread_adopt(NO_SUCH_TID + i);
    assert_int_equal(thread_count(), 64);
    assert_int_equal(thread_reap(pid), 64); /* not worth the calls yet */
    Thread *dead = thread_adopt(NO_SUCH_TID);
    dead->paused = 2;
    dead->window_count = 3;
    assert_int_equal(thread_reap(pid), 1);
    assert_int_equal(dead->paused, 0); /* whoever adopts it is not */
    assert_int_equal(dead->window_count, 0);
    thread_adopt(7);
    assert_int_equal(thread_count(), 65); /* theirs are free again */
}

static void test_fork(void **state)
{
    (void)state;
    thread_get(3)->window_count = 2;
    thread_get(3)->push_above = 500;
    thread_get(3)->room_up = 100;
    *thread_recent(thread_get(0), 0x77) = (RecentSlot){0x77, slot_at(1)};
    *thread_recent(thread_get(1), 0x77) = (RecentSlot){0x77, slot_at(1)};
    thread_after_fork(thread_get(1), false);
    assert_ptr_equal(thread_recent(thread_get(1), 0x77)->slot, slot_at(1)); /* the child's own */
    assert_int_equal(thread_delta(thread_get(3)), 0);      /* is in the child's live sum already */
    assert_null(thread_recent(thread_get(0), 0x77)->slot); /* may be half of another's */
    for (size_t i = 0; i < thread_count(); i++)
        assert_int_equal(atomic_load(&thread_get(i)->owner), 0);
    assert_int_equal(thread_get(3)->window_count, 0);
    thread_adopt(1);
    assert_int_equal(thread_count(), 65);

    /* A hook goes on with the first: it is not given to anybody. */
    atomic_fetch_or(&thread_get(0)->stamp, THREAD_NEVER_FAST);
    thread_after_fork(thread_get(0), true);
    assert_int_equal(atomic_load(&thread_get(0)->owner), sys_gettid());
    assert_false(atomic_load(&thread_get(0)->stamp) & THREAD_NEVER_FAST);
    assert_ptr_not_equal(thread_adopt(2), thread_get(0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_adoption),       cmocka_unit_test(test_first_slots),
        cmocka_unit_test(test_collisions),     cmocka_unit_test(test_growth),
        cmocka_unit_test(test_slots_of_stack), cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_epochs),         cmocka_unit_test(test_reap),
        cmocka_unit_test(test_fork),
    };
    stub_start();
    for (uint32_t id = 3; id <= 20000; id++) {
        UnwindWalk walk = stub_walk((uint64_t)id * UINT64_C(0x9e3779b97f4a7c15), 1);
        assert_int_equal(stacks_put(NULL, &walk, 1), id);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
