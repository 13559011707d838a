// SPDX-License-Identifier: Apache-2.0
/*
 * Fatal signals. Where the disposition is the default we install a handler that has the last
 * snapshot written by the collector's thread (so that it needs hardly any stack), restores the
 * default and raises the signal again: the process ends as it would have, core dump and status
 * included. A program that sets its own handler replaces ours; one that sets SIG_DFL gets ours
 * back; one that asks for the old disposition reads SIG_DFL.
 *
 * exec resets handlers to the default, so programs that we start see nothing of it.
 */
#include "runtime/signals.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sys.h"
#include "runtime/endings.h"
#include "runtime/real.h"
#include "runtime/runtime.h"
#include "runtime/slow.h"
#include "runtime/thread.h"

static const int fatal[] = {
    SIGHUP,  SIGINT,  SIGQUIT,   SIGILL,  SIGABRT, SIGBUS,  SIGFPE,
    SIGUSR1, SIGSEGV, SIGUSR2,   SIGPIPE, SIGALRM, SIGTERM, SIGSTKFLT,
    SIGXCPU, SIGXFSZ, SIGVTALRM, SIGPROF, SIGIO,   SIGPWR,  SIGSYS,
};

static void on_fatal(int number, siginfo_t *info, void *context)
{
    (void)info;
    (void)context;
    int saved_errno = errno;
    endings_flush(number == SIGABRT ? END_ABORT : END_SIGNAL, number);
    struct sigaction action = {.sa_handler = SIG_DFL};
    real.sigaction(number, &action, NULL);
    sys_call(SYS_tgkill, sys_call(SYS_getpid), sys_call(SYS_gettid), number);
    errno = saved_errno;
}

/* A handler that the kernel takes away when it runs (SA_RESETHAND): ours stands before it and puts
 * on_fatal in its place. Writers: sigaction callers; a race of two for one signal is theirs. */
static struct sigaction once[_NSIG];

static void install(int number);

static void on_once(int number, siginfo_t *info, void *context)
{
    struct sigaction action = once[number];
    install(number);
    if (action.sa_flags & SA_SIGINFO)
        action.sa_sigaction(number, info, context);
    else
        action.sa_handler(number);
}

/* The first process of a container is not ended by signals that it does not handle. */
static bool is_fatal(int number)
{
    if (runtime.pid == 1)
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(fatal); i++)
        if (fatal[i] == number)
            return true;
    return false;
}

static bool is_ours(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == on_fatal;
}

static bool recording(void)
{
    int mode = atomic_load_explicit(&runtime.mode, memory_order_relaxed);
    return mode == MODE_ON || mode == MODE_FORKED;
}

static void install(int number)
{
    struct sigaction action = {.sa_sigaction = on_fatal,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
    sigfillset(&action.sa_mask);
    real.sigaction(number, &action, NULL);
}

void signals_start(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(fatal); i++) {
        struct sigaction old;
        if (is_fatal(fatal[i]) && real.sigaction(fatal[i], NULL, &old) == 0 &&
            !(old.sa_flags & SA_SIGINFO) && old.sa_handler == SIG_DFL)
            install(fatal[i]);
    }
}

EXPORT int sigaction(int number, const struct sigaction *restrict action,
                     struct sigaction *restrict ret_old)
{
    struct sigaction old;
    slow_boot();
    if (!real.sigaction) {
        errno = ENOSYS;
        return -1;
    }
    bool ours = action && is_fatal(number) && recording();
    bool to_default = ours && !(action->sa_flags & SA_SIGINFO) && action->sa_handler == SIG_DFL;
    bool to_once = ours && !to_default && (action->sa_flags & SA_RESETHAND) &&
                   ((action->sa_flags & SA_SIGINFO) || action->sa_handler != SIG_IGN);
    struct sigaction before = once[to_once ? number : 0], standing_in;
    if (to_once) {
        standing_in = once[number] = *action;
        standing_in.sa_sigaction = on_once;
        standing_in.sa_flags |= SA_SIGINFO;
    }
    int ret = real.sigaction(number, to_once ? &standing_in : action, &old);
    if (ret < 0)
        return ret;
    if (is_ours(&old))
        old = (struct sigaction){.sa_handler = SIG_DFL};
    else if ((old.sa_flags & SA_SIGINFO) && old.sa_sigaction == on_once)
        old = to_once ? before : once[number];
    if (to_default)
        install(number);
    if (ret_old)
        *ret_old = old;
    return ret;
}

int __sigaction(int number, const struct sigaction *restrict action,
                struct sigaction *restrict ret_old);
EXPORT int __sigaction(int number, const struct sigaction *restrict action,
                       struct sigaction *restrict ret_old)
{
    return sigaction(number, action, ret_old);
}

typedef void (*Handler)(int);

/* What the signal() family did, seen afterwards: hide ours, and put it back where SIG_DFL was set.
 */
static Handler after_signal(int number, Handler wanted, Handler old)
{
    if (old != SIG_ERR && wanted == SIG_DFL && is_fatal(number) && recording())
        install(number);
    return (uintptr_t)old == (uintptr_t)on_fatal ? SIG_DFL : old;
}

EXPORT Handler signal(int number, Handler handler)
{
    slow_boot();
    return after_signal(number, handler, real.signal(number, handler));
}

Handler bsd_signal(int number, Handler handler);
EXPORT Handler bsd_signal(int number, Handler handler)
{
    return signal(number, handler);
}

EXPORT Handler ssignal(int number, Handler handler)
{
    return signal(number, handler);
}

EXPORT Handler __sysv_signal(int number, Handler handler)
{
    slow_boot();
    return after_signal(number, handler, real.sysv_signal(number, handler));
}

EXPORT Handler sysv_signal(int number, Handler handler)
{
    return __sysv_signal(number, handler);
}

EXPORT Handler sigset(int number, Handler handler)
{
    slow_boot();
    return after_signal(number, handler, real.sigset(number, handler));
}
