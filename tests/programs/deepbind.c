// SPDX-License-Identifier: Apache-2.0
/*
 * RTLD_DEEPBIND: the plugin's malloc and free are libc's, past every preload.
 * Its blocks are unknown to us and pass through; a block of ours that it frees
 * is noticed at the latest when its address comes again.
 *
 *   //! no-oracle
 *   //! loss missed_frees=>=0
 *   //! site site_known count=100 bytes=10000
 */
#include "trap.h"

#include <dlfcn.h>

SITE static void *site_known(void)
{
    return malloc(100);
}

int main(void)
{
    char path[4096];
    void *plugin;
    void *(*make)(size_t);
    void (*drop)(void *);

    snprintf(path, sizeof(path), "%s/libplug_alpha.so", getenv("PROGRAMS"));
    plugin = dlopen(path, RTLD_NOW | RTLD_DEEPBIND);
    CHECK(plugin);
    make = (void *(*)(size_t))dlsym(plugin, "alpha_alloc");
    drop = (void (*)(void *))dlsym(plugin, "alpha_free");
    for (int i = 0; i < 100; i++) {
        void *ours = site_known(), *theirs = make(50);

        CHECK(malloc_usable_size(theirs) >= 50);
        theirs = realloc(theirs, 60);
        if (i % 2) {
            free(theirs);
            drop(ours);
        } else {
            drop(theirs);
            free(ours);
        }
    }
    dlclose(plugin);
    return 0;
}
