// SPDX-License-Identifier: Apache-2.0
/*
 * Work in destructors of threads (pthread keys, four rounds) and of the process
 * (atexit, the program's own destructor, a library's that is torn down after or
 * before us): all of it counts and all of it balances.
 *
 *   //! site site_main count=20 bytes=200 live_count=0
 *   //! site site_key count=40 bytes=400 live_count=0
 *   //! site site_atexit count=3 bytes=33 live_count=0
 *   //! site site_destructor count=2 bytes=14 live_count=0
 *   //! run alone
 *   //! run late_library_after
 *   //!   preload M,PROGRAMS/liblate.so
 *   //!   site late_constructor count=2 bytes=64 live_count=0
 *   //!   site late_destructor count=5 bytes=50 live_count=2
 *   //! run late_library_before
 *   //!   preload PROGRAMS/liblate.so,M
 *   //!   site late_constructor count=2 bytes=64 live_count=0
 *   //!   site late_destructor count=5 bytes=50 live_count=2
 */
#include "trap.h"

#include <pthread.h>

static pthread_key_t key;
static void *kept[20], *at_end;

SITE static void site_main(void)
{
    for (int i = 0; i < 20; i++)
        kept[i] = malloc(10);
}

SITE static void *site_key(void)
{
    return malloc(10);
}

/* Runs after the thread's function; puts a new value three times, so it is
 * called four times. */
static void key_gone(void *value)
{
    char *block = value;
    char round = block[0];

    free(block);
    if (round < 4) {
        block = site_key();
        block[0] = (char)(round + 1);
        pthread_setspecific(key, block);
    }
}

static void *run(void *unused)
{
    char *block = site_key();

    (void)unused;
    block[0] = 1;
    pthread_setspecific(key, block);
    return NULL;
}

SITE static void site_atexit(void)
{
    for (int i = 0; i < 3; i++)
        free(malloc(11));
    for (int i = 0; i < 10; i++)
        free(kept[i]);
}

SITE __attribute__((destructor)) static void site_destructor(void)
{
    void *p = malloc(7);

    at_end = malloc(7);
    free(p);
    free(at_end);
    for (int i = 10; i < 20; i++)
        free(kept[i]);
}

int main(void)
{
    pthread_t thread;

    site_main();
    atexit(site_atexit);
    CHECK(pthread_key_create(&key, key_gone) == 0);
    for (int i = 0; i < 10; i++) {
        pthread_create(&thread, NULL, run, NULL);
        pthread_join(thread, NULL);
    }
    return 0;
}
