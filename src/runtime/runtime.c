// SPDX-License-Identifier: Apache-2.0
/*
 * Boot, in two steps.
 *
 * The first allocation, which may come from the dynamic loader before any constructor ran, resolves
 * the real functions, reads the settings and prepares the tables: from then on everything is
 * counted. The constructor then decides by name whether this process is recorded, and starts what
 * needs libc: the file and its thread, signal and fork handlers.
 *
 * A child of fork starts in MODE_FORKED and does nothing before its first allocation, so that a
 * child that only calls exec or _exit pays nothing.
 */
#include "runtime/runtime.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/clock.h"
#include "base/sys.h"
#include "runtime/arena.h"
#include "runtime/collector.h"
#include "runtime/drain.h"
#include "runtime/endings.h"
#include "runtime/huge.h"
#include "runtime/log.h"
#include "runtime/real.h"
#include "runtime/signals.h"
#include "runtime/slow.h"
#include "runtime/thread.h"
#include "runtime/windows.h"
#include "unwind/unwind.h"

__asm__(".symver dlsym, dlsym@GLIBC_2.2.5");
__asm__(".symver dlerror, dlerror@GLIBC_2.2.5");

Runtime runtime;
static Sums inherited;
static bool started;             /* the constructor has run */
static Thread *forked_by;        /* MODE_FORKED: the state of the thread that forked, or NULL */
static bool forked_in_hook;      /* and a hook of it goes on */
static const char *boot_failure; /* NULL: none, or not worth a word */

uint64_t runtime_now_ns(void)
{
    return clock_monotonic_ns() + runtime.clock_offset_ns;
}

static void set_clock(void)
{
    uint64_t wall_ns = clock_wall_ns();
    runtime.clock_offset_ns = wall_ns - clock_monotonic_ns();
    runtime.start_wall_ns = wall_ns;
}

static uint32_t raw_pid(void)
{
    return (uint32_t)sys_call(SYS_getpid);
}

/* Where the real malloc lives. Other allocators define names of glibc's too (__libc_malloc), so its
 * module is compared with that of a function that only libc has. */
static void know_allocator(void)
{
    const UnwindModule *module = unwind_module_find((FrameWord)real.malloc);
    void *of_libc = dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
    runtime.allocator = (const void *)real.malloc;
    runtime.glibc_malloc = module && of_libc && unwind_module_find((FrameWord)of_libc) == module;
    if (runtime.glibc_malloc)
        runtime.heap = (LiveMap){.root = livemap_heap_root, .shift = 5};
    if (runtime.glibc_malloc || !module)
        return;
    runtime.allocator_start = module->start;
    runtime.allocator_bytes = module->end - module->start;
}

static bool prepare_tables(void)
{
    unwind_dl_find_object = dlsym(RTLD_DEFAULT, "_dl_find_object");
    unwind_on_unload = drain_raise_epochs;
    if (unwind_init(arena_for_unwinder) < 0)
        return false;
    know_allocator();
    dlerror(); /* a message of a failed look-up must not reach the program... */
    dlerror(); /* ...nor stay allocated */
    huge_init();
    return livemap_init(&runtime.heap, 3) == 0 && stacks_init() == 0 && slots_init();
}

void runtime_boot(void)
{
    int expected = MODE_NEW;
    if (!atomic_compare_exchange_strong(&runtime.mode, &expected, MODE_BOOTING))
        return;
    int saved_errno = errno;
    runtime.pid = raw_pid();
    set_clock();
    bool ready = real_resolve();
    config_read(&runtime.config);
    ready = ready && runtime.config.enabled && !getauxval(AT_SECURE);
    if (ready && !prepare_tables()) {
        boot_failure = "no memory for its tables, or /proc cannot be read";
        ready = false;
    }
    atomic_store(&runtime.mode, ready ? MODE_ON : MODE_OFF);
    errno = saved_errno;
}

/* ---- names and filters ----------------------------------------------------------------------- */

static void read_short_name(void)
{
    char path[4096];
    long length = sys_call(SYS_readlink, "/proc/self/exe", path, sizeof(path) - 1);
    path[length > 0 ? length : 0] = 0;
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    size_t bytes =
        strlen(name) < sizeof(runtime.short_name) ? strlen(name) : sizeof(runtime.short_name) - 1;
    memcpy(runtime.short_name, name, bytes);
    runtime.short_name[bytes] = 0;
}

static void read_folder(void)
{
    const char *wanted = runtime.config.output;
    size_t used = 0;
    if (wanted[0] != '/') {
        long got = sys_call(SYS_getcwd, runtime.folder, sizeof(runtime.folder));
        used = got > 1 ? (size_t)got - 1 : 0;
        if (used && wanted[0] && used + 1 < sizeof(runtime.folder))
            runtime.folder[used++] = '/';
    }
    size_t length = strlen(wanted);
    if (used + length >= sizeof(runtime.folder))
        length = 0;
    memcpy(runtime.folder + used, wanted, length);
    runtime.folder[used + length] = 0;
}

/* regcomp allocates: that passes through uncounted. An expression that is none matches all. */
static bool name_matches(const char *expression, const char *setting)
{
    regex_t regex;
    Thread *current = thread_current, *owner = thread_owner;
    thread_current = &thread_none;
    thread_owner = THREAD_BYPASS;
    bool matches = true;
    if (regcomp(&regex, expression, REG_EXTENDED | REG_NOSUB) == 0) {
        matches = regexec(&regex, runtime.short_name, 0, NULL, 0) == 0;
        regfree(&regex);
    } else if (runtime.config.log >= CONFIG_LOG_WARN) {
        log_line("wrong value for ", setting,
                 ", allowed: a POSIX extended regular expression; "
                 "all programs match");
    }
    thread_owner = owner;
    thread_current = current;
    return matches;
}

