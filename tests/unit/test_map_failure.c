// SPDX-License-Identifier: Apache-2.0
/*
 * The recorder, linked into this very program, when the kernel refuses it memory: the Nth mapping,
 * or all from the Nth on (sys_map is wrapped by the linker). The child is a program with threads
 * and many stacks; it must work as without us, and every one of its allocations must be in the sums
 * or among the losses. Only where even the tables of the boot cannot be had may it go unrecorded.
 */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/sys.h"
#include "runtime/drain.h"
#include "runtime/runtime.h"

enum { LAST_N = 60, THREADS = 3, ROUNDS = 700, KEPT = 64 };

static const char *self;
static char folder[] = "/tmp/memhawk-shortage-XXXXXX";

/* ---- the child ----------------------------------------------------------------------------------
 */

typedef struct Plan {
    long nth;  /* 0: none */
    bool once; /* else from the nth on */
} Plan;

static _Atomic long calls;

/* MAP_FAILURE=N or N+ in the environment, which libc may not have yet. */
static Plan read_plan(void)
{
    char text[4096] = {0};
    Plan plan = {.once = true};
    long fd = sys_call(SYS_openat, AT_FDCWD, "/proc/self/environ", O_RDONLY);
    long bytes = sys_read_all((int)fd, text, sizeof(text) - 1);
    sys_call(SYS_close, fd);
    for (long at = 0; at < bytes; at += (long)strlen(text + at) + 1) {
        if (strncmp(text + at, "MAP_FAILURE=", 12) != 0)
            continue;
        for (const char *digit = text + at + 12; *digit; digit++)
            if (*digit == '+')
                plan.once = false;
            else
                plan.nth = plan.nth * 10 + (*digit - '0');
    }
    return plan;
}

void *__real_sys_map(size_t bytes);
void *__wrap_sys_map(size_t bytes);

void *__wrap_sys_map(size_t bytes)
{
    static Plan plan;
    static _Atomic bool planned;
    if (!planned) {
        plan = read_plan();
        planned = true;
    }
    long call = ++calls;
    if (plan.nth && (plan.once ? call == plan.nth : call >= plan.nth))
        return NULL;
    return __real_sys_map(bytes);
}

/* A stack for each path of 10 bits: two functions that call each other or themselves. */
static void *path_two(unsigned path, unsigned depth, size_t bytes);

__attribute__((noinline)) static void *path_one(unsigned path, unsigned depth, size_t bytes)
{
    void *block = depth == 0 ? malloc(bytes)
                  : path & 1 ? path_two(path >> 1, depth - 1, bytes)
                             : path_one(path >> 1, depth - 1, bytes);
    __asm__ volatile("" ::: "memory"); /* no tail call */
    return block;
}

__attribute__((noinline)) static void *path_two(unsigned path, unsigned depth, size_t bytes)
{
    void *block = depth == 0 ? calloc(1, bytes)
                  : path & 1 ? path_two(path >> 1, depth - 1, bytes)
                             : path_one(path >> 1, depth - 1, bytes);
    __asm__ volatile("" ::: "memory");
    return block;
}

static void *worker(void *argument)
{
    unsigned seed = (unsigned)(uintptr_t)argument;
    unsigned char *kept[KEPT] = {0};
    for (unsigned i = 0; i < ROUNDS; i++) {
        size_t bytes = 16 + (i * 37 + seed) % 3000;
        unsigned char **at = &kept[i % KEPT];
        if (*at && **at != (unsigned char)(i - KEPT))
            _exit(9); /* someone wrote into the program's blocks */
        free(*at);
        *at = path_one(i * 7 + seed * 131, 10, bytes);
        if (!*at)
            _exit(8);
        **at = (unsigned char)i;
    }
    for (unsigned i = 0; i < KEPT; i++)
        free(kept[i]);
    return NULL;
}

static int child(void)
{
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, worker, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    worker((void *)77);
    lock_take(&drain_lock, (uint32_t)getpid(), 0);
    drain_sweep();
    Sums total = drain_state.total;
    lock_release(&drain_lock);
    char line[160];
    int length =
        snprintf(line, sizeof(line), "%d %llu %llu %lld %llu %ld\n", atomic_load(&runtime.mode),
                 (unsigned long long)total.alloc_count, (unsigned long long)total.alloc_bytes,
                 (long long)(total.alloc_count - total.free_count),
                 (unsigned long long)atomic_load(&runtime.loss_reentrant), (long)calls);
    return write(1, line, (size_t)length) == length ? 0 : 1;
}

/* ---- the test -----------------------------------------------------------------------------------
 */

typedef struct Result {
    int mode;
    unsigned long long count, bytes, skipped;
    long long live;
    long calls;
} Result;

static Result run(long nth, bool once)
{
    char plan[64], output[128], text[256] = {0};
    Result result = {0};
    int ends[2], status;
    (void)snprintf(plan, sizeof(plan), "MAP_FAILURE=%ld%s", nth, once ? "" : "+");
    (void)snprintf(output, sizeof(output), "MEMHAWK_OUTPUT=%s", folder);
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], 1);
        execle(self, self, "child", (char *)NULL,
               (char *[]){plan, output, "MEMHAWK_LOG=off", "MALLOC_ARENA_MAX=1", NULL});
        _exit(127);
    }
    close(ends[1]);
    long got = sys_read_all(ends[0], text, sizeof(text) - 1);
    close(ends[0]);
    waitpid(pid, &status, 0);
    if (status != 0 || got <= 0 ||
        sscanf(text, "%d %llu %llu %lld %llu %ld", &result.mode, &result.count, &result.bytes,
               &result.live, &result.skipped, &result.calls) != 6)
        fail_msg("%s: wait status %#x, output \"%s\"", plan, (unsigned)status, text);
    return result;
}

static void compare(const char *how, long nth, const Result *all, const Result *found)
{
    if (found->mode == MODE_OFF) {
        if (nth > 8)
            fail_msg("%s %ld: not recorded at all", how, nth);
        return;
    }
    if (found->count + found->skipped != all->count)
        fail_msg("%s %ld: %llu counted and %llu skipped of %llu", how, nth, found->count,
                 found->skipped, all->count);
    if (!found->skipped && found->bytes != all->bytes)
        fail_msg("%s %ld: %llu bytes of %llu", how, nth, found->bytes, all->bytes);
    if (found->live < 0 || found->live > all->live + (long long)found->skipped)
        fail_msg("%s %ld: %lld live of %lld", how, nth, found->live, all->live);
}

static void test_once(void **state)
{
    (void)state;
    Result all = run(0, true);
    assert_int_equal(all.mode, MODE_ON);
    assert_int_equal(all.skipped, 0);
    assert_true(all.count >= (unsigned long long)ROUNDS * (THREADS + 1));
    assert_true(all.calls >= 20); /* else nothing is tried */
    for (long nth = 1; nth <= LAST_N; nth++) {
        Result found = run(nth, true);
        compare("once", nth, &all, &found);
    }
}

static void test_from_then_on(void **state)
{
    (void)state;
    Result all = run(0, true);
    for (long nth = 1; nth <= LAST_N; nth++) {
        Result found = run(nth, false);
        compare("from", nth, &all, &found);
    }
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_once),
        cmocka_unit_test(test_from_then_on),
    };
    if (count > 1)
        return child();
    self = arguments[0];
    if (!mkdtemp(folder))
        return 1;
    setenv("MEMHAWK_ENABLE", "0", 1);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    char command[128];
    (void)snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command) == 0 ? failed : 1;
}
