// SPDX-License-Identifier: Apache-2.0
/*
 * Allocations before any constructor of a library has run (.preinit_array), in
 * constructors and through a failing dlsym (which allocates its message and
 * frees it later). Early blocks come back much later to realloc,
 * malloc_usable_size and free.
 *
 *   //! site site_preinit count=3 bytes=300 live_count=0 live_bytes=0
 *   //! site site_constructor count=2 bytes=40 live_count=0
 *   //! site site_later count=1 bytes=5000 live_count=0
 *   //! site site_dlsym live_count=0
 */
#include "trap.h"

#include <dlfcn.h>

static char *early[3], *constructed[2];

SITE static void site_preinit(void)
{
    for (int i = 0; i < 3; i++) {
        early[i] = malloc(100);
        CHECK(early[i] && (uintptr_t)early[i] % 16 == 0);
        memset(early[i], 'a' + i, 100);
    }
}

static void before_all(int argc, char **argv, char **env)
{
    (void)argc;
    (void)argv;
    (void)env;
    site_preinit();
}
__attribute__((section(".preinit_array"), used)) static void (*preinit)(int, char **,
                                                                        char **) = before_all;

SITE __attribute__((constructor)) static void site_constructor(void)
{
    for (int i = 0; i < 2; i++)
        constructed[i] = malloc(20);
}

SITE static void site_later(void)
{
    char *p = realloc(early[0], 5000);

    CHECK(p && p[0] == 'a' && p[99] == 'a');
    free(p);
}

SITE static void site_dlsym(void)
{
    for (int i = 0; i < 20; i++) {
        CHECK(dlsym(RTLD_DEFAULT, "no_such_function_anywhere") == NULL);
        if (i % 2)
            CHECK(dlerror() != NULL);
    }
    CHECK(dlopen("/nonexistent/lib.so", RTLD_NOW) == NULL && dlerror() != NULL);
    CHECK(dlerror() == NULL); /* frees the message */
}

int main(void)
{
    CHECK(preinit && malloc_usable_size(early[0]) >= 100);
    site_later();
    CHECK(early[1][50] == 'b' && early[2][99] == 'c');
    free(early[1]);
    free(early[2]);
    free(constructed[0]);
    free(constructed[1]);
    site_dlsym();
    return 0;
}
