// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * A lock that is handed on in the order of asking. The follower takes a process's lock again and
 * again while it reads a large file; with a plain mutex those who answer requests would wait for
 * all of it. Not recursive.
 */
typedef struct FairLock {
    pthread_mutex_t mutex; /* guards the two numbers */
    pthread_cond_t moved;
    uint64_t next, serving;
} FairLock;

void fair_lock_init(FairLock *lock);
void fair_lock_done(FairLock *lock);
void fair_lock_take(FairLock *lock);
/* False when somebody has it or waits for it. */
bool fair_lock_try(FairLock *lock);
void fair_lock_drop(FairLock *lock);
