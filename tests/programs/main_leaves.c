// SPDX-License-Identifier: Apache-2.0
/*
 * main leaves by pthread_exit while another thread works on; the process ends
 * with its last thread. A recorder thread must not keep it alive.
 *
 *   //! timeout 15
 *   //! site site_main count=3 bytes=30
 *   //! site site_thread count=100 bytes=1000 live_count=100
 */
#include "trap.h"

#include <pthread.h>

SITE static void site_main(void)
{
    for (int i = 0; i < 3; i++)
        keep(malloc(10));
}

SITE static void site_thread(void)
{
    for (int i = 0; i < 100; i++)
        keep(malloc(10));
}

static void *worker(void *unused)
{
    (void)unused;
    sleep_ms(300);
    site_thread();
    tell(1, "thread done\n");
    return NULL;
}

int main(void)
{
    pthread_t thread;

    site_main();
    pthread_create(&thread, NULL, worker, NULL);
    pthread_detach(thread);
    pthread_exit(NULL);
}
