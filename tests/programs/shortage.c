// SPDX-License-Identifier: Apache-2.0
/*
 * Out of memory, out of file size. The program sees NULL and ENOMEM as without
 * us and its profile still counts right; a file that may not grow costs the
 * profile, never the program.
 *
 *   //! no-oracle
 *   //! run memory memory
 *   //!   loss live_map_full=>=0 missed_frees=>=0
 *   //!   site site_after count=1 bytes=100
 *   //! run small small
 *   //!   loss live_map_full=>=0 missed_frees=>=0 stack_table_full=>=0
 *   //!   site site_after count=1 bytes=100
 *   //! run file_size file_size
 *   //!   killed
 *   //!   unchecked
 */
#include "trap.h"

#include <sys/resource.h>

static void *chain;

/* Takes blocks until there are none; each holds the next. */
SITE static long site_eat(size_t size)
{
    long count = 0;

    for (;;) {
        void **p;

        errno = 0;
        p = malloc(size);
        if (!p)
            break;
        *p = chain;
        chain = p;
        count++;
    }
    CHECK(errno == ENOMEM);
    CHECK(calloc(size, 4) == NULL && errno == ENOMEM);
    return count;
}

SITE static void site_after(void)
{
    keep(malloc(100));
}

static void limit_memory(size_t room)
{
    struct rlimit limit;
    unsigned long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");

    CHECK(statm && fscanf(statm, "%lu", &pages) == 1);
    fclose(statm);
    limit.rlim_cur = limit.rlim_max = pages * 4096 + room;
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "memory";
    size_t size = strcmp(kind, "small") ? 1 << 20 : 1000;

    if (!strcmp(kind, "file_size")) {
        struct rlimit limit = {0, 0};

        CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
        for (int i = 0; i < 1000; i++)
            keep(malloc(10));
        sleep_ms(1500);
        site_after();
        return 0;
    }
    limit_memory(64 << 20);
    long count = site_eat(size);
    CHECK(count >= 20);
    while (chain) {
        void *next = *(void **)chain;

        free(chain);
        chain = next;
    }
    site_after();
    tell(1, "//! site site_eat count=%ld bytes=%zu\n", count, (size_t)count * size);
    return 0;
}
