// SPDX-License-Identifier: Apache-2.0
/*
 * Endings: exit, _exit, quick_exit, exec. Each writes the last snapshot before the
 * real function; a failed exec goes on recording, and later snapshots follow.
 *
 * exit: our destructor, which libc calls amid its list of exit functions, adds one more to that
 * list. It takes a place that has just become free, so nothing is allocated; it runs after the
 * destructors of all libraries; and it is told the exit status.
 *
 * The raw process id tells a vfork child, which shares our memory but must not speak for its
 * parent.
 *
 * The variadic exec functions gather their arguments into an array on the stack, as libc does: they
 * may be called in a vfork child or a signal handler.
 */
#include "runtime/endings.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/sys.h"
#include "runtime/collector.h"
#include "runtime/log.h"
#include "runtime/real.h"
#include "runtime/runtime.h"
#include "runtime/slow.h"

extern char **environ;

enum { WAIT_NS = 2000000000 };

static _Atomic int quick_status;
/* The thread that writes the last snapshot, 0: none yet; whoever comes first takes it. */
static _Atomic uint32_t ender;
static _Atomic uint32_t ended; /* 1: it is written; a futex for those who came second */

static bool is_recording(void)
{
    return atomic_load(&runtime.mode) == MODE_ON && runtime.pid == (uint32_t)sys_call(SYS_getpid);
}

/* Another thread is ending the process: the file must be whole before we do, so its snapshot is
 * awaited, not only what the collector knows of: it may not have been asked yet. */
static void wait_for_ender(void)
{
    uint64_t deadline_ns = clock_monotonic_ns() + WAIT_NS, now_ns;
    while (!atomic_load(&ended) && (now_ns = clock_monotonic_ns()) < deadline_ns)
        sys_futex_wait((uint32_t *)&ended, 0, deadline_ns - now_ns);
}

static void not_ended(void)
{
    atomic_store(&ender, 0);
    atomic_store(&ended, 0);
}

static void flush(EndReason reason, int status)
{
    uint32_t first = 0, self = sys_gettid();
    if (reason == END_EXEC && !atomic_load(&ender)) {
        collector_flush(reason, status, 0);
    } else if (atomic_compare_exchange_strong(&ender, &first, self)) {
        collector_flush(reason, status, 0);
        atomic_store(&ended, 1);
        sys_futex_wake((uint32_t *)&ended, INT_MAX);
    } else if (first != self) {
        wait_for_ender();
    } else {
        collector_settle(); /* a handler that interrupted our own flush */
    }
}

void endings_flush(EndReason reason, int status)
{
    if (!is_recording())
        return;
    int saved_errno = errno;
    flush(reason, status);
    /* If exec fails, the process goes on and ends later; the end of another thread stays its own.
     */
    if (reason == END_EXEC && atomic_load(&ender) == (uint32_t)sys_gettid())
        not_ended();
    errno = saved_errno;
}

void endings_after_fork(void)
{
    not_ended();
}

static void on_quick_exit(void)
{
    endings_flush(END_QUICK_EXIT, atomic_load(&quick_status));
}

static void on_exit_handler(int status, void *unused)
{
    (void)unused;
    endings_flush(END_EXIT, status);
}

void endings_at_destruction(void)
{
    if (on_exit(on_exit_handler, NULL) != 0)
        endings_flush(END_EXIT, -1);
}

void endings_start(void)
{
    at_quick_exit(on_quick_exit);
}

EXPORT __attribute__((noreturn)) void _exit(int status)
{
    slow_boot();
    endings_flush(END_UNDERSCORE_EXIT, status);
    real._exit(status);
}

EXPORT __attribute__((noreturn)) void _Exit(int status)
{
    _exit(status);
}

EXPORT __attribute__((noreturn)) void quick_exit(int status)
{
    slow_boot();
    atomic_store(&quick_status, status);
    real.quick_exit(status);
}

/* ---- exec ------------------------------------------------------------------------------------ */

static void before_exec(void)
{
    slow_boot();
    endings_flush(END_EXEC, 0);
}

EXPORT int execve(const char *path, char *const arguments[], char *const environment[])
{
    before_exec();
    return real.execve(path, arguments, environment);
}

EXPORT int execv(const char *path, char *const arguments[])
{
    before_exec();
    return real.execv(path, arguments);
}

EXPORT int execvp(const char *file, char *const arguments[])
{
    before_exec();
    return real.execvp(file, arguments);
}

EXPORT int execvpe(const char *file, char *const arguments[], char *const environment[])
{
    before_exec();
    return real.execvpe(file, arguments, environment);
}

EXPORT int fexecve(int fd, char *const arguments[], char *const environment[])
{
    before_exec();
    return real.fexecve(fd, arguments, environment);
}

EXPORT int execveat(int folder, const char *path, char *const arguments[],
                    char *const environment[], int flags)
{
    before_exec();
    if (!real.execveat) {
        errno = ENOSYS;
        return -1;
    }
    return real.execveat(folder, path, arguments, environment, flags);
}

static size_t count_arguments(va_list *list)
{
    size_t count = 1;
    while (va_arg(*list, char *))
        count++;
    return count + 1;
}

/* Runs CALL with `arguments` (first, list..., NULL) and, for execle, `environment` behind it. */
#define WITH_ARGUMENTS(first, call)                                                                \
    do {                                                                                           \
        va_list list;                                                                              \
        va_start(list, first);                                                                     \
        size_t count = count_arguments(&list);                                                     \
        va_end(list);                                                                              \
        char **arguments = __builtin_alloca(count * sizeof(char *));                               \
        va_start(list, first);                                                                     \
        arguments[0] = (char *)(first);                                                            \
        for (size_t i = 1; i < count; i++)                                                         \
            arguments[i] = va_arg(list, char *);                                                   \
        int ret = (call);                                                                          \
        va_end(list);                                                                              \
        return ret;                                                                                \
    } while (0)

EXPORT int execl(const char *path, const char *first, ...)
{
    WITH_ARGUMENTS(first, execv(path, arguments));
}

EXPORT int execlp(const char *file, const char *first, ...)
{
    WITH_ARGUMENTS(first, execvp(file, arguments));
}

EXPORT int execle(const char *path, const char *first, ...)
{
    WITH_ARGUMENTS(first, execve(path, arguments, va_arg(list, char **)));
}
