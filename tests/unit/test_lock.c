// SPDX-License-Identifier: Apache-2.0
/* The recorder's lock: exclusion under contention, the owner's second try, time limits, wake-ups.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/lock.h"

enum { THREADS = 4, ROUNDS = 50000 };

static Lock lock;
static uint64_t guarded;        /* by the lock */
static _Atomic uint32_t inside; /* how many hold it */
static _Atomic uint32_t errors;

static void test_owner_backs_off(void **state)
{
    (void)state;
    assert_true(lock_take(&lock, 7, 0));
    assert_int_equal(atomic_load(&lock.word), 7);
    assert_false(lock_take(&lock, 7, 0)); /* for ever, if it waited */
    assert_false(lock_try(&lock, 7));
    assert_false(lock_try(&lock, 8));
    lock_release(&lock);
    assert_int_equal(atomic_load(&lock.word), 0);
    assert_true(lock_try(&lock, 8));
    atomic_fetch_or(&lock.word, LOCK_WAITERS); /* somebody sleeps: still the owner's */
    assert_false(lock_take(&lock, 8, 0));
    lock_release(&lock);
}

static void test_timeout(void **state)
{
    (void)state;
    assert_true(lock_try(&lock, 1));
    uint64_t start_ns = clock_monotonic_ns();
    assert_false(lock_take(&lock, 2, 30000000));
    uint64_t took_ns = clock_monotonic_ns() - start_ns;
    assert_true(took_ns >= 30000000);
    assert_true(took_ns < UINT64_C(20000000000));
    assert_int_equal(atomic_load(&lock.word) & ~LOCK_WAITERS, 1);
    lock_release(&lock);
    assert_true(lock_take(&lock, 2, 30000000));
    lock_release(&lock);
}

static void test_reset(void **state)
{
    (void)state;
    assert_true(lock_try(&lock, 1));
    lock_reset(&lock);
    assert_true(lock_try(&lock, 2));
    lock_release(&lock);
}

static void *sleeper(void *argument)
{
    (void)argument;
    if (!lock_take(&lock, 2, 0))
        errors++;
    guarded = 42;
    lock_release(&lock);
    return NULL;
}

/* One that sleeps on the futex is woken by the release. */
static void test_wake(void **state)
{
    (void)state;
    pthread_t thread;
    guarded = 0;
    assert_true(lock_try(&lock, 1));
    pthread_create(&thread, NULL, sleeper, NULL);
    while (!(atomic_load(&lock.word) & LOCK_WAITERS))
        usleep(1000);
    usleep(20000);
    assert_int_equal(guarded, 0);
    lock_release(&lock);
    pthread_join(thread, NULL);
    assert_int_equal(guarded, 42);
    assert_int_equal(errors, 0);
}

static void *contender(void *argument)
{
    uint32_t tid = (uint32_t)(uintptr_t)argument;
    for (int i = 0; i < ROUNDS; i++) {
        if (!lock_take(&lock, tid, 0)) {
            errors++;
            continue;
        }
        if (atomic_fetch_add(&inside, 1) != 0)
            errors++;
        guarded++;
        atomic_fetch_sub(&inside, 1);
        lock_release(&lock);
    }
    return NULL;
}

static void test_contention(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    guarded = 0;
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, contender, (void *)(i + 1));
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(errors, 0);
    assert_int_equal(guarded, (uint64_t)THREADS * ROUNDS);
    assert_int_equal(atomic_load(&lock.word), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_owner_backs_off), cmocka_unit_test(test_timeout),
        cmocka_unit_test(test_reset),           cmocka_unit_test(test_wake),
        cmocka_unit_test(test_contention),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
