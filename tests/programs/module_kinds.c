// SPDX-License-Identifier: Apache-2.0
/*
 * Libraries that come and go. alpha and beta are one source built with two
 * names, so that their code lies at the same offsets; what was allocated under
 * an address must keep the name that the address had then.
 *
 *   //! run same_address same_address
 *   //!   no-oracle
 *   //!   module libplug_alpha.so unloaded
 *   //!   module libplug_beta.so unloaded
 *   //! run other_thread other_thread
 *   //!   no-oracle
 *   //! run other_threads other_threads
 *   //!   no-oracle
 *   //! run elsewhere elsewhere
 *   //!   site alpha_alloc count=11 bytes=110 live_count=11
 *   //!   module libplug_alpha.so times 2
 *   //! run both both
 *   //!   site alpha_alloc count=5
 *   //!   site beta_alloc count=6
 *   //! run deleted deleted
 *   //!   site alpha_alloc count=9 bytes=90
 *   //!   module copy.so deleted
 *   //! run replaced replaced
 *   //!   site alpha_alloc count=9 bytes=90
 *   //! run memory memory
 *   //!   site alpha_alloc count=9 bytes=90
 *   //! run many many
 *   //!   site alpha_alloc count=400
 *   //!   site beta_alloc count=400
 */
#include "trap.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/stat.h>

static char alpha[4096], beta[4096];

static void *load(const char *path)
{
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    if (!plugin)
        tell(2, "%s\n", dlerror());
    CHECK(plugin);
    return plugin;
}

SITE static void *call(void *plugin, const char *name, int count)
{
    void *(*make)(size_t) = (void *(*)(size_t))dlsym(plugin, name);

    CHECK(make);
    for (int i = 0; i < count; i++)
        make(10);
    return (void *)make;
}

/* Whether the hole that alpha leaves is beta's is the kernel's choice; so it gets some tries. */
static void same_address(void)
{
    int tries = 0, met = 0;

    while (tries < 40 && met < 3) {
        void *plugin = load(alpha), *first = call(plugin, "alpha_alloc", 10);

        dlclose(plugin);
        plugin = load(beta);
        met += call(plugin, "beta_alloc", 7) == first;
        dlclose(plugin);
        tries++;
    }
    if (met < 3) {
        tell(1, "the kernel always chooses another address\n");
        exit(77);
    }
    tell(1, "//! stack alpha_alloc<call<main count=%d bytes=%d\n", 10 * tries, 100 * tries);
    tell(1, "//! stack beta_alloc<call<main count=%d bytes=%d\n", 7 * tries, 70 * tries);
}

static sem_t wanted, loaded;
static void *(*volatile make)(size_t);

/* alpha and beta in turn, each at the place of the one before where the kernel allows. */
static void *load_in_turn(void *unused)
{
    void *plugin = NULL;

    for (int round = 0;; round++) {
        sem_wait(&wanted);
        if (plugin)
            dlclose(plugin);
        plugin = load(round % 2 ? beta : alpha);
        make = (void *(*)(size_t))dlsym(plugin, round % 2 ? "beta_alloc" : "alpha_alloc");
        sem_post(&loaded);
    }
    return unused;
}

/* Keeps the table of modules busy; nothing goes away by this. */
static void *close_always(void *unused)
{
    for (;;)
        dlclose(dlopen(NULL, RTLD_NOW));
    return unused;
}

/*
 * Another thread exchanges the library; the first that this thread then does is to release a block
 * that the old one allocated, and the next to allocate in the new one at the same pc and sp.
 */
SITE static void other_thread(int noisy)
{
    enum { ROUNDS = 40, BLOCKS = 3 };
    void *blocks[BLOCKS] = {NULL}, *first = NULL;
    pthread_t loader;
    int met = 0;

    CHECK(sem_init(&wanted, 0, 0) == 0 && sem_init(&loaded, 0, 0) == 0);
    CHECK(pthread_create(&loader, NULL, load_in_turn, NULL) == 0);
    if (noisy)
        CHECK(pthread_create(&loader, NULL, close_always, NULL) == 0);
    for (int round = 0; round < ROUNDS; round++) {
        sem_post(&wanted);
        sem_wait(&loaded);
        met += round % 2 && (void *)make == first;
        first = (void *)make;
        for (int i = 0; i < BLOCKS; i++) {
            free(blocks[i]);
            blocks[i] = make(10);
        }
    }
    if (met < 3) {
        tell(1, "the kernel always chooses another address\n");
        exit(77);
    }
    for (int i = 0; i < 2; i++)
        tell(1, "//! stack %s<other_thread<main count=%d bytes=%d live_count=%d\n",
             i ? "beta_alloc" : "alpha_alloc", ROUNDS / 2 * BLOCKS, ROUNDS / 2 * BLOCKS * 10,
             i * BLOCKS);
}

static void elsewhere(void)
{
    void *plugin = load(alpha);
    char *first = call(plugin, "alpha_alloc", 5);
    char *page = (char *)((uintptr_t)first & ~(uintptr_t)4095);

    dlclose(plugin);
    CHECK(mmap(page, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) ==
          page);
    plugin = load(alpha);
    CHECK(call(plugin, "alpha_alloc", 6) != first);
}

static void both(void)
{
    void *a = load(alpha), *b = load(beta);

    call(a, "alpha_alloc", 5);
    call(b, "beta_alloc", 6);
}

static void copy_to(int to)
{
    char block[4096];
    ssize_t size;
    int from = open(alpha, O_RDONLY);

    CHECK(from >= 0 && to >= 0);
    while ((size = read(from, block, sizeof(block))) > 0)
        CHECK(write(to, block, (size_t)size) == size);
    close(from);
}

static void odd_file(const char *kind)
{
    char path[64] = "./copy.so";
    int memory = !strcmp(kind, "memory");
    int fd = memory ? memfd_create("plugin", 0) : open(path, O_RDWR | O_CREAT | O_EXCL, 0700);
    void *plugin;

    copy_to(fd);
    if (strcmp(kind, "replaced")) {
        if (!memory)
            unlink(path);
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    }
    plugin = load(path);
    close(fd);
    if (!strcmp(kind, "replaced"))
        CHECK(unlink(path) == 0 && symlink(beta, path) == 0);
    call(plugin, "alpha_alloc", 9);
    tell(1, "//! alias %s libplug_alpha.so\n", memory ? "plugin" : "copy.so");
}

static void many(void)
{
    for (int i = 0; i < 400; i++) {
        void *plugin = load(i % 2 ? alpha : beta);

        call(plugin, i % 2 ? "alpha_alloc" : "beta_alloc", 2);
        dlclose(plugin);
    }
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "both";

    snprintf(alpha, sizeof(alpha), "%s/libplug_alpha.so", getenv("PROGRAMS"));
    snprintf(beta, sizeof(beta), "%s/libplug_beta.so", getenv("PROGRAMS"));
    if (!strcmp(kind, "same_address"))
        same_address();
    else if (!strcmp(kind, "other_thread"))
        other_thread(0);
    else if (!strcmp(kind, "other_threads"))
        other_thread(1);
    else if (!strcmp(kind, "elsewhere"))
        elsewhere();
    else if (!strcmp(kind, "both"))
        both();
    else if (!strcmp(kind, "many"))
        many();
    else
        odd_file(kind);
    sleep_ms(1200);
    return 0;
}
