// SPDX-License-Identifier: Apache-2.0
/* Whose child a process is; the queue of tasks. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/bits.h"
#include "web/process_json.h"
#include "web/work_queue.h"

#define S(seconds) ((uint64_t)(seconds)*UINT64_C(1000000000))

/*
 *  id  pid parent  from   to
 *   1   10     1      0  100   shell
 *   2   20    10     10   30   ended; its pid comes again
 *   3   20    10     40   90   and execs (the same pid, later)
 *   4   20    10     50   90
 *   5   30    20     45   60   child of 3: 4 was not there yet
 *   6   31    20     55   60   child of 4
 *   7   32    20     20   25   child of 2
 *   8   33    20     37   38   its parent is gone for 7 s: nobody
 *   9   34    99     10   11   its parent has no profile
 *  10   10    20     60   61   has the number of the shell, and a parent
 *  11    -     -      -    -   broken
 */
static const ProcessPlace places[] = {
    {1, 10, 1, S(0), S(100), false, false}, {2, 20, 10, S(10), S(30), true, false},
    {3, 20, 10, S(40), S(90), true, false}, {4, 20, 10, S(50), S(90), true, false},
    {5, 30, 20, S(45), S(60), true, false}, {6, 31, 20, S(55), S(60), true, false},
    {7, 32, 20, S(20), S(25), true, false}, {8, 33, 20, S(37), S(38), true, false},
    {9, 34, 99, S(10), S(11), true, false}, {10, 10, 20, S(60), S(61), true, false},
    {11, 0, 0, 0, 0, false, true},
};

static void test_parents(void **state)
{
    static const uint32_t want[] = {0, 1, 1, 1, 3, 4, 2, 0, 0, 4, 0};
    (void)state;
    for (uint32_t i = 0; i < ARRAY_SIZE(want); i++)
        assert_int_equal(process_parent(places, ARRAY_SIZE(places), i + 1), want[i]);
    assert_int_equal(process_parent(places, ARRAY_SIZE(places), 77), 0);
    assert_int_equal(process_parent(NULL, 0, 1), 0);
}

typedef struct Gate {
    pthread_mutex_t mutex;
    pthread_cond_t moved;
    bool open;
    atomic_uint begun, done;
} Gate;

static void pass_gate(void *context)
{
    Gate *gate = context;
    atomic_fetch_add(&gate->begun, 1);
    pthread_mutex_lock(&gate->mutex);
    while (!gate->open)
        pthread_cond_wait(&gate->moved, &gate->mutex);
    pthread_mutex_unlock(&gate->mutex);
    atomic_fetch_add(&gate->done, 1);
}

static void *open_gate(void *context)
{
    Gate *gate = context;
    usleep(50000); /* the queue is being stopped meanwhile */
    pthread_mutex_lock(&gate->mutex);
    gate->open = true;
    pthread_cond_broadcast(&gate->moved);
    pthread_mutex_unlock(&gate->mutex);
    return NULL;
}

static void test_queue(void **state)
{
    enum { THREADS = 2, CAPACITY = 5 };
    Gate gate = {.mutex = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER};
    WorkQueue *queue;
    (void)state;
    assert_int_equal(work_queue_new(THREADS, CAPACITY, &queue), 0);
    for (unsigned i = 0; i < THREADS; i++) { /* both threads are kept busy */
        assert_int_equal(work_queue_put(queue, pass_gate, &gate), 0);
        while (atomic_load(&gate.begun) <= i)
            usleep(100);
    }
    for (int i = 0; i < CAPACITY; i++)
        assert_int_equal(work_queue_put(queue, pass_gate, &gate), 0);
    assert_int_equal(work_queue_put(queue, pass_gate, &gate), -EAGAIN);
    assert_int_equal(atomic_load(&gate.begun), THREADS);
    pthread_t opener;
    pthread_create(&opener, NULL, open_gate, &gate);
    work_queue_stop(queue); /* what waits is done, nothing more is taken */
    pthread_join(opener, NULL);
    assert_int_equal(atomic_load(&gate.done), THREADS + CAPACITY);
    assert_int_equal(work_queue_put(queue, pass_gate, &gate), -EAGAIN);
    work_queue_free(queue);
    work_queue_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parents),
        cmocka_unit_test(test_queue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
