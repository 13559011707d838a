// SPDX-License-Identifier: Apache-2.0
/*
 * SIGPROF every millisecond, with malloc in the handler. In "malloc" it
 * interrupts our hooks and walks at any instruction (the allocator below is
 * bump.c, which may be interrupted); in "vdso" it interrupts clock_gettime in
 * the vDSO, in "plt" calls through the lazy PLT, in "leaf" a loop with no
 * frame: from each the stack must lead on to the interrupted function.
 *
 *   //! no-oracle
 *   //! varying-output
 *   //! run malloc malloc
 *   //!   preload M,PROGRAMS/libbump.so
 *   //!   site site_main count=3000000 bytes=120000000 live_count=0
 * live_bytes=0
 *   //! run vdso vdso
 *   //! run plt plt
 *   //! run leaf leaf
 */
#include "trap.h"

#include <signal.h>
#include <sys/time.h>

static volatile long ticks;
static volatile int running;

SITE static void site_tick(void)
{
    void *p = malloc(24), *q = malloc(8);

    q = realloc(q, 100);
    free(p);
    free(q);
}

static void on_tick(int number)
{
    (void)number;
    if (!running)
        return;
    site_tick();
    ticks++;
}

SITE static void site_main(int count)
{
    for (int i = 0; i < count; i++) {
        void *p = malloc(40);

        keep(p);
        free(p);
    }
}

SITE static void spin_vdso(void)
{
    struct timespec now;

    while (ticks < 300)
        for (int i = 0; i < 100; i++)
            clock_gettime(CLOCK_MONOTONIC, &now);
}

SITE static void spin_plt(void)
{
    while (ticks < 300)
        for (int i = 0; i < 100; i++)
            keep((void *)(intptr_t)ffs(i));
}

SITE static unsigned spin_leaf(void)
{
    unsigned sum = 0;

    while (ticks < 300)
        for (unsigned i = 0; i < 1000; i++)
            sum = sum * 31 + i;
    return sum;
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "leaf";
    struct itimerval every = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};

    running = 1;
    signal(SIGPROF, on_tick);
    setitimer(ITIMER_PROF, &every, NULL);
    if (!strcmp(kind, "malloc"))
        site_main(3000000);
    else if (!strcmp(kind, "vdso"))
        spin_vdso();
    else if (!strcmp(kind, "plt"))
        spin_plt();
    else
        spin_leaf();
    running = 0;
    setitimer(ITIMER_PROF, &never, NULL);
    tell(1, "//! site site_tick count=%ld bytes=%ld live_count=0 live_bytes=0\n", 3 * ticks,
         132 * ticks);
    tell(1, "//! flag through_signal site_tick count=%ld\n", 3 * ticks);
    if (strcmp(kind, "malloc")) {
        tell(1, "//! in spin_%s count=%ld\n", kind, 3 * ticks);
        if (!strcmp(kind, "leaf")) /* else a PLT entry may be between, a frame without a name */
            tell(1, "//! stack site_tick<on_tick<spin_%s<main count=%ld\n", kind, 3 * ticks);
    } else
        tell(1, "//! in main count=%ld\n", 3000000 + 3 * ticks);
    return 0;
}
