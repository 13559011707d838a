// SPDX-License-Identifier: Apache-2.0
/*
 * memhawk.h: measurement windows, marks and assertions for programs that run under MemHawk.
 *
 * C99 and C++11, header only, nothing to link. The functions live in libmemhawk.so, which is in the
 * process only when the profiler runs (LD_PRELOAD, `memhawk run`, or linked). Without it each call
 * costs one load and one compare and does nothing; so the calls may stay in release builds.
 *
 *     memhawk_window w = memhawk_window_begin("parse", MEMHAWK_THREAD);
 *     parse(input);
 *     memhawk_window_end(w);
 *
 *     $ memhawk run -- ./bench && memhawk report memhawk_bench_*.binpb --window parse
 *
 * Common to all functions: none allocates from the heap of the program, none changes errno, none
 * throws, all are safe from any thread. Sizes are bytes as requested, times are nanoseconds. Texts
 * are UTF-8, zero-terminated, copied before the call returns, and stay the caller's. Results that
 * are int are 0 or a negative errno value; -ENOSYS always means "no profiler in this process".
 * Not for signal handlers, except memhawk_active().
 *
 * A foreign language that cannot include this header looks the functions memhawk_v1_* up by name
 * (dlsym, ctypes): same parameters and meaning, and the names are kept as long as there is a
 * libmemhawk.so. docs/WINDOWS.md is the guide, with examples for eight languages and harnesses.
 */
#ifndef MEMHAWK_H
#define MEMHAWK_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- types ---------------------------------------------------------------------------------- */

/* What a window counts: the calls of the thread that began it, or of all threads. */
enum memhawk_scope { MEMHAWK_THREAD = 0, MEMHAWK_PROCESS = 1 };

/* An open window. 0: none (no profiler, or refused); ending 0 is allowed and does nothing. */
typedef uint64_t memhawk_window;

/* Every count of a window that was not measured has this value, so that `== 0` cannot pass. */
#define MEMHAWK_NOT_MEASURED UINT64_MAX

struct memhawk_window_stats {
    uint64_t allocations; /* calls that returned a block, realloc included */
    uint64_t bytes;       /* requested by them */
    uint64_t frees;       /* blocks released inside, also such that are older than the window */
    uint64_t freed_bytes; /* their requested sizes */
    uint64_t temporary;   /* blocks freed by their thread with no allocation of it in between */
    uint64_t peak_bytes;  /* highest growth of the live bytes above their value at the begin */
    uint64_t duration_ns; /* begin to end, on CLOCK_MONOTONIC */
    uint64_t reserved;    /* 0 */
};

/* ---- the functions of libmemhawk.so, for look-up by name --------------------------------------
 * Do not call these from C or C++: use the functions without v1 below, which check first. */

#if defined(MEMHAWK_RUNTIME)
#define MEMHAWK_IMPORTED_ __attribute__((visibility("default")))
#elif defined(__ELF__) && defined(__GNUC__)
#define MEMHAWK_IMPORTED_ __attribute__((weak))
#else
#define MEMHAWK_IMPORTED_
#endif

MEMHAWK_IMPORTED_ int memhawk_v1_active(void);
MEMHAWK_IMPORTED_ memhawk_window memhawk_v1_window_begin(const char *name, int scope);
MEMHAWK_IMPORTED_ int memhawk_v1_window_end(memhawk_window window);
MEMHAWK_IMPORTED_ int memhawk_v1_window_stats(struct memhawk_window_stats *ret_stats);
MEMHAWK_IMPORTED_ int memhawk_v1_mark(const char *text);
MEMHAWK_IMPORTED_ int memhawk_v1_pause(void);
MEMHAWK_IMPORTED_ int memhawk_v1_resume(void);
MEMHAWK_IMPORTED_ int memhawk_v1_snapshot(void);
MEMHAWK_IMPORTED_ int memhawk_v1_alloc(const void *ptr, size_t size);
MEMHAWK_IMPORTED_ int memhawk_v1_free(const void *ptr);

/*
 * MEMHAWK_FIND_(call, name) sets the function pointer `call` to the function, or to NULL. Through
 * the GOT by hand: where code is not position independent, a compiler refers to a weak function by
 * an absolute address, which the linker then fixes to 0 for good, and the preloaded library would
 * never be found. Define MEMHAWK_NO_ASM to use plain weak references (fine for PIE and libraries).
 */
#if !defined(__ELF__) || !defined(__GNUC__)
#define MEMHAWK_FIND_(call, name) ((call) = NULL)
#elif defined(__x86_64__) && defined(__LP64__) && !defined(MEMHAWK_NO_ASM)
#define MEMHAWK_FIND_(call, name)                                                                  \
    __asm__(".weak " #name "\n\t"                                                                  \
            "{movq\t" #name "@GOTPCREL(%%rip), %0|mov\t%0, QWORD PTR " #name "@GOTPCREL[rip]}"     \
            : "=r"(call))
