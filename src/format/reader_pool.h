// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Memory for readers of hostile files: a bump allocator and growable arrays whose bytes are counted
 * against one budget, so that a small file cannot make us use all memory. Not for threads.
 */

typedef struct MemoryBudget {
    uint64_t used_bytes;
    uint64_t limit_bytes;
} MemoryBudget;

typedef struct PoolBlock PoolBlock;

/* Zero-initialise but for `budget`, which must outlive the pool. */
typedef struct Pool {
    MemoryBudget *budget;
    PoolBlock *blocks; /* newest first */
} Pool;

/* 8-byte aligned, not zeroed, valid until pool_reset/done; NULL: budget or memory exhausted. */
void *pool_take(Pool *pool, size_t bytes);
/* Copy of BYTES bytes and a final 0. */
char *pool_text(Pool *pool, const char *text, size_t bytes);
/* Drops everything; keeps at most one small block for the next use. */
void pool_reset(Pool *pool);
void pool_done(Pool *pool);

/* A growable array; all zero is empty. */
#define VECTOR(T)                                                                                  \
    struct {                                                                                       \
        T *items;                                                                                  \
        size_t count, capacity;                                                                    \
    }

/* realloc to at least NEED items (doubling); NULL: budget or memory exhausted, old array kept. */
void *vector_grow(MemoryBudget *budget, void *items, size_t *capacity, size_t need,
                  size_t item_bytes);
void vector_release(MemoryBudget *budget, void *items, size_t capacity, size_t item_bytes);

/* True when MORE further items fit. */
#define vector_room(vector, budget, more)                                                          \
    ({                                                                                             \
        __typeof__(vector) vector_ = (vector);                                                     \
        size_t need_ = vector_->count + (more);                                                    \
        void *grown_ = vector_->items;                                                             \
        if (need_ > vector_->capacity) {                                                           \
            grown_ = vector_grow(budget, vector_->items, &vector_->capacity, need_,                \
                                 sizeof(*vector_->items));                                         \
            if (grown_)                                                                            \
                vector_->items = grown_;                                                           \
        }                                                                                          \
        need_ <= vector_->capacity;                                                                \
    })

/* Pointer to one more, uninitialised item, or NULL. */
#define vector_put(vector, budget)                                                                 \
    (vector_room(vector, budget, 1) ? &(vector)->items[(vector)->count++] : NULL)

#define vector_done(vector, budget)                                                                \
    do {                                                                                           \
        vector_release(budget, (vector)->items, (vector)->capacity, sizeof(*(vector)->items));     \
        (vector)->items = NULL;                                                                    \
        (vector)->count = (vector)->capacity = 0;                                                  \
    } while (0)
