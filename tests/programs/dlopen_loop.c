// SPDX-License-Identifier: Apache-2.0
/*
 * dlopen and dlclose in a loop beside seven threads that allocate without pause
 * (and some that walk the loaded objects): no deadlock, no count lost.
 *
 *   //! timeout 120
 *   //! no-oracle
 *   //! site site_worker count=1400000 bytes=56000000 live_count=0 live_bytes=0
 *   //! site alpha_alloc count=500 bytes=5000 live_count=0
 */
#include "trap.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

SITE static void site_worker(void)
{
    for (int i = 0; i < 1000; i++) {
        void *p = malloc(40);

        keep(p);
        free(p);
    }
}

static int visit(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)info;
    (void)size;
    (void)data;
    free(malloc(1)); /* under the loader's lock */
    return 0;
}

static void *worker(void *number)
{
    for (int i = 0; i < 200; i++) {
        site_worker();
        if (number)
            dl_iterate_phdr(visit, NULL);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[7];
    char path[4096];

    snprintf(path, sizeof(path), "%s/libplug_alpha.so", getenv("PROGRAMS"));
    for (intptr_t i = 0; i < 7; i++)
        pthread_create(&threads[i], NULL, worker, (void *)(i % 2));
    for (int i = 0; i < 500; i++) {
        void *plugin = dlopen(path, RTLD_NOW);
        void *(*make)(size_t);

        CHECK(plugin);
        make = (void *(*)(size_t))dlsym(plugin, "alpha_alloc");
        free(make(10));
        CHECK(dlclose(plugin) == 0);
    }
    for (int i = 0; i < 7; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
