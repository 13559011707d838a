// SPDX-License-Identifier: Apache-2.0
/*
 * A storm of SIGCHLD without SA_RESTART while the parent reads, writes and
 * allocates: interrupted calls are the program's to see, and none of ours fails
 * or gets the signal.
 *
 *   //! no-oracle
 *   //! files 1+
 *   //! timeout 120
 *   //! site site_round count=300 bytes=3000 live_count=300
 *   //! site site_handler live_count=0
 */
#include "trap.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

static volatile int children;
static pthread_t main_thread;

static void on_child(int number)
{
    int saved = errno;

    (void)number;
    CHECK(pthread_equal(pthread_self(), main_thread)); /* not in a thread of ours */
    while (waitpid(-1, NULL, WNOHANG) > 0)
        children++;
    errno = saved;
}

SITE static void site_round(void)
{
    keep(malloc(10));
}

int main(void)
{
    struct sigaction action = {.sa_handler = on_child};
    int ends[2];

    main_thread = pthread_self();
    CHECK(sigaction(SIGCHLD, &action, NULL) == 0 && pipe(ends) == 0);
    for (int i = 0; i < 300; i++) {
        pid_t pid = fork();
        char byte = 1;

        if (pid == 0)
            _exit(0);
        CHECK(pid > 0);
        site_round();
        while (write(ends[1], &byte, 1) != 1)
            CHECK(errno == EINTR);
        while (read(ends[0], &byte, 1) != 1)
            CHECK(errno == EINTR);
    }
    while (children < 300)
        sleep_ms(1);
    return 0;
}