/* Whether a descendant of the first process is recorded. */
static bool follows(void)
{
    switch (runtime.config.follow) {
    case CONFIG_FOLLOW_NONE:
        return false;
    case CONFIG_FOLLOW_REGEX:
        return name_matches(runtime.config.follow_regex, "MEMHAWK_FOLLOW");
    default:
        return true;
    }
}

static bool is_wanted(void)
{
    bool followed = follows(); /* asked in any case, so that a wrong expression is told */
    if (runtime.config.name_filter[0] &&
        !name_matches(runtime.config.name_filter, "MEMHAWK_NAME_FILTER"))
        return false;
    bool descendant = runtime.config.root_pid && runtime.config.root_pid != runtime.pid;
    return !descendant || followed;
}

static void go_silent(void)
{
    atomic_store(&runtime.mode, MODE_OFF);
    thread_current = &thread_none;
    thread_owner = THREAD_BYPASS;
}

/* ---- the constructor ------------------------------------------------------------------------- */

/* In a program that is not position independent, `malloc` may resolve to the program's own jump to
 * ours: then its symbol there is an undefined one. */
static bool is_plt_entry(void *found)
{
    int (*address_info)(const void *, Dl_info *, void **, int) = dlsym(RTLD_DEFAULT, "dladdr1");
    Dl_info info;
    ElfW(Sym) *symbol = NULL;
    return address_info && address_info(found, &info, (void **)&symbol, RTLD_DL_SYMENT) && symbol &&
           symbol->st_shndx == SHN_UNDEF;
}

static void check_interposition(void)
{
    void *found = dlsym(RTLD_DEFAULT, "malloc");
    if (found != (void *)malloc && !is_plt_entry(found))
        runtime.warning = "another malloc stands before the recorder (the program defines its own, "
                          "or another library is preloaded first): its allocations are not seen";
}

static void start_recording(void)
{
    writer_prepare(runtime.folder, runtime.short_name);
    collector_start(NULL);
}

static void after_fork_in_child(void);

/*
 * Chromium's zygote, and that of the many programs built on it, counts its threads before it forks
 * and ends if there is a second one. It and what it forks stay unrecorded; the program's other
 * processes do not.
 */
static bool is_zygote(int argument_count, char **arguments)
{
    for (int i = 1; i < argument_count; i++)
        if (strcmp(arguments[i], "--type=zygote") == 0)
            return true;
    return false;
}

/* glibc hands these to the constructors of every library. */
__attribute__((constructor(101))) static void runtime_start(int argument_count, char **arguments)
{
    int saved_errno = errno;
    slow_boot();
    if (boot_failure && runtime.config.log >= CONFIG_LOG_ERROR)
        log_line("nothing is recorded: ", boot_failure);
    if (atomic_load(&runtime.mode) == MODE_ON) {
        read_short_name();
        read_folder();
        config_complain(&runtime.config);
        if (is_wanted() && !is_zygote(argument_count, arguments)) {
            check_interposition();
            pthread_atfork(NULL, NULL, after_fork_in_child);
            signals_start();
            endings_start();
            start_recording();
            started = true;
        } else {
            go_silent();
        }
    }
    errno = saved_errno;
}

__attribute__((destructor(101))) static void runtime_end(void)
{
    endings_at_destruction();
}

/* ---- fork ------------------------------------------------------------------------------------ */

/* A signal handler that forks may have interrupted a hook, which makes its state the current one
 * when it goes on: then nothing of it may take the fast path, so that the child is noticed. */
static void after_fork_in_child(void)
{
    bool in_hook = thread_current == &thread_none;
    thread_current = &thread_none;
    if (atomic_load(&runtime.mode) != MODE_ON || thread_owner == THREAD_BYPASS)
        return;
    forked_by = thread_owner;
    forked_in_hook = in_hook && forked_by && !forked_by->paused;
    if (forked_by)
        atomic_fetch_or(&forked_by->stamp, THREAD_NEVER_FAST);
    thread_owner = NULL;
    atomic_store(&runtime.mode, MODE_FORKED);
}

void runtime_boot_child(void)
{
    int expected = MODE_FORKED;
    if (!atomic_compare_exchange_strong(&runtime.mode, &expected, MODE_BOOTING))
        return;
    runtime.pid = raw_pid();
    unwind_after_fork();
    stacks_after_fork();
    thread_after_fork(forked_by, forked_in_hook);
    collector_after_fork();
    writer_after_fork();
    windows_after_fork();
    endings_after_fork();
    if (!started || !follows()) {
        atomic_store(&runtime.mode, MODE_OFF);
        return;
    }
    set_clock();
    drain_after_fork(&inherited);
    int64_t live = (int64_t)(inherited.alloc_bytes - inherited.free_bytes);
    atomic_store(&runtime.live_sum, live);
    atomic_store(&runtime.peak_bytes, live);
    atomic_store(&runtime.peak_ns, runtime.start_wall_ns);
    drain_kept(0);
    atomic_store(&runtime.mode, MODE_ON);
    collector_start(&inherited);
}

EXPORT pid_t _Fork(void)
{
    if (!real._Fork) {
        errno = ENOSYS;
        return -1;
    }
    pid_t pid = real._Fork();
    if (pid == 0)
        after_fork_in_child();
    return pid;
}
