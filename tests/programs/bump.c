// SPDX-License-Identifier: Apache-2.0
/*
 * An allocator that may be interrupted anywhere, even by itself: one atomic
 * addition, and free does nothing. Preloaded below us it makes malloc in a
 * signal handler that interrupted malloc legal, so that only our own hooks are
 * on trial.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

void *malloc(size_t size);
void free(void *pointer);
void *calloc(size_t count, size_t size);
void *realloc(void *pointer, size_t size);
size_t malloc_usable_size(void *pointer);

#define POOL_BYTES ((size_t)16 << 30)
static char *pool;
static size_t used;

static char *get_pool(void)
{
    char *have = __atomic_load_n(&pool, __ATOMIC_ACQUIRE), *made;

    if (have)
        return have;
    made = mmap(NULL, POOL_BYTES, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED)
        __builtin_trap();
    if (__atomic_compare_exchange_n(&pool, &have, made, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return made;
    munmap(made, POOL_BYTES);
    return have;
}

/* Not through the name malloc, which may be another preload's. */
static void *take(size_t size)
{
    size_t at = __atomic_fetch_add(&used, ((size + 15) & ~(size_t)15) + 16, __ATOMIC_RELAXED);
    char *base = get_pool();

    if (at + size + 32 > POOL_BYTES)
        return NULL;
    *(size_t *)(base + at) = size;
    return base + at + 16;
}

void *malloc(size_t size)
{
    return take(size);
}

void free(void *pointer)
{
    (void)pointer;
}

void *calloc(size_t count, size_t size)
{
    return take(count * size);
}

size_t malloc_usable_size(void *pointer)
{
    return pointer ? ((size_t *)pointer)[-2] : 0;
}

void *realloc(void *pointer, size_t size)
{
    void *moved = take(size);
    size_t old = pointer ? ((size_t *)pointer)[-2] : 0;

    if (moved && pointer)
        memcpy(moved, pointer, old < size ? old : size);
    return moved;
}
