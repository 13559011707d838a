// SPDX-License-Identifier: Apache-2.0
/*
 * Frame truth: a preload that carries our unwinder (src/unwind) and walks at every malloc as the
 * recorder does, memo and all; at every Nth it also lets libunwind walk the same stack and compares
 * the two, frame by frame, on the spot. Nothing of src/runtime is in it.
 *
 * $STACKS_PREFIX.PID.N (one per process image, a shared mapping, so every ending leaves it whole)
 * holds the counts by kind and the first stacks that differ; beside it a copy of /proc/self/maps
 * of that moment. $STACKS_EVERY is N (default 7). Read by tests/e2e/frames.py.
 *
 * libunwind is not our malloc's guest: it runs with a flag set that sends its own allocations
 * straight through. The stub in assembly hands over the caller's registers untouched, and has CFI,
 * so that libunwind finds the same caller.
 */
#define UNW_LOCAL_ONLY
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <libunwind.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "unwind/unwind.h"

enum { EXAMPLES = 16, EXAMPLE_DEPTH = 256 };

typedef struct Example {
    uint32_t ours_depth, truth_depth, flags, first_difference;
    uint64_t ours[EXAMPLE_DEPTH], truth[EXAMPLE_DEPTH];
} Example;

typedef struct StacksFile { /* read by tests/e2e/frames.py */
    uint64_t magic;         /* "MHSTACKS" */
    uint64_t calls, samples, frames;
    uint64_t equal;       /* all frames of both */
    uint64_t truth_short; /* equal as far as libunwind came; it stopped early, we went on */
    uint64_t ours_short;  /* equal as far as we came; we stopped early and did not say so */
    uint64_t marked;      /* we differ or stop early, and the stack is marked as such */
    uint64_t differ;      /* a frame differs on a stack that claims to be right */
    uint64_t cut;         /* equal up to the depth limit */
    uint64_t example_count;
    char exe[128];
    Example examples[EXAMPLES];
} StacksFile;

static void *(*real_malloc)(size_t); /* the program may bring its own allocator */
static StacksFile *out;
static volatile uint32_t *ours; /* wiped in a fork child */
static volatile int ready;
static uint64_t every = 7;
static __thread UnwindThread *walker __attribute__((tls_model("initial-exec")));
static __thread bool inside __attribute__((tls_model("initial-exec")));
static __thread uint64_t countdown __attribute__((tls_model("initial-exec")));

static void *pages(size_t bytes)
{
    void *ret = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return ret == MAP_FAILED ? NULL : ret;
}

static void write_number(char *at, uint64_t number)
{
    char digits[24];
    int n = 0;

    do
        digits[n++] = (char)('0' + number % 10);
    while ((number /= 10));
    while (n)
        *at++ = digits[--n];
    *at = 0;
}

/* PREFIX.PID.N, made new; -1 when there is none. */
static int make_file(char *path, const char *prefix)
{
    int fd = -1;

    strcat(strcpy(path, prefix), ".");
    write_number(path + strlen(path), (uint64_t)getpid());
    strcat(path, ".");
    char *number = path + strlen(path);
    for (unsigned i = 0; i < 1000 && fd < 0; i++) {
        write_number(number, i);
        fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd < 0 && errno != EEXIST)
            return -1;
    }
    return fd;
}