#elif defined(__aarch64__) && defined(__LP64__) && !defined(MEMHAWK_NO_ASM)
#define MEMHAWK_FIND_(call, name)                                                                  \
    __asm__(".weak " #name "\n\tadrp\t%0, :got:" #name "\n\tldr\t%0, [%0, :got_lo12:" #name "]"    \
            : "=r"(call))
#else
#define MEMHAWK_FIND_(call, name) ((call) = &(name))
#endif

/* ---- the API --------------------------------------------------------------------------------- */

/* 1 while the profiler is in the process and records; else 0 (absent, or silent in this child of a
 * fork). Lets a test decide: skip, or fail. Async-signal-safe. */
static inline int memhawk_active(void)
{
    int (*call)(void);
    MEMHAWK_FIND_(call, memhawk_v1_active);
    return call ? call() : 0;
}

/*
 * Begins a window. Windows with the same name and scope are repetitions (iterations) of one; the
 * name is 1 to 255 bytes, longer ones are cut. Windows nest; an allocation counts in every window
 * that is open around it. They need not end in reverse order. At most 16 thread windows are open
 * per thread and 16 process windows per process.
 * Returns 0 without the profiler, and when it has no room (then counted as a loss in the profile).
 * The cost of begin and end lies outside the counts. Keep the result; no cleanup but the end.
 */
static inline memhawk_window memhawk_window_begin(const char *name, int scope)
{
    memhawk_window (*call)(const char *, int);
    MEMHAWK_FIND_(call, memhawk_v1_window_begin);
    return call ? call(name, scope) : 0;
}

/*
 * Ends a window: one iteration is complete. A thread window must end on the thread that began it
 * (else -EPERM, and it stays open); a process window on any. -EINVAL: not an open window (ended
 * twice). A window still open when the process ends is in the profile as unfinished.
 */
static inline int memhawk_window_end(memhawk_window window)
{
    int (*call)(memhawk_window);
    MEMHAWK_FIND_(call, memhawk_v1_window_end);
    return call ? call(window) : -ENOSYS;
}

/*
 * The counts of the window that the calling thread ended last (the very figures that go into the
 * profile). -ENOENT when it has not ended any, or the last one was 0. On failure every field is
 * MEMHAWK_NOT_MEASURED.
 */
static inline int memhawk_window_stats(struct memhawk_window_stats *ret_stats)
{
    int (*call)(struct memhawk_window_stats *);
    MEMHAWK_FIND_(call, memhawk_v1_window_stats);
    if (call)
        return call(ret_stats);
    ret_stats->allocations = ret_stats->bytes = MEMHAWK_NOT_MEASURED;
    ret_stats->frees = ret_stats->freed_bytes = MEMHAWK_NOT_MEASURED;
    ret_stats->temporary = ret_stats->peak_bytes = MEMHAWK_NOT_MEASURED;
    ret_stats->duration_ns = ret_stats->reserved = MEMHAWK_NOT_MEASURED;
    return -ENOSYS;
}

/* Puts a text with the time into the profile (cut at 255 bytes); views show it in their charts. */
static inline int memhawk_mark(const char *text)
{
    int (*call)(const char *);
    MEMHAWK_FIND_(call, memhawk_v1_mark);
    return call ? call(text) : -ENOSYS;
}

/*
 * From pause to resume, allocations of the calling thread are not counted, neither in the profile
 * nor in windows, and their release is not either; the release of blocks counted before is. Calls
 * nest. resume: -EINVAL when the thread is not paused.
 */
static inline int memhawk_pause(void)
{
    int (*call)(void);
    MEMHAWK_FIND_(call, memhawk_v1_pause);
    return call ? call() : -ENOSYS;
}

static inline int memhawk_resume(void)
{
    int (*call)(void);
    MEMHAWK_FIND_(call, memhawk_v1_resume);
    return call ? call() : -ENOSYS;
}

/* Asks for a snapshot now and waits until it is written, at most a second (-ETIMEDOUT). */
static inline int memhawk_snapshot(void)
{
    int (*call)(void);
    MEMHAWK_FIND_(call, memhawk_v1_snapshot);
    return call ? call() : -ENOSYS;
}

/*
 * For allocators of one's own: announces a block of `size` bytes at `ptr`, at the caller's stack,
 * and its release. Counted like malloc and free, so the memory that the allocator cuts up should
 * come from mmap, or be taken between pause and resume, else it counts twice. Two live blocks must
 * not start within the same 32 bytes: the later one replaces the earlier. free of an unknown block
 * does nothing. Announce a block after it is taken, its release before it is given back.
 */
static inline int memhawk_alloc(const void *ptr, size_t size)
{
    int (*call)(const void *, size_t);
    MEMHAWK_FIND_(call, memhawk_v1_alloc);
    return call ? call(ptr, size) : -ENOSYS;
}

static inline int memhawk_free(const void *ptr)
{
    int (*call)(const void *);
    MEMHAWK_FIND_(call, memhawk_v1_free);
    return call ? call(ptr) : -ENOSYS;
}

#ifdef __cplusplus
}
#endif

#endif
