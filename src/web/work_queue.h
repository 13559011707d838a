// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stddef.h>

/* A few threads that run tasks in order of arrival. */

typedef struct WorkQueue WorkQueue;
typedef void WorkTask(void *context);

/* At most CAPACITY tasks wait. 0 or a negative errno. */
int work_queue_new(unsigned threads, size_t capacity, WorkQueue **ret_queue);
/* Any thread. -EAGAIN: too many wait already, or the queue was stopped. */
int work_queue_put(WorkQueue *queue, WorkTask *task, void *context);
/* Runs what still waits, then ends the threads. */
void work_queue_stop(WorkQueue *queue);
/* Stops it where that was not done. NULL: nothing. */
void work_queue_free(WorkQueue *queue);
