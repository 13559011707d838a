// SPDX-License-Identifier: Apache-2.0
/*
 * Every way to leave. All figures are in the file, but for SIGKILL and the raw
 * system call, where what happened before the last tick is.
 *
 *   //! site site_before count=10 bytes=1000 live_count=10
 *   //! run return return
 *   //!   status 2
 *   //!   end exit 2
 *   //! run exit exit
 *   //!   status 3
 *   //!   end exit 3
 *   //!   site site_handler count=2 bytes=20
 *   //! run underscore underscore
 *   //!   status 4
 *   //!   end _exit 4
 *   //!   site site_handler count=0
 *   //! run Exit Exit
 *   //!   status 5
 *   //!   end _exit 5
 *   //! run quick quick
 *   //!   status 6
 *   //!   end quick_exit 6
 *   //!   site site_handler count=2 bytes=20
 *   //! run thread thread
 *   //!   status 8
 *   //!   end exit 8
 *   //! run abort abort
 *   //!   signal SIGABRT
 *   //!   end abort
 *   //! run assert assert
 *   //!   signal SIGABRT
 *   //!   end abort
 *   //! run term term
 *   //!   signal SIGTERM
 *   //!   end signal 15
 *   //! run int int
 *   //!   signal SIGINT
 *   //!   end signal 2
 *   //! run hup hup
 *   //!   signal SIGHUP
 *   //!   end signal 1
 *   //! run segv segv
 *   //!   signal SIGSEGV
 *   //!   end signal 11
 *   //! run fpe fpe
 *   //!   signal SIGFPE
 *   //!   end signal 8
 *   //! run ill ill
 *   //!   signal SIGILL
 *   //!   end signal 4
 *   //! run stack_overflow stack_overflow
 *   //!   signal SIGSEGV
 *   //!   killed
 *   //!   end any
 *   //! run abort_handled abort_handled
 *   //!   status 11
 *   //!   end _exit 11
 *   //!   site site_handler count=2 bytes=20
 *   //! run term_handled term_handled
 *   //!   status 12
 *   //!   end exit 12
 *   //!   site site_handler count=2 bytes=20
 *   //! run segv_handled segv_handled
 *   //!   status 13
 *   //!   end _exit 13
 *   //!   site site_handler count=2 bytes=20
 *   //! run segv_again segv_again
 *   //!   signal SIGSEGV
 *   //!   end signal 11
 *   //!   site site_handler count=2 bytes=20
 *   //! run kill kill
 *   //!   signal SIGKILL
 *   //!   killed
 *   //!   end unknown
 *   //! run raw raw
 *   //!   status 14
 *   //!   killed
 *   //!   end unknown
 */
#include "trap.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>

static void *volatile nowhere = NULL;
static volatile int zero;

SITE static void site_before(void)
{
    for (int i = 0; i < 10; i++)
        keep(malloc(100));
}

SITE static void site_handler(void)
{
    keep(malloc(10));
    keep(malloc(10));
}

static void leave(int number)
{
    site_handler();
    if (number == SIGTERM)
        exit(12);
    _exit(number == SIGABRT ? 11 : 13);
}

static void fault_again(int number) /* SA_RESETHAND: the second time kills */
{
    (void)number;
    site_handler();
}

static void *exit_in_thread(void *unused)
{
    (void)unused;
    exit(8);
}

SITE static int overflow(int depth)
{
    volatile char room[4096];

    room[0] = (char)depth;
    return overflow(depth + 1) + room[0];
}

SITE static int divide(int number)
{
    __asm__ volatile("" : "+r"(number));
    return number / zero;
}

static void crash(const char *way)
{
    if (!strcmp(way, "segv") || !strcmp(way, "segv_handled") || !strcmp(way, "segv_again"))
        *(volatile int *)nowhere = 1;
    if (!strcmp(way, "fpe"))
        zero = divide(100);
    if (!strcmp(way, "ill"))
        __builtin_trap();
    if (!strcmp(way, "stack_overflow"))
        overflow(0);
    if (!strcmp(way, "abort") || !strcmp(way, "abort_handled"))
        abort();
    if (!strcmp(way, "assert"))
        assert(zero != 0);
}

static void by_signal(const char *way)
{
    if (!strcmp(way, "term") || !strcmp(way, "term_handled"))
        kill(getpid(), SIGTERM);
    if (!strcmp(way, "int"))
        raise(SIGINT);
    if (!strcmp(way, "hup"))
        raise(SIGHUP);
    if (!strcmp(way, "kill"))
        raise(SIGKILL);
}

static void by_exit(const char *way)
{
    pthread_t thread;

    if (!strcmp(way, "exit")) {
        atexit(site_handler);
        exit(3);
    }
    if (!strcmp(way, "underscore")) {
        atexit(site_handler);
        _exit(4);
    }
    if (!strcmp(way, "Exit"))
        _Exit(5);
    if (!strcmp(way, "quick")) {
        at_quick_exit(site_handler);
        quick_exit(6);
    }
    if (!strcmp(way, "raw"))
        syscall(SYS_exit_group, 14);
    if (!strcmp(way, "thread")) {
        pthread_create(&thread, NULL, exit_in_thread, NULL);
        pthread_join(thread, NULL);
    }
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "return";
    struct sigaction again = {.sa_handler = fault_again, .sa_flags = (int)SA_RESETHAND};

    site_before();
    if (!strcmp(way, "kill") || !strcmp(way, "raw") || !strcmp(way, "stack_overflow"))
        sleep_ms(2500);
    if (!strcmp(way, "abort_handled"))
        signal(SIGABRT, leave);
    if (!strcmp(way, "term_handled"))
        signal(SIGTERM, leave);
    if (!strcmp(way, "segv_handled"))
        signal(SIGSEGV, leave);
    if (!strcmp(way, "segv_again"))
        sigaction(SIGSEGV, &again, NULL);
    crash(way);
    by_signal(way);
    by_exit(way);
    return 2;
}
