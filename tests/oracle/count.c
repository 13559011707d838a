// SPDX-License-Identifier: Apache-2.0
/*
 * The independent truth of the exactness tests: a preload that counts the malloc family, one call
 * after the other under one lock, in an exact table of live blocks. Right first, fast never.
 *
 * It shares nothing with src/runtime: no dlsym (glibc's __libc_* entry points serve the calls, so
 * calls before our constructor count like all others), one global hash table, and its counters
 * live in a shared mapping of the output file, so that exit, _exit, exec, abort and SIGKILL all
 * leave the last call's state behind without any hook.
 *
 * $ORACLE_PREFIX names the files: PREFIX.PID.N, one per process image (N counts images of one
 * pid), laid out as OracleFile. A fork is noticed by a page that the kernel wipes in the child: the
 * child then starts a file of its own with the inherited live blocks. A vfork child shares our
 * memory: our vfork marks the thread until the parent runs on (a depth: the child may vfork too),
 * and marked calls are not counted.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

typedef struct OracleFile { /* read by tests/e2e/harness.py */
    uint64_t magic;         /* "MHORACLE" */
    uint64_t pid, parent_pid;
    uint64_t alloc_count, alloc_bytes;
    uint64_t free_count, free_bytes;
    uint64_t live_count, live_bytes;
    uint64_t inherited_count, inherited_bytes;
    uint64_t temporary_count;
    uint64_t peak_bytes;
    uint64_t unknown_frees;
    char exe[128];
} OracleFile;

typedef struct Block {
    uintptr_t address; /* 0: empty */
    size_t size;
    const void *owner; /* thread that allocated it */
    uint64_t sequence; /* the owner's allocations up to this one */
} Block;

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void *__libc_valloc(size_t);
extern void *__libc_pvalloc(size_t);
extern void __libc_free(void *);
extern pid_t __fork(void);

static Block *slots; /* all below: under `locked` */
static unsigned slot_bits;
#define SLOT_COUNT ((size_t)1 << slot_bits)
static OracleFile *out;         /* NULL: no file, nothing to count into */
static OracleFile now;          /* private copy, mirrored to *out */
static volatile uint32_t *ours; /* wiped to 0 in a fork child */
static volatile int locked;     /* spin lock */
static __thread uint64_t sequence __attribute__((tls_model("initial-exec")));
static __thread bool forking __attribute__((tls_model("initial-exec"))); /* holds the lock */
/* Raised and lowered by vfork below, in assembly. */
__thread char oracle_in_vfork __attribute__((tls_model("initial-exec"), visibility("hidden")));

static void die(const char *what)
{
    syscall(SYS_write, 2, what, strlen(what));
    syscall(SYS_exit_group, 121);
}

static void take(void)
{
    while (__atomic_exchange_n(&locked, 1, __ATOMIC_ACQUIRE))
        sched_yield();
}

static void leave(void)
{
    __atomic_store_n(&locked, 0, __ATOMIC_RELEASE);
}

static char *append(char *at, const char *text)
{
    while (*text)
        *at++ = *text++;
    *at = 0;
    return at;
}

static char *append_number(char *at, uint64_t number)
{
    char digits[24];
    int n = 0;

    do
        digits[n++] = (char)('0' + number % 10);
    while ((number /= 10));
    while (n)
        *at++ = digits[--n];
    *at = 0;
    return at;
}

