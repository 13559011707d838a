// SPDX-License-Identifier: Apache-2.0
/*
 * Resolves the real functions eagerly, in one table, while no second thread exists.
 *
 * dlsym is bound to its oldest version so that the library loads on glibc 2.31, where it still
 * lives in libdl (DT_NEEDED names libdl.so.2). A failing dlsym allocates its message: optional
 * names come last, and what is allocated meanwhile comes from the early pool, whose blocks are
 * known for ever.
 */
#include "runtime/real.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "base/bits.h"
#include "runtime/slow.h"

__asm__(".symver dlsym, dlsym@GLIBC_2.2.5");

static void *boot_malloc(size_t size);
static void *boot_calloc(size_t count, size_t size);
static void *boot_realloc(void *block, size_t size);
static void boot_free(void *block);
static size_t boot_usable_size(void *block);

/* Until boot these boot first; while booting, they serve dlsym from the early pool. */
Real real = {
    .malloc = boot_malloc,
    .calloc = boot_calloc,
    .realloc = boot_realloc,
    .free = boot_free,
    .malloc_usable_size = boot_usable_size,
};

enum { POOL_BYTES = 64 << 10, POOL_HEADER = 16 };
static char pool[POOL_BYTES] __attribute__((aligned(16)));
static _Atomic size_t pool_used;

static const struct {
    const char *name;
    size_t offset;
    bool anywhere; /* not one of ours: RTLD_DEFAULT */
} names[] = {
#define NAME(n)                                                                                    \
    {                                                                                              \
#n, offsetof(Real, n), false                                                               \
    }
    NAME(malloc),
    NAME(free),
    NAME(calloc),
    NAME(realloc),
    NAME(reallocarray),
    NAME(memalign),
    NAME(aligned_alloc),
    NAME(posix_memalign),
    NAME(valloc),
    NAME(pvalloc),
    NAME(malloc_usable_size),
    NAME(dlclose),
    NAME(sigaction),
    NAME(signal),
    NAME(sigset),
    {"__sysv_signal", offsetof(Real, sysv_signal), false},
    NAME(_exit),
    NAME(quick_exit),
    NAME(execve),
    NAME(execv),
    NAME(execvp),
    NAME(execvpe),
    NAME(fexecve),
    {"pthread_key_create", offsetof(Real, pthread_key_create), true},
    {"pthread_setspecific", offsetof(Real, pthread_setspecific), true},
    NAME(execveat),
    NAME(_Fork),
    NAME(free_sized),
    NAME(free_aligned_sized),
#undef NAME
};

static void *early_or_fail(size_t bytes)
{
    void *block = early_alloc(bytes);
    if (!block)
        errno = ENOMEM;
    return block;
}

static void *boot_malloc(size_t size)
{
    slow_boot();
    return real.malloc == boot_malloc ? early_or_fail(size) : real.malloc(size);
}

static void *boot_calloc(size_t count, size_t size)
{
    slow_boot();
    return real.calloc == boot_calloc ? early_or_fail(count * size) : real.calloc(count, size);
}

static void *boot_realloc(void *block, size_t size)
{
    slow_boot();
    return real.realloc == boot_realloc ? early_or_fail(size) : real.realloc(block, size);
}

static void boot_free(void *block)
{
    slow_boot();
    if (real.free != boot_free && block)
        real.free(block);
}

static size_t boot_usable_size(void *block)
{
    slow_boot();
    return real.malloc_usable_size == boot_usable_size || !block ? 0
                                                                 : real.malloc_usable_size(block);
}

bool real_resolve(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        void *found = dlsym(names[i].anywhere ? RTLD_DEFAULT : RTLD_NEXT, names[i].name);
        if (!found && i == 0)
            return false;
        memcpy((char *)&real + names[i].offset, &found, sizeof(found));
    }
    return true;
}

void *early_alloc(size_t bytes)
{
    if (bytes > POOL_BYTES)
        return NULL;
    size_t room = ((bytes + 15) & ~(size_t)15) + POOL_HEADER;
    size_t at = atomic_fetch_add(&pool_used, room);
    if (at + room > POOL_BYTES)
        return NULL;
    memcpy(pool + at, &bytes, sizeof(bytes));
    return pool + at + POOL_HEADER;
}

bool early_owns(const void *block)
{
    return (uintptr_t)block - (uintptr_t)pool < POOL_BYTES;
}

size_t early_size(const void *block)
{
    size_t bytes;
    memcpy(&bytes, (const char *)block - POOL_HEADER, sizeof(bytes));
    return bytes;
}
