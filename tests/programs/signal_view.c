// SPDX-License-Identifier: Apache-2.0
/*
 * The program's view of its signals is as without us: all default at the start,
 * nothing blocked, what it sets it reads back, its handlers get the true
 * siginfo, and blocked signals stay blocked.
 *
 *   //! site site_handler count=3 bytes=30
 *   //! site site_normal count=1
 */
#include "trap.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/signalfd.h>

static sigjmp_buf back;
static siginfo_t seen;

SITE static void site_handler(void)
{
    keep(malloc(10));
}

SITE static void site_normal(void)
{
    keep(malloc(10));
}

static void handler(int number, siginfo_t *info, void *context)
{
    (void)number;
    CHECK(context);
    seen = *info;
    site_handler();
    siglongjmp(back, 1);
}

static void all_default(int first_time)
{
    sigset_t set;

    for (int i = 1; i < NSIG; i++) {
        struct sigaction old;

        if (sigaction(i, NULL, &old) != 0)
            continue; /* libc's own */
        if (old.sa_handler != SIG_DFL || (first_time && old.sa_flags != 0))
            tell(1, "signal %d: handler %d, flags %x\n", i, old.sa_handler != SIG_DFL,
                 (unsigned)old.sa_flags);
        for (int j = 1; first_time && j < NSIG; j++)
            CHECK(sigismember(&old.sa_mask, j) <= 0);
    }
    CHECK(sigprocmask(SIG_BLOCK, NULL, &set) == 0);
    for (int i = 1; i < NSIG; i++)
        CHECK(sigismember(&set, i) <= 0);
    CHECK(signal(SIGTERM, SIG_IGN) == SIG_DFL);
    CHECK(signal(SIGTERM, SIG_DFL) == SIG_IGN);
    CHECK(signal(SIGSEGV, SIG_DFL) == SIG_DFL);
}

static void own_handler(void)
{
    struct sigaction mine = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_NODEFER}, old;
    char *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    sigaddset(&mine.sa_mask, SIGUSR1);
    CHECK(sigaction(SIGSEGV, &mine, &old) == 0 && old.sa_handler == SIG_DFL);
    CHECK(sigaction(SIGSEGV, NULL, &old) == 0);
    CHECK(old.sa_sigaction == handler && (old.sa_flags & SA_SIGINFO) &&
          (old.sa_flags & SA_NODEFER));
    CHECK(sigismember(&old.sa_mask, SIGUSR1) == 1 && sigismember(&old.sa_mask, SIGUSR2) == 0);
    if (sigsetjmp(back, 1) == 0)
        *(volatile char *)(page + 123) = 1;
    CHECK(seen.si_signo == SIGSEGV && seen.si_code == SEGV_ACCERR && seen.si_addr == page + 123);
    if (sigsetjmp(back, 1) == 0) {
        CHECK(sigaction(SIGTERM, &mine, NULL) == 0);
        kill(getpid(), SIGTERM);
        CHECK(!"reached");
    }
    CHECK(seen.si_signo == SIGTERM && seen.si_code == SI_USER && seen.si_pid == getpid());
    if (sigsetjmp(back, 1) == 0)
        raise(SIGSEGV);
    CHECK(seen.si_signo == SIGSEGV && seen.si_code == SI_TKILL);
    CHECK(sigaction(SIGSEGV, &old, NULL) == 0);
    CHECK(signal(SIGTERM, SIG_DFL) != SIG_DFL);
    CHECK(signal(SIGSEGV, SIG_DFL) != SIG_DFL);
}

static void blocked(void)
{
    sigset_t set, pending;
    int number = 0;
    struct timespec none = {0, 0};

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    CHECK(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
    kill(getpid(), SIGTERM); /* no other thread of the process may take it */
    CHECK(sigpending(&pending) == 0 && sigismember(&pending, SIGTERM) == 1);
    CHECK(sigwait(&set, &number) == 0 && number == SIGTERM);
    kill(getpid(), SIGINT);
    CHECK(sigtimedwait(&set, NULL, &none) == SIGINT);
    CHECK(sigprocmask(SIG_UNBLOCK, &set, NULL) == 0);
}

int main(void)
{
    all_default(1);
    own_handler();
    blocked();
    all_default(0);
    site_normal();
    return 0;
}
