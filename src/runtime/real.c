// SPDX-License-Identifier: Apache-2.0
/*
 * Resolves the real functions eagerly, in one table, while no second thread exists.
 *
 * dlsym is bound to its oldest version so that the library loads on glibc 2.31, where it still lives
 * in libdl (DT_NEEDED names libdl.so.2). A failing dlsym allocates its message: optional names come
 * last, and what is allocated meanwhile comes from the early pool, whose blocks are known for ever.
 */
#include "runtime/real.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "base/bits.h"

__asm__(".symver dlsym, dlsym@GLIBC_2.2.5");

Real real;

enum { POOL_BYTES = 64 << 10, POOL_HEADER = 16 };
static char pool[POOL_BYTES] __attribute__((aligned(16)));
static _Atomic size_t pool_used;

static const struct {
    const char *name;
    size_t offset;
    bool anywhere; /* not one of ours: RTLD_DEFAULT */
} names[] = {
#define NAME(n) {#n, offsetof(Real, n), false}
    NAME(malloc), NAME(free), NAME(calloc), NAME(realloc), NAME(reallocarray), NAME(memalign),
    NAME(aligned_alloc), NAME(posix_memalign), NAME(valloc), NAME(pvalloc),
    NAME(malloc_usable_size), NAME(dlclose), NAME(sigaction), NAME(signal), NAME(sigset),
    {"__sysv_signal", offsetof(Real, sysv_signal), false}, NAME(_exit), NAME(exit), NAME(quick_exit),
    NAME(execve), NAME(execv), NAME(execvp), NAME(execvpe), NAME(fexecve),
    {"pthread_key_create", offsetof(Real, pthread_key_create), true},
    {"pthread_setspecific", offsetof(Real, pthread_setspecific), true},
    NAME(execveat), NAME(_Fork), NAME(free_sized), NAME(free_aligned_sized),
#undef NAME
};

bool real_resolve(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        void *found = dlsym(names[i].anywhere ? RTLD_DEFAULT : RTLD_NEXT, names[i].name);
        memcpy((char *)&real + names[i].offset, &found, sizeof(found));
        if (!found && i == 0)
            return false;
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
