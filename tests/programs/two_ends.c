// SPDX-License-Identifier: Apache-2.0
/*
 * Two threads end the process at the same time, each in its way: two_ends WAY WAY ROUND, where WAY
 * is exit (status 3), _exit (4), quick_exit (5), abort. Run by endings.py; the process ends by one
 * of the two, and the file must be whole.
 */
#include "trap.h"

#include <pthread.h>
#include <stdatomic.h>

static atomic_int ready;

SITE static void site_before(void)
{
    for (int i = 0; i < 10; i++)
        keep(malloc(100));
}

static void leave(const char *way, int spin)
{
    atomic_fetch_add(&ready, 1);
    while (atomic_load(&ready) < 2)
        ;
    for (volatile int i = 0; i < spin; i++)
        ;
    if (!strcmp(way, "exit"))
        exit(3);
    if (!strcmp(way, "_exit"))
        _exit(4);
    if (!strcmp(way, "quick_exit"))
        quick_exit(5);
    abort();
}

static void *leave_thread(void *way)
{
    leave(way, 0);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;

    CHECK(argc == 4);
    site_before();
    pthread_create(&thread, NULL, leave_thread, argv[1]);
    leave(argv[2], atoi(argv[3]) * 300); /* some rounds later than the thread, by up to 50 us */
    return 0;
}
