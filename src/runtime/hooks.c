// SPDX-License-Identifier: Apache-2.0
/*
 * The interposed malloc family: only what every call runs. The first test of each hook is whether
 * thread_current is set; all else is in slow.c.
 *
 * Order: a release is recorded before the real free, an allocation after the real allocation, so
 * that an address never belongs to two records at once. thread_current is NULL while a record is
 * made: a signal handler that allocates then uses a state of its own.
 *
 * Compiled with rbp untouched (gcc: -ffixed-rbp; clang: a frame pointer), so that the caller's rbp
 * can be handed to the unwinder.
 */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#include "runtime/context.h"
#include "runtime/record.h"
#include "runtime/slow.h"

#define SIGNAL_FENCE() __asm__ volatile("" ::: "memory")

static inline void count_alloc(Thread *thread, void *block, size_t size,
                               const UnwindContext *context)
{
    thread_current = NULL;
    SIGNAL_FENCE();
    record_alloc(thread, &runtime.heap, block, size, record_usable(block), context);
    SIGNAL_FENCE();
    thread_current = thread;
}

static inline void count_free(Thread *thread, uint64_t value, const void *block, size_t usable)
{
    thread_current = NULL;
    SIGNAL_FENCE();
    record_free(thread, value, block, usable, false);
    SIGNAL_FENCE();
    thread_current = thread;
}

EXPORT void *malloc(size_t size)
{
    UnwindContext context = CONTEXT();
    Thread *thread = thread_current;
    if (UNLIKELY(!thread))
        return slow_malloc(size, &context);
    void *block = real.malloc(size);
    if (LIKELY(block != NULL))
        count_alloc(thread, block, size, &context);
    return block;
}

EXPORT void free(void *block)
{
    Thread *thread = thread_current;
    if (UNLIKELY(!thread)) {
        slow_free(block);
        return;
    }
    LiveEntry *entry = livemap_find(&runtime.heap, block);
    uint64_t value = LIKELY(entry != NULL) ? atomic_load_explicit(entry, memory_order_relaxed) : 0;
    if (LIKELY(value != 0)) {
        atomic_store_explicit(entry, 0, memory_order_relaxed);
        count_free(thread, value, block, record_usable(block));
    } else if (UNLIKELY(early_owns(block))) {
        return;
    }
    real.free(block);
}

EXPORT void *calloc(size_t count, size_t size)
{
    UnwindContext context = CONTEXT();
    Thread *thread = thread_current;
    if (UNLIKELY(!thread))
        return slow_calloc(count, size, &context);
    void *block = real.calloc(count, size);
    if (LIKELY(block != NULL))
        count_alloc(thread, block, count * size, &context);
    return block;
}

static inline __attribute__((always_inline)) void *
realloc_counted(Thread *thread, void *block, size_t size, const UnwindContext *context)
{
    LiveEntry *entry = livemap_find(&runtime.heap, block);
    uint64_t value = entry ? atomic_load_explicit(entry, memory_order_relaxed) : 0;
    size_t usable = 0;
    if (value) {
        usable = record_usable(block);
        atomic_store_explicit(entry, 0, memory_order_relaxed);
    }
    void *fresh = real.realloc(block, size);
    if (UNLIKELY(!fresh && size)) { /* the old block is still there */
        if (value)
            atomic_store_explicit(entry, value, memory_order_relaxed);
        return NULL;
    }
    if (value)
        count_free(thread, value, block, usable);
    if (fresh)
        count_alloc(thread, fresh, size, context);
    return fresh;
}

EXPORT void *realloc(void *block, size_t size)
{
    UnwindContext context = CONTEXT();
    Thread *thread = thread_current;
    if (UNLIKELY(!thread || early_owns(block)))
        return slow_realloc(block, size, &context);
    return realloc_counted(thread, block, size, &context);
}

EXPORT void *reallocarray(void *block, size_t count, size_t size)
{
    UnwindContext context = CONTEXT();
    size_t bytes;
    if (UNLIKELY(__builtin_mul_overflow(count, size, &bytes))) {
        errno = ENOMEM;
        return NULL;
    }
    Thread *thread = thread_current;
    if (UNLIKELY(!thread || early_owns(block)))
        return slow_realloc(block, bytes, &context);
    return realloc_counted(thread, block, bytes, &context);
}

/* What is left of the family is rare: one way for all. */
static inline __attribute__((always_inline)) void *
counted(void *block, size_t size, const UnwindContext *context)
{
    Thread *thread = thread_current;
    if (UNLIKELY(!block))
        return NULL;
    if (LIKELY(thread != NULL))
        count_alloc(thread, block, size, context);
    else
        slow_record_alloc(block, size, context);
    return block;
}

EXPORT void *memalign(size_t alignment, size_t size)
{
    UnwindContext context = CONTEXT();
    slow_boot();
    return counted(real.memalign(alignment, size), size, &context);
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
    UnwindContext context = CONTEXT();
    slow_boot();
    return counted(real.aligned_alloc(alignment, size), size, &context);
}

EXPORT int posix_memalign(void **ret_block, size_t alignment, size_t size)
{
    UnwindContext context = CONTEXT();
    slow_boot();
    int error = real.posix_memalign(ret_block, alignment, size);
    if (!error)
        counted(*ret_block, size, &context);
    return error;
}

EXPORT void *valloc(size_t size)
{
    UnwindContext context = CONTEXT();
    slow_boot();
    return counted(real.valloc(size), size, &context);
}

EXPORT void *pvalloc(size_t size)
{
    UnwindContext context = CONTEXT();
    slow_boot();
    return counted(real.pvalloc(size), size, &context);
}

EXPORT size_t malloc_usable_size(void *block)
{
    if (UNLIKELY(early_owns(block)))
        return early_size(block);
    if (UNLIKELY(!real.malloc_usable_size))
        slow_boot();
    return real.malloc_usable_size(block);
}

void cfree(void *block);
void free_sized(void *block, size_t size);
void free_aligned_sized(void *block, size_t alignment, size_t size);

/* glibc 2.26 and later lack cfree, but old binaries still import it. */
EXPORT void cfree(void *block)
{
    free(block);
}

EXPORT void free_sized(void *block, size_t size)
{
    (void)size;
    free(block);
}

EXPORT void free_aligned_sized(void *block, size_t alignment, size_t size)
{
    (void)alignment;
    (void)size;
    free(block);
}