/* From the kernel's copy of the environment: calls of .preinit_array come before libc's is set. */
static const char *find_prefix(void)
{
    static char text[65536];
    static const char name[] = "ORACLE_PREFIX=";
    long size, fd = syscall(SYS_openat, AT_FDCWD, "/proc/self/environ", O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return NULL;
    size = syscall(SYS_read, fd, text, sizeof(text) - 1);
    syscall(SYS_close, fd);
    for (char *at = text; at < text + size; at += strlen(at) + 1)
        if (strncmp(at, name, sizeof(name) - 1) == 0)
            return at + sizeof(name) - 1;
    return NULL;
}

static void open_file(void)
{
    const char *prefix = find_prefix();
    char path[1024], *end;
    int fd = -1;

    out = NULL;
    now.magic = UINT64_C(0x454c4341524f484d);
    now.pid = (uint64_t)syscall(SYS_getpid);
    now.parent_pid = (uint64_t)syscall(SYS_getppid);
    memset(now.exe, 0, sizeof(now.exe));
    if (syscall(SYS_readlink, "/proc/self/exe", now.exe, sizeof(now.exe) - 1) < 0)
        now.exe[0] = '?';
    if (!prefix || strlen(prefix) > 900)
        return;
    end = append_number(append(append(path, prefix), "."), now.pid);
    for (unsigned i = 0; i < 10000 && fd < 0; i++) {
        append_number(append(end, "."), i);
        fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    if (fd < 0 || syscall(SYS_ftruncate, fd, 4096) != 0)
        die("oracle: can't make its file\n");
    out = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    syscall(SYS_close, fd);
    if (out == MAP_FAILED)
        die("oracle: can't map its file\n");
}

static void mark_ours(void)
{
    if (!ours) {
        void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (page == MAP_FAILED || madvise(page, 4096, MADV_WIPEONFORK) != 0)
            die("oracle: no page that is wiped on fork\n");
        ours = page;
    }
    *ours = 1;
}

static Block *new_slots(unsigned bits)
{
    void *ret = mmap(NULL, sizeof(Block) << bits, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (ret == MAP_FAILED)
        die("oracle: no memory for its table\n");
    return ret;
}

/* First call of a process image or of a fork child. */
static void start(void)
{
    uint64_t count = now.live_count, bytes = now.live_bytes;

    if (!slots) {
        slot_bits = 16;
        slots = new_slots(slot_bits);
    }
    mark_ours();
    sequence++; /* an inherited block is not this process' allocation, so never temporary */
    memset(&now, 0, sizeof(now));
    now.live_count = now.inherited_count = count;
    now.live_bytes = now.inherited_bytes = now.peak_bytes = bytes;
    open_file();
}

/* Takes the lock and makes sure that the counters are this process'. False: don't count. */
static bool enter(void)
{
    int saved = errno;

    if (oracle_in_vfork)
        return false;
    if (ours && !*ours && !forking)
        locked = 0; /* child of libc's own fork (daemon): alone */
    if (!forking)
        take();
    if (!ours || !*ours)
        start();
    errno = saved;
    return true;
}

static void done(void)
{
    if (out)
        memcpy(out, &now, sizeof(now));
    if (!forking)
        leave();
}

static size_t home_slot(uintptr_t address)
{
    return (size_t)((address >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> (64 - slot_bits));
}

static size_t next_slot(size_t slot)
{
    return (slot + 1) & (SLOT_COUNT - 1);
}

static size_t find_slot(uintptr_t address)
{
    size_t slot = home_slot(address);

    while (slots[slot].address && slots[slot].address != address)
        slot = next_slot(slot);
    return slot;
}

/* Linear probing without tombstones: moves later blocks of the run back into the hole. */
static void empty_slot(size_t hole)
{
    for (size_t i = next_slot(hole); slots[i].address; i = next_slot(i)) {
        size_t home = home_slot(slots[i].address);

        if (((i - home) & (SLOT_COUNT - 1)) >= ((i - hole) & (SLOT_COUNT - 1))) {
            slots[hole] = slots[i];
            hole = i;
        }
    }
    slots[hole].address = 0;
}

/* Forgets a block before it is really freed; false: unknown block. */
static bool block_take(void *pointer, Block *ret_block)
{
    size_t slot;

    if (!enter())
        return false;
    slot = find_slot((uintptr_t)pointer);
    if (!slots[slot].address) {
        now.unknown_frees++;
        done();
        return false;
    }
    *ret_block = slots[slot];
    empty_slot(slot);
    now.free_count++;
    now.free_bytes += ret_block->size;
    now.live_count--;
    now.live_bytes -= ret_block->size;
    if (ret_block->owner == &sequence && ret_block->sequence == sequence)
        now.temporary_count++;
    done();
    return true;
}

static void grow(void)
{
    Block *old = slots;
    size_t count = SLOT_COUNT;

    slots = new_slots(++slot_bits);
    for (size_t i = 0; i < count; i++)
        if (old[i].address)
            slots[find_slot(old[i].address)] = old[i];
    munmap(old, count * sizeof(Block));
}

static void block_put_raw(const Block *block)
{
    size_t slot = find_slot(block->address);

    if (slots[slot].address) { /* reused without a visible free: the old one is gone */
        now.live_count--;
        now.live_bytes -= slots[slot].size;
    }
    slots[slot] = *block;
    now.live_count++;
    now.live_bytes += block->size;
    if (now.live_count > SLOT_COUNT / 2)
        grow();
    if (now.live_bytes > now.peak_bytes)
        now.peak_bytes = now.live_bytes;
}

static void *block_put(void *pointer, size_t size)
{
    Block block = {(uintptr_t)pointer, size, &sequence, 0};

    if (!pointer || !enter())
        return pointer;
    block.sequence = ++sequence;
    block_put_raw(&block);
    now.alloc_count++;
    now.alloc_bytes += size;
    done();
    return pointer;
}

/* The real realloc failed: the block never went away. */
static void block_untake(const Block *block)
{
    if (!enter())
        return;
    block_put_raw(block);
    now.free_count--;
    now.free_bytes -= block->size;
    if (block->owner == &sequence && block->sequence == sequence)
        now.temporary_count--;
    done();
}

/* The exported names call no exported name: another preload may stand before us. */
static void *alloc(size_t size)
{
    return block_put(__libc_malloc(size), size);
}

static void *alloc_aligned(size_t alignment, size_t size)
{
    return block_put(__libc_memalign(alignment, size), size);
}

static void *change(void *pointer, size_t size)
{
    Block block;
    bool known;
    void *moved;

    if (!pointer)
        return alloc(size);
    known = block_take(pointer, &block);
    moved = __libc_realloc(pointer, size);
    if (moved)
        block_put(moved, size);
    else if (known && size != 0)
        block_untake(&block);
    return moved;
}

EXPORT void *malloc(size_t size)
{
    return alloc(size);
}

EXPORT void *calloc(size_t count, size_t size)
{
    return block_put(__libc_calloc(count, size), count * size);
}

EXPORT void free(void *pointer)
{
    Block block;

    if (!pointer)
        return;
    block_take(pointer, &block);
    __libc_free(pointer);
}

EXPORT void *realloc(void *pointer, size_t size)
{
    return change(pointer, size);
}

EXPORT void *reallocarray(void *pointer, size_t count, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return change(pointer, bytes);
}

EXPORT void *memalign(size_t alignment, size_t size)
{
    return alloc_aligned(alignment, size);
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
    return alloc_aligned(alignment, size);
}

EXPORT int posix_memalign(void **ret_pointer, size_t alignment, size_t size)
{
    void *pointer;

    if (alignment % sizeof(void *) != 0 || (alignment & (alignment - 1)) != 0 || alignment == 0)
        return EINVAL;
    pointer = alloc_aligned(alignment, size);
    if (!pointer)
        return ENOMEM;
    *ret_pointer = pointer;
    return 0;
}

EXPORT void *valloc(size_t size)
{
    return block_put(__libc_valloc(size), size);
}

EXPORT void *pvalloc(size_t size)
{
    return block_put(__libc_pvalloc(size), size);
}

/* The table must be whole in the child: nobody else may be inside while memory is copied, but
 * fork handlers of this thread may allocate. */
EXPORT pid_t fork(void)
{
    pid_t pid;

    if (!enter())
        return __fork();
    forking = true;
    pid = __fork();
    forking = false;
    leave();
    return pid;
}

/* As libc's: the return address travels in a register, since parent and child share the stack. */
EXPORT pid_t vfork(void);
__asm__(".text\n"
        ".globl vfork\n"
        ".type vfork,@function\n"
        "vfork:\n"
        "  mov oracle_in_vfork@gottpoff(%rip), %rsi\n"
        "  incb %fs:(%rsi)\n"
        "  pop %rdi\n"
        "  mov $58, %eax\n" /* SYS_vfork */
        "  syscall\n"
        "  push %rdi\n"
        "  test %eax, %eax\n"
        "  jz 1f\n"
        "  decb %fs:(%rsi)\n"
        "  test %eax, %eax\n"
        "  js 2f\n"
        "1: ret\n"
        "2: neg %eax\n"
        "  push %rax\n"
        "  call __errno_location@PLT\n"
        "  pop %rcx\n"
        "  mov %ecx, (%rax)\n"
        "  mov $-1, %eax\n"
        "  ret\n"
        ".size vfork, .-vfork\n");
_Static_assert(SYS_vfork == 58, "x86-64 only");
