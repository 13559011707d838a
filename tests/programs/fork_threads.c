// SPDX-License-Identifier: Apache-2.0
/*
 * 500 forks while four threads allocate without pause. Each child allocates
 * once and leaves by _exit. The parent's own figures must not notice.
 *
 *   //! timeout 240
 *   //! no-oracle
 *   //! files 501
 *   //! site site_before count=7 bytes=700 live_count=7
 *   //! in worker live_count=0 live_bytes=0
 *   //! @1 site site_child count=1 bytes=333 live_count=0
 *   //! @1 end _exit 0
 *   //! @250 site site_child count=1 bytes=333 live_count=0
 *   //! @500 site site_child count=1 bytes=333 live_count=0
 *   //! @500 end _exit 0
 */
#include "trap.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

static atomic_bool stop;

SITE static void site_before(void)
{
    for (int i = 0; i < 7; i++)
        keep(malloc(100));
}

static void *worker(void *unused)
{
    void *kept[16] = {0};

    (void)unused;
    for (unsigned i = 0; !atomic_load_explicit(&stop, memory_order_relaxed); i++) {
        free(kept[i % 16]);
        kept[i % 16] = malloc(16 + i % 200);
    }
    for (int i = 0; i < 16; i++)
        free(kept[i]);
    return NULL;
}

SITE static void site_child(void)
{
    void *p = malloc(333);

    CHECK(p);
    free(p);
}

int main(void)
{
    pthread_t threads[4];

    site_before();
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, worker, NULL);
    for (int i = 0; i < 500; i++) {
        int status;
        pid_t pid = fork();

        if (pid == 0) {
            site_child();
            _exit(0);
        }
        CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
        CHECK(status == 0);
    }
    stop = 1;
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
