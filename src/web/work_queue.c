// SPDX-License-Identifier: Apache-2.0
/*
 * A ring of tasks, a mutex and threads: answers that need computing are made here, so that the one
 * thread that moves bytes never waits for a lock or a sort. All fields are under `mutex` but the
 * threads, which belong to the caller of new, stop and free.
 */
#include "web/work_queue.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

typedef struct Waiting {
    WorkTask *task;
    void *context;
} Waiting;

struct WorkQueue {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    Waiting *ring;
    size_t capacity, first, count;
    bool ending;
    unsigned thread_count;
    pthread_t threads[];
};

static void *run_tasks(void *context)
{
    WorkQueue *queue = context;
    pthread_mutex_lock(&queue->mutex);
    while (queue->count || !queue->ending) {
        if (!queue->count) {
            pthread_cond_wait(&queue->changed, &queue->mutex);
            continue;
        }
        Waiting next = queue->ring[queue->first];
        queue->first = (queue->first + 1) % queue->capacity;
        queue->count--;
        pthread_mutex_unlock(&queue->mutex);
        next.task(next.context);
        pthread_mutex_lock(&queue->mutex);
    }
    pthread_mutex_unlock(&queue->mutex);
    return NULL;
}

int work_queue_new(unsigned threads, size_t capacity, WorkQueue **ret_queue)
{
    WorkQueue *queue = calloc(1, sizeof(*queue) + threads * sizeof(pthread_t));
    Waiting *ring = calloc(capacity, sizeof(*ring));
    if (!queue || !ring) {
        free(queue);
        free(ring);
        return -ENOMEM;
    }
    pthread_mutex_init(&queue->mutex, NULL);
    pthread_cond_init(&queue->changed, NULL);
    queue->ring = ring;
    queue->capacity = capacity;
    for (unsigned i = 0; i < threads; i++) {
        int error = pthread_create(&queue->threads[i], NULL, run_tasks, queue);
        if (error) {
            work_queue_free(queue);
            return -error;
        }
        queue->thread_count++;
    }
    *ret_queue = queue;
    return 0;
}

int work_queue_put(WorkQueue *queue, WorkTask *task, void *context)
{
    int r = -EAGAIN;
    pthread_mutex_lock(&queue->mutex);
    if (queue->count < queue->capacity && !queue->ending) {
        queue->ring[(queue->first + queue->count++) % queue->capacity] = (Waiting){task, context};
        pthread_cond_signal(&queue->changed);
        r = 0;
    }
    pthread_mutex_unlock(&queue->mutex);
    return r;
}

void work_queue_stop(WorkQueue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    queue->ending = true;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->mutex);
    for (unsigned i = 0; i < queue->thread_count; i++)
        pthread_join(queue->threads[i], NULL);
    queue->thread_count = 0;
}

void work_queue_free(WorkQueue *queue)
{
    if (!queue)
        return;
    work_queue_stop(queue);
    pthread_cond_destroy(&queue->changed);
    pthread_mutex_destroy(&queue->mutex);
    free(queue->ring);
    free(queue);
}
