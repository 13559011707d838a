// SPDX-License-Identifier: Apache-2.0
/*
 * The interposed malloc family: only what every call runs. What is not
 * common goes to slow.c.
 *
 * Order: a release is recorded before the real free, an allocation after the real allocation, so
 * that an address never belongs to two records at once. Before boot, `real` points to functions
 * that boot first.
 *
 * Compiled with rbp untouched (gcc: -ffixed-rbp; clang: a frame pointer), so that the caller's rbp
 * can be handed to the unwinder.
 */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#include "runtime/context.h"
#include "runtime/recording_fast.h"
#include "runtime/slow.h"

/*
 * counted() and slow_counted() are reached by tail calls only, so that their return address, stack
 * pointer and rbp are those of the hook's caller; and the hot path keeps no registers for them.
 */
static __attribute__((noinline)) void *slow_counted(void *block, size_t size)
{
    Thread *thread = thread_current;
    if (LIKELY(thread != &thread_none) && LIKELY(block != NULL)) {
        /* A stack that is not remembered: walk it, then the common way may still do. */
        UnwindContext context = CONTEXT();
        thread_current = &thread_none;
        SIGNAL_FENCE();
        Slot *slot = record_slot(thread, &context);
        SIGNAL_FENCE();
        thread_current = thread;
        if (LIKELY(fast_commit(thread, slot, block, size)))
            return block;
        if (LIKELY(runtime.glibc_malloc) &&
            LIKELY(atomic_load_explicit(&runtime.mode, memory_order_relaxed) == MODE_ON)) {
            thread_current = &thread_none;
            SIGNAL_FENCE();
            record_alloc_at(thread, slot, block, size, record_usable(block));
            SIGNAL_FENCE();
            thread_current = thread;
            return block;
        }
    }
    return slow_record_alloc(block, size, CALLER_PC(), CALLER_SP(), CALLER_FP());
}

/* BLOCK may be NULL: its entry is never free (livemap_make), so the fast path fails. */
static inline __attribute__((always_inline)) void *counted_inline(void *block, size_t size)
{
    Thread *thread = thread_current;
    Slot *slot = thread->fixed_slot;
    if (slot == NULL)
        slot = fast_slot(thread, CALLER_PC(), CALLER_SP());
    __asm__("" : "+a"(block)); /* BLOCK stays where it came and will be returned */
    if (LIKELY(slot != NULL) && LIKELY(fast_commit(thread, slot, block, size)))
        return block;
    return slow_counted(block, size);
}

static __attribute__((noinline)) void *counted(void *block, size_t size)
{
    return counted_inline(block, size);
}

EXPORT void *malloc(size_t size)
{
    return counted_inline(real.malloc(size), size);
}

EXPORT void free(void *block)
{
    LiveEntry *entry = fast_entry(block, LIVEMAP_TOP((uintptr_t)block));
    if (UNLIKELY(!entry))
        goto slow;
    uint64_t value = atomic_load_explicit(entry, memory_order_relaxed);
    if (UNLIKELY(!fast_free(thread_current, value, block)))
        goto slow;
    atomic_store_explicit(entry, 0, memory_order_relaxed);
    real.free(block);
    return;
slow:
    slow_free(block, CALLER_PC());
}

EXPORT void *calloc(size_t count, size_t size)
{
    return counted(real.calloc(count, size), count * size);
}

/*
 * The old block is taken out before the real call. It is counted as released after it, by the
 * general path, unless the call fails: then it is put back. A function of its own, because the
 * address of `taken` would keep realloc from ending in a tail call.
 */
static __attribute__((noinline)) void *realloc_uncounted(void *block, size_t size)
{
    Taken taken = record_take(block);
    void *fresh = real.realloc(block, size);
    if (UNLIKELY(!fresh && size))
        record_put_back(block, &taken);
    else
        slow_record_free(block, &taken);
    return fresh;
}

EXPORT void *realloc(void *block, size_t size)
{
    Thread *thread = thread_active();
    if (!block && LIKELY(thread != NULL))
        return counted(real.realloc(NULL, size), size);
    if (UNLIKELY(!thread) || UNLIKELY(!runtime.glibc_malloc) || UNLIKELY(early_owns(block)))
        return slow_realloc(block, size, CALLER_PC(), CALLER_SP(), CALLER_FP());
    return counted(realloc_uncounted(block, size), size);
}

EXPORT void *reallocarray(void *block, size_t count, size_t size)
{
    size_t bytes;
    if (UNLIKELY(__builtin_mul_overflow(count, size, &bytes))) {
        errno = ENOMEM;
        return NULL;
    }
    return slow_realloc(block, bytes, CALLER_PC(), CALLER_SP(), CALLER_FP());
}

EXPORT void *memalign(size_t alignment, size_t size)
{
    slow_boot();
    return counted(real.memalign(alignment, size), size);
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
    slow_boot();
    return counted(real.aligned_alloc(alignment, size), size);
}

EXPORT int posix_memalign(void **ret_block, size_t alignment, size_t size)
{
    slow_boot();
    int error = real.posix_memalign(ret_block, alignment, size);
    if (!error && *ret_block)
        slow_record_alloc(*ret_block, size, CALLER_PC(), CALLER_SP(), CALLER_FP());
    return error;
}

EXPORT void *valloc(size_t size)
{
    slow_boot();
    return counted(real.valloc(size), size);
}

EXPORT void *pvalloc(size_t size)
{
    slow_boot();
    return counted(real.pvalloc(size), size);
}

EXPORT size_t malloc_usable_size(void *block)
{
    if (UNLIKELY(early_owns(block)))
        return early_size(block);
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
