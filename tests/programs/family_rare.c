// SPDX-License-Identifier: Apache-2.0
/*
 * Members of the family that this libc may lack and a newer program looks up:
 * free_sized, free_aligned_sized (C23) and cfree (gone from glibc 2.26 on).
 * Where nobody offers one, free does. A pointer looked up with RTLD_NEXT or
 * from libc's own handle goes past every preload: the block is unknown to us or
 * dies unseen, and nothing breaks.
 *
 *   //! no-oracle
 *   //! site site_sized count=30 bytes=300 live_count=0 live_bytes=0
 *   //! site site_past count=1 bytes=77 live_count=0
 */
#include "trap.h"

#include <dlfcn.h>

SITE static void site_sized(void)
{
    void (*sized)(void *, size_t) = (void (*)(void *, size_t))dlsym(RTLD_DEFAULT, "free_sized");
    void (*aligned)(void *, size_t, size_t) =
        (void (*)(void *, size_t, size_t))dlsym(RTLD_DEFAULT, "free_aligned_sized");
    void (*c)(void *) = (void (*)(void *))dlsym(RTLD_DEFAULT, "cfree");

    for (int i = 0; i < 10; i++) {
        void *a = malloc(10), *b = aligned_alloc(32, 10), *d = malloc(10);

        errno = 4711;
        sized ? sized(a, 10) : free(a);
        aligned ? aligned(b, 32, 10) : free(b);
        c ? c(d) : free(d);
        CHECK(errno == 4711);
    }
}

SITE static void site_past(void *(*past)(size_t))
{
    void *p = past(1000); /* unknown to every preload */

    CHECK(p);
    free(p);
    p = malloc(77);
    free(p);
}

int main(void)
{
    void *libc = dlopen("libc.so.6", RTLD_NOLOAD | RTLD_NOW);

    site_sized();
    site_past((void *(*)(size_t))dlsym(libc, "malloc"));
    dlclose(libc);
    return 0;
}