static void open_out(void)
{
    const char *prefix = getenv("STACKS_PREFIX");
    char path[1024];
    int fd = prefix && strlen(prefix) < 900 ? make_file(path, prefix) : -1;

    out = NULL;
    if (fd >= 0 && ftruncate(fd, sizeof(*out)) == 0)
        out = mmap(NULL, sizeof(*out), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    if (!out || out == MAP_FAILED)
        out = pages(sizeof(*out));
    if (!out)
        _exit(121);
    out->magic = UINT64_C(0x534b434154534d48);
    if (readlink("/proc/self/exe", out->exe, sizeof(out->exe) - 1) < 0)
        out->exe[0] = '?';
}

__attribute__((constructor)) static void start(void)
{
    const char *text = getenv("STACKS_EVERY");

    inside = true;
    if (text && atoi(text) > 0)
        every = (uint64_t)atoi(text);
    ours = pages(4096);
    if (!ours || madvise((void *)ours, 4096, MADV_WIPEONFORK) != 0 || unwind_init(pages) != 0)
        _exit(121);
    unwind_modules_refresh();
    *ours = 1;
    open_out();
    ready = 1;
    inside = false;
}

static void copy_maps(void)
{
    const char *prefix = getenv("STACKS_PREFIX");
    char path[1024], block[4096];
    ssize_t size;
    int from, to;

    if (!prefix || strlen(prefix) > 900)
        return;
    strcat(strcpy(path, prefix), "-maps.");
    write_number(path + strlen(path), (uint64_t)getpid());
    from = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    while (from >= 0 && to >= 0 && (size = read(from, block, sizeof(block))) > 0)
        if (write(to, block, (size_t)size) != size)
            break;
    close(from);
    close(to);
}

static void keep_example(const FrameWord *have, size_t depth, const uint64_t *want, size_t count,
                         unsigned flags, size_t at)
{
    uint64_t index = __atomic_fetch_add(&out->example_count, 1, __ATOMIC_RELAXED);
    Example *example;

    if (index >= EXAMPLES)
        return;
    if (index == 0)
        copy_maps();
    example = &out->examples[index];
    for (size_t i = 0; i < depth && i < EXAMPLE_DEPTH; i++)
        example->ours[i] = FRAME_ADDRESS(have[i]);
    for (size_t i = 0; i < count && i < EXAMPLE_DEPTH; i++)
        example->truth[i] = want[i];
    example->ours_depth = (uint32_t)depth;
    example->truth_depth = (uint32_t)count;
    example->flags = flags;
    example->first_difference = (uint32_t)at;
}

/* libunwind's walk from the frame whose pc is PC on; 0 when that frame never comes. */
static size_t walk_truth(uint64_t pc, uint64_t *ret_frames, size_t capacity)
{
    unw_context_t context;
    unw_cursor_t cursor;
    size_t count = 0;
    bool found = false;

    if (unw_getcontext(&context) != 0 || unw_init_local(&cursor, &context) != 0)
        return 0;
    do {
        unw_word_t ip = 0;

        if (unw_get_reg(&cursor, UNW_REG_IP, &ip) != 0 || ip == 0)
            break;
        found = found || ip == pc;
        if (found)
            ret_frames[count++] = ip;
    } while (count < capacity && unw_step(&cursor) > 0);
    return count;
}

#define COUNT(field) __atomic_fetch_add(&out->field, 1, __ATOMIC_RELAXED)

static void compare(const UnwindContext *context, const UnwindWalk *walk)
{
    FrameWord have[UNWIND_MAX_DEPTH];
    uint64_t want[UNWIND_MAX_DEPTH];
    size_t depth = unwind_frames(walker, walk, have), at = 0;
    size_t count = walk_truth(context->pc, want, UNWIND_MAX_DEPTH);
    bool is_marked = (walk->flags & (UNWIND_ENDED_EARLY | UNWIND_BY_FRAME_POINTER)) != 0;

    if (count == 0)
        return;
    COUNT(samples);
    __atomic_fetch_add(&out->frames, depth, __ATOMIC_RELAXED);
    while (at < depth && at < count && FRAME_ADDRESS(have[at]) == want[at])
        at++;
    if (at == depth && at == count)
        COUNT(equal);
    else if (at == depth && (walk->flags & UNWIND_DEPTH_CUT))
        COUNT(cut);
    else if (at == count && depth > count) {
        COUNT(truth_short);
        if (out->truth_short < 4)
            keep_example(have, depth, want, count, walk->flags, at);
    } else if (is_marked) {
        if (COUNT(marked) < 3)
            keep_example(have, depth, want, count, walk->flags, at);
    } else {
        if (at == depth)
            COUNT(ours_short);
        else
            COUNT(differ);
        keep_example(have, depth, want, count, walk->flags, at);
    }
}

static void sample(const UnwindContext *context)
{
    UnwindWalk *walk;

    if (!*ours) { /* fork child */
        unwind_after_fork();
        *ours = 1;
        open_out();
    }
    if (!walker) {
        size_t bytes = unwind_thread_bytes(UNWIND_MAX_DEPTH);
        UnwindThread *made = pages((bytes + 4095) & ~(size_t)4095);

        if (!made)
            return;
        unwind_thread_init(made, UNWIND_MAX_DEPTH, false);
        walker = made;
    }
    COUNT(calls);
    walk = unwind_walk(walker, context);
    if (countdown-- == 0) {
        countdown = every - 1;
        compare(context, walk);
    }
}

void *stacks_malloc(size_t size, const UnwindContext *context);
/* Called by the stub below with the caller's registers. */
__attribute__((used, visibility("hidden"))) void *stacks_malloc(size_t size,
                                                                const UnwindContext *context)
{
    if (ready && !inside) {
        int saved = errno;

        inside = true;
        sample(context);
        inside = false;
        errno = saved;
    }
    if (!real_malloc) {
        bool was_inside = inside;

        inside = true;
        real_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
        inside = was_inside;
    }
    return real_malloc(size);
}

/* As the runtime: the unwinder is told after dlopen. */
__attribute__((visibility("default"))) void *dlopen(const char *path, int flags)
{
    static void *(*real)(const char *, int);
    void *ret;

    if (!real)
        real = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
    ret = real(path, flags);
    unwind_modules_refresh();
    return ret;
}

/* dlclose tells the unwinder before an address can be used again, as the runtime does. */
__attribute__((visibility("default"))) int dlclose(void *handle)
{
    static int (*real)(void *);
    int ret;

    if (!real)
        real = (int (*)(void *))dlsym(RTLD_NEXT, "dlclose");
    unwind_modules_refresh();
    ret = real(handle);
    unwind_modules_refresh();
    return ret;
}

__asm__(".text\n"
        ".globl malloc\n"
        ".type malloc,@function\n"
        "malloc:\n"
        "  .cfi_startproc\n"
        "  mov (%rsp), %rax\n"
        "  lea 8(%rsp), %rcx\n"
        "  sub $40, %rsp\n"
        "  .cfi_adjust_cfa_offset 40\n"
        "  mov %rax, (%rsp)\n"
        "  mov %rcx, 8(%rsp)\n"
        "  mov %rbp, 16(%rsp)\n"
        "  mov %rsp, %rsi\n"
        "  call stacks_malloc\n"
        "  add $40, %rsp\n"
        "  .cfi_adjust_cfa_offset -40\n"
        "  ret\n"
        "  .cfi_endproc\n"
        ".size malloc, .-malloc\n");
_Static_assert(offsetof(UnwindContext, sp) == 8 && offsetof(UnwindContext, fp) == 16, "stub");
