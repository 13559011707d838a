// SPDX-License-Identifier: Apache-2.0
/*
 * The collector's thread: one snapshot an interval, and one whenever asked.
 *
 * It is made by clone(2), not by pthread_create, for reasons that each would hurt a program:
 *   - libc goes on believing in a single-threaded process and keeps its faster code;
 *   - a process whose main thread calls pthread_exit ends when its own last thread ends;
 *   - no thread-specific data, no stack cache, no setuid broadcast waits for us.
 * It also shares neither file descriptors nor the current folder (no CLONE_FILES, no CLONE_FS): the
 * program may close all descriptors, sees the numbers that it expects, and may chdir or chroot.
 * What it inherited in its own table it closes at once. Under valgrind, or where the kernel
 * refuses, the ordinary sharing flags are used, and every write makes sure the file is still ours.
 *
 * All signals are blocked in it. Its thread pointer leads to zeroed memory of its own with the
 * stack guard copied, and it calls nothing that uses thread-local storage but through that.
 *
 * Requests: `asked` counts them, `done` follows. Whoever asks waits for its number.
 */
#include "runtime/collector.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "base/sys.h"
#include "runtime/arena.h"
#include "runtime/clone_thread.h"
#include "runtime/drain.h"
#include "runtime/log.h"
#include "runtime/recording.h"
#include "runtime/runtime.h"

enum {
    STACK_BYTES = 256 << 10,
    TLS_BELOW = 64 << 10,
    TLS_ABOVE = 8 << 10,
    CHECK_NS = 100000000,
    SPARE_BYTES = 768 << 10,
    CAPTURE_WAIT_NS = 500000000,
    SETTLE_NS = 2000000000
};

static char *space;        /* [stack][tls] */
static uint32_t thread_id; /* cleared by the kernel when the thread is gone */
static _Atomic uint32_t asked, done, started;
static _Atomic int end_reason, end_status;
static const Sums *start_inherited;
static Lock inline_lock; /* snapshots without a collector */
static uint64_t capture_cost_ns, last_capture_ns;

/* All but stderr, which open_file may need for its one line. */
static void close_inherited(void)
{
    sys_call(SYS_close, 0);
    sys_call(SYS_close, 1);
    if (sys_call(SYS_close_range, 3, ~0u, 0) >= 0)
        return;
    for (int fd = 3; fd < 65536; fd++)
        sys_call(SYS_close, fd);
}

static void open_file(void)
{
    int ret = writer_open(start_inherited);
    if (ret < 0 && runtime.config.log >= CONFIG_LOG_ERROR)
        log_line("cannot create the profile in ", runtime.folder, ": ",
                 ret == -EACCES    ? "permission denied"
                 : ret == -ENOENT  ? "no such folder"
                 : ret == -ENOSPC  ? "no space left"
                 : ret == -EROFS   ? "read-only file system"
                 : ret == -ENOTDIR ? "not a folder"
                                   : "the system refused",
                 "; set MEMHAWK_OUTPUT");
}

static void serve(uint32_t wanted)
{
    EndReason reason = (EndReason)atomic_exchange(&end_reason, END_NONE);
    writer_snapshot(reason == END_NONE ? SNAPSHOT_ASKED : SNAPSHOT_LAST, reason,
                    atomic_load(&end_status));
    atomic_store(&done, wanted);
    sys_futex_wake((uint32_t *)&done, INT32_MAX);
}

static void run(void)
{
    uint64_t interval_ns = (uint64_t)runtime.config.interval_ms * 1000000;
    uint64_t next_ns = clock_monotonic_ns() + interval_ns;
    for (;;) {
        uint32_t seen = atomic_load(&asked);
        if (seen != atomic_load(&done)) {
            serve(seen);
            continue;
        }
        uint64_t now_ns = clock_monotonic_ns();
        if (now_ns < next_ns) {
            sys_futex_wait((uint32_t *)&asked, seen, next_ns - now_ns);
            continue;
        }
        writer_snapshot(SNAPSHOT_TICK, END_NONE, 0);
        /* All others have left by the bare system call: the process ends when we do, and the kernel
         * takes the status of the thread that goes last. */
        int exit_code;
        if (writer_is_alone(&exit_code)) {
            writer_snapshot(SNAPSHOT_LAST, END_NONE, 0);
            sys_call(SYS_exit, exit_code);
        }
        next_ns += interval_ns;
        if (next_ns < now_ns)
            next_ns = now_ns + interval_ns;
    }
}

static void announce_start(void)
{
    atomic_store(&started, 1);
    sys_futex_wake((uint32_t *)&started, INT32_MAX);
}

/* The descriptor table is our own. A copy of stderr must not stay: who reads the other end of that
 * pipe waits for the last copy to be closed. */
static void entry_private(void)
{
    close_inherited();
    open_file();
    sys_call(SYS_close, 2);
    announce_start();
    run();
}

static void entry_shared(void)
{
    open_file();
    announce_start();
    run();
}

/* The client request sequence of valgrind.h, "running on valgrind": no effect on a real machine. */
static bool on_valgrind(void)
{
    volatile uint64_t request[6] = {0x1001, 0, 0, 0, 0, 0};
    uint64_t result = 0;
    __asm__ volatile("rolq $3, %%rdi; rolq $13, %%rdi; rolq $61, %%rdi; rolq $51, %%rdi;"
                     "xchgq %%rbx, %%rbx"
                     : "+d"(result)
                     : "a"(request)
                     : "cc", "memory", "rdi");
    return result != 0;
}

