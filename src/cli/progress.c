// SPDX-License-Identifier: Apache-2.0
/*
 * Symbolizing is one long call into a library that does not report; a thread of ours prints the
 * time meanwhile. `done` is under `lock`; the printing thread is the only user of stderr until the
 * join.
 */
#include "cli/progress.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct Progress {
    const char *what;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool done;
};

/* False when the wait ended because of progress_end(). */
static bool wait_second(Progress *progress)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    int r = 0;
    pthread_mutex_lock(&progress->lock);
    while (!progress->done && r == 0)
        r = pthread_cond_timedwait(&progress->changed, &progress->lock, &until);
    bool go_on = !progress->done;
    pthread_mutex_unlock(&progress->lock);
    return go_on;
}

static void *print_progress(void *argument)
{
    Progress *progress = argument;
    unsigned seconds = 0;
    while (wait_second(progress))
        fprintf(stderr, "\rmemhawk: %s ... %u s", progress->what, ++seconds);
    if (seconds)
        fputs("\r\033[K", stderr);
    return NULL;
}

Progress *progress_begin(const char *what)
{
    sigset_t all, old;
    if (!isatty(STDERR_FILENO))
        return NULL;
    Progress *progress = calloc(1, sizeof(*progress));
    if (!progress)
        return NULL;
    progress->what = what;
    pthread_mutex_init(&progress->lock, NULL);
    pthread_cond_init(&progress->changed, NULL);
    sigfillset(&all); /* Ctrl-C is for the main thread */
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int r = pthread_create(&progress->thread, NULL, print_progress, progress);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (r == 0)
        return progress;
    free(progress);
    return NULL;
}

void progress_end(Progress *progress)
{
    if (!progress)
        return;
    pthread_mutex_lock(&progress->lock);
    progress->done = true;
    pthread_cond_signal(&progress->changed);
    pthread_mutex_unlock(&progress->lock);
    pthread_join(progress->thread, NULL);
    pthread_cond_destroy(&progress->changed);
    pthread_mutex_destroy(&progress->lock);
    free(progress);
}
