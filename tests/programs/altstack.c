// SPDX-License-Identifier: Apache-2.0
/*
 * Handlers on an alternate stack of minimal size, in two threads, that
 * allocate. The stack of such an allocation leads through the signal frame to
 * the code that was interrupted.
 *
 *   //! stack site_handler<on_signal<trigger<main count=100 bytes=1000
 *   //! stack site_handler<on_signal<trigger<worker count=100 bytes=1000
 *   //! flag through_signal site_handler count=201 bytes=2010
 *   //! stack site_handler<on_signal<fault<main count=1
 */
#include "trap.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

static __thread sigjmp_buf back;
static char *volatile nowhere = (char *)16;

SITE static void site_handler(void)
{
    keep(malloc(10));
}

static void on_signal(int number)
{
    char here;

    keep(&here);
    site_handler();
    if (number == SIGSEGV)
        siglongjmp(back, 1);
}

SITE static void trigger(void)
{
    for (int i = 0; i < 100; i++)
        raise(SIGUSR1);
}

SITE static void fault(void)
{
    if (sigsetjmp(back, 1) == 0)
        *nowhere = 1;
}

static void use_alternate_stack(void)
{
    size_t size = 16384;
    stack_t stack = {.ss_size = size};

    stack.ss_sp = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(sigaltstack(&stack, NULL) == 0);
}

static void *worker(void *unused)
{
    (void)unused;
    use_alternate_stack();
    trigger();
    return NULL;
}

int main(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    pthread_t thread;

    CHECK(sigaction(SIGUSR1, &action, NULL) == 0 && sigaction(SIGSEGV, &action, NULL) == 0);
    use_alternate_stack();
    trigger();
    pthread_create(&thread, NULL, worker, NULL);
    pthread_join(thread, NULL);
    fault();
    return 0;
}