static bool make_space(void)
{
    if (!space)
        space = arena_map(ARENA_OUTPUT, STACK_BYTES + TLS_BELOW + TLS_ABOVE);
    if (!space)
        return false;
    uint64_t *tcb = (uint64_t *)(space + STACK_BYTES + TLS_BELOW);
    const uint64_t *own;
    __asm__("mov %%fs:0, %0" : "=r"(own));
    tcb[0] = tcb[2] = (uint64_t)tcb; /* tcb, self */
    tcb[5] = own[5];                 /* stack guard */
    tcb[6] = own[6];                 /* pointer guard */
    return true;
}

static bool spawn(void)
{
    const unsigned long own = CLONE_VM | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
                              CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
    if (!make_space())
        return false;
    uint64_t all = ~UINT64_C(0), old = 0;
    sys_call(SYS_rt_sigprocmask, SIG_SETMASK, &all, &old, 8);
    void *top = space + STACK_BYTES, *tls = space + STACK_BYTES + TLS_BELOW;
    long ret = -EINVAL;
    if (!on_valgrind()) {
        writer_shares_descriptors(false);
        ret = clone_thread(own, top, &thread_id, &thread_id, tls, entry_private);
    }
    if (ret < 0) {
        writer_shares_descriptors(true);
        ret = clone_thread(own | CLONE_FILES | CLONE_FS, top, &thread_id, &thread_id, tls,
                           entry_shared);
    }
    sys_call(SYS_rt_sigprocmask, SIG_SETMASK, &old, NULL, 8);
    return ret > 0;
}

static bool alive(void)
{
    return __atomic_load_n(&thread_id, __ATOMIC_ACQUIRE) != 0;
}

void collector_start(const Sums *inherited)
{
    start_inherited = inherited;
    atomic_store(&started, 0);
    if (!spawn()) {
        writer_shares_descriptors(true);
        open_file();
        return;
    }
    while (!atomic_load(&started) && alive())
        sys_futex_wait((uint32_t *)&started, 0, CHECK_NS);
}

/* Bytes by which what is kept may stay below the peak: with the bands of the threads less than the
 * percent, or the MiB, to which compositions are right. */
static int64_t spare_bytes(int64_t peak)
{
    return peak / 128 > SPARE_BYTES ? peak / 128 : SPARE_BYTES;
}

/* While what is kept is good enough captures cost at most a 128th of the time. A peak that is
 * farther above never waits, nor one after a fall, because it may consist of other blocks: it may
 * be the last. New highs are so few by themselves: 178 for each doubling at most. */
static bool capture_may_wait(uint64_t now_ns)
{
    int64_t peak = atomic_load_explicit(&runtime.peak_bytes, memory_order_relaxed);
    int64_t kept = atomic_load_explicit(&runtime.captured_bytes, memory_order_relaxed);
    int64_t fallen = kept - atomic_load_explicit(&runtime.lowest_bytes, memory_order_relaxed);
    int64_t spare = spare_bytes(peak);
    return peak - kept < spare && fallen < spare &&
           now_ns - last_capture_ns < capture_cost_ns * 128;
}

void collector_capture(Thread *thread)
{
    uint64_t now_ns = clock_monotonic_ns();
    uint32_t tid = atomic_load_explicit(&thread->owner, memory_order_relaxed);
    if (capture_may_wait(now_ns) || !lock_take(&drain_lock, tid, CAPTURE_WAIT_NS))
        return;
    /* Another thread may have kept this very peak while we waited; now would be too late. */
    if (record_is_uncaptured(atomic_load(&runtime.live_sum))) {
        uint64_t locked_ns = clock_monotonic_ns();
        drain_capture();
        last_capture_ns = clock_monotonic_ns();
        capture_cost_ns = last_capture_ns - locked_ns;
    }
    lock_release(&drain_lock);
}

static bool flush_inline(EndReason reason, int status)
{
    if (!lock_take(&inline_lock, sys_gettid(), 1000000000))
        return false;
    writer_snapshot(reason == END_NONE ? SNAPSHOT_ASKED : SNAPSHOT_LAST, reason, status);
    lock_release(&inline_lock);
    return true;
}

bool collector_flush(EndReason reason, int status, uint64_t timeout_ns)
{
    if (reason != END_NONE) {
        atomic_store(&end_status, status);
        atomic_store(&end_reason, (int)reason);
    }
    uint64_t deadline_ns = timeout_ns ? clock_monotonic_ns() + timeout_ns : UINT64_MAX;
    uint32_t wanted = atomic_fetch_add(&asked, 1) + 1;
    sys_futex_wake((uint32_t *)&asked, 1);
    for (;;) {
        uint32_t seen = atomic_load(&done);
        if ((int32_t)(seen - wanted) >= 0)
            return true;
        if (!alive())
            return flush_inline(reason, status);
        if (clock_monotonic_ns() >= deadline_ns)
            return false;
        sys_futex_wait((uint32_t *)&done, seen, CHECK_NS);
    }
}

void collector_settle(void)
{
    uint64_t deadline_ns = clock_monotonic_ns() + SETTLE_NS;
    for (;;) {
        uint32_t seen = atomic_load(&done);
        if (seen == atomic_load(&asked) || !alive() || clock_monotonic_ns() >= deadline_ns)
            return;
        sys_futex_wait((uint32_t *)&done, seen, CHECK_NS);
    }
}

void collector_after_fork(void)
{
    thread_id = 0;
    space = NULL; /* the parent's collector ran on it: its copy is not worth a look */
    atomic_store(&asked, 0);
    atomic_store(&done, 0);
    atomic_store(&end_reason, END_NONE);
    lock_reset(&inline_lock);
    capture_cost_ns = last_capture_ns = 0;
}
