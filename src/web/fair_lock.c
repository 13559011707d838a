// SPDX-License-Identifier: Apache-2.0
/*
 * Tickets behind a mutex: who asks takes the next number and waits until it is served. All waiters
 * wake at each hand-over, which is right for the few threads of a server; the mutex is held for
 * some instructions only.
 */
#include "web/fair_lock.h"

void fair_lock_init(FairLock *lock)
{
    *lock = (FairLock){0};
    pthread_mutex_init(&lock->mutex, NULL);
    pthread_cond_init(&lock->moved, NULL);
}

void fair_lock_done(FairLock *lock)
{
    pthread_cond_destroy(&lock->moved);
    pthread_mutex_destroy(&lock->mutex);
}

void fair_lock_take(FairLock *lock)
{
    pthread_mutex_lock(&lock->mutex);
    uint64_t ticket = lock->next++;
    while (lock->serving != ticket)
        pthread_cond_wait(&lock->moved, &lock->mutex);
    pthread_mutex_unlock(&lock->mutex);
}

bool fair_lock_try(FairLock *lock)
{
    pthread_mutex_lock(&lock->mutex);
    bool free = lock->next == lock->serving;
    if (free)
        lock->next++;
    pthread_mutex_unlock(&lock->mutex);
    return free;
}

void fair_lock_drop(FairLock *lock)
{
    pthread_mutex_lock(&lock->mutex);
    lock->serving++;
    pthread_cond_broadcast(&lock->moved);
    pthread_mutex_unlock(&lock->mutex);
}
