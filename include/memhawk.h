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

/* ---- types -------------------------------------------------------------------------------- */

/* What a window counts: the calls of the thread that began it, or of all threads. */
enum memhawk_scope { MEMHAWK_THREAD = 0, MEMHAWK_PROCESS = 1 };

/* An open window. 0: none (no profiler, or refused); ending 0 is allowed and does nothing. */
typedef uint64_t memhawk_window;

/* Every count of a window that was not measured has this value, so that `== 0` cannot pass. */
#define MEMHAWK_NOT_MEASURED UINT64_MAX

struct memhawk_counts {
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
MEMHAWK_IMPORTED_ int memhawk_v1_window_stats(struct memhawk_counts *ret_stats);
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

/* ---- the API ------------------------------------------------------------------------------ */

/* 1 while the profiler is in the process and records; else 0 (absent, silent in this child of a
 * fork, or blind: the program brings a malloc of its own, and has announced no block either). Lets
 * a test decide: skip, or fail. Async-signal-safe. */
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
 * per thread and 16 process windows per process, 4096 in all.
 * Returns 0 without the profiler, for a NULL name or an unknown scope, and when there is no room or
 * the name is empty (these two are counted as losses in the profile). The cost of begin and end
 * lies outside the counts. Keep the result; no cleanup but the end.
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
 * profile). -ENOENT when it has not ended any, or the last one was 0; -ENODATA when the profiler is
 * blind, see memhawk_active(). On failure every field is MEMHAWK_NOT_MEASURED.
 */
static inline int memhawk_window_stats(struct memhawk_counts *ret_stats)
{
    int (*call)(struct memhawk_counts *);
    MEMHAWK_FIND_(call, memhawk_v1_window_stats);
    if (call)
        return call(ret_stats);
    ret_stats->allocations = ret_stats->bytes = MEMHAWK_NOT_MEASURED;
    ret_stats->frees = ret_stats->freed_bytes = MEMHAWK_NOT_MEASURED;
    ret_stats->temporary = ret_stats->peak_bytes = MEMHAWK_NOT_MEASURED;
    ret_stats->duration_ns = ret_stats->reserved = MEMHAWK_NOT_MEASURED;
    return -ENOSYS;
}

/* Puts a text with the time into the profile (cut at 255 bytes); views show it in their charts.
 * -EINVAL for NULL. */
static inline int memhawk_mark(const char *text)
{
    int (*call)(const char *);
    MEMHAWK_FIND_(call, memhawk_v1_mark);
    return call ? call(text) : -ENOSYS;
}

/*
 * From pause to resume, allocations of the calling thread are not counted, neither in the profile
 * nor in windows, and their release is not either; the release of blocks counted before is. Calls
 * nest; a child of fork begins unpaused. resume: -EINVAL when the thread is not paused.
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
 * come from mmap, or be taken between pause and resume, else it counts twice. Two live blocks
 * must start at least 16 bytes apart, else the later one ends the earlier. free of an unknown block
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

/* ---- assertions --------------------------------------------------------------------------------
 *
 *     MEMHAWK_EXPECT_ALLOCATIONS(0) { lookup(table, key); }           exactly 0
 *     MEMHAWK_EXPECT_AT_MOST(2) { insert(table, key); }               0, 1 or 2
 *
 * The block is a thread window named "FILE:LINE", so that the report can show the stacks at fault.
 * It is checked when the block is left, also by break, return or an exception.
 *
 * What a failure does is the harness' matter. Define, before this header is included,
 *   MEMHAWK_GTEST, MEMHAWK_CATCH2   for GoogleTest, Catch2 (implied when their header came first),
 *   MEMHAWK_EXPECT_FAILED(file, line, text)   for any other; it may throw or not return.
 * Default: one line on stderr, then abort().
 *
 * Without the profiler nothing can be asserted: the block runs and one line on stderr says so.
 * Define MEMHAWK_REQUIRED to make that a failure too (in CI, say), or ask memhawk_active() and
 * skip.
 */

#if defined(MEMHAWK_EXPECT_FAILED)
#elif defined(MEMHAWK_GTEST) || defined(ADD_FAILURE_AT)
#ifdef __cplusplus
} /* extern "C" */
#include <gtest/gtest.h>
extern "C" {
#endif
#define MEMHAWK_EXPECT_FAILED(file, line, text) ADD_FAILURE_AT(file, line) << text
#elif defined(CATCH_FAIL_CHECK)
#define MEMHAWK_EXPECT_FAILED(file, line, text)                                                    \
    CATCH_FAIL_CHECK(file << ":" << line << ": " << text)
#elif defined(MEMHAWK_CATCH2) || defined(FAIL_CHECK)
#if !defined(FAIL_CHECK)
#error "MEMHAWK_CATCH2: include Catch2's header (its name differs by version) before memhawk.h"
#endif
#define MEMHAWK_EXPECT_FAILED(file, line, text) FAIL_CHECK(file << ":" << line << ": " << text)
#else
#define MEMHAWK_EXPECT_FAILED(file, line, text)                                                    \
    (fprintf(stderr, "%s:%d: %s\n", file, line, text), abort())
#endif

struct memhawk_expectation_ {
    memhawk_window window;
    uint64_t allocations;
    const char *file;
    int line;
    int at_most;
    int open;
};

static inline struct memhawk_expectation_ memhawk_expect_begin_(const char *name, const char *file,
                                                                int line, uint64_t allocations,
                                                                int at_most)
{
    struct memhawk_expectation_ e;
    e.allocations = allocations;
    e.file = file;
    e.line = line;
    e.at_most = at_most;
    e.open = 1;
    e.window = memhawk_window_begin(name, MEMHAWK_THREAD);
    return e;
}

static inline void memhawk_expect_unmeasured_(const struct memhawk_expectation_ *e)
{
    const char *why = memhawk_active() ? "not measured: too many open windows"
                                       : "not measured: MemHawk is not in this process, or "
                                         "does not see its malloc";
#if defined(MEMHAWK_REQUIRED)
    MEMHAWK_EXPECT_FAILED(e->file, e->line, why);
#else
    fprintf(stderr, "%s:%d: %s\n", e->file, e->line, why);
#endif
}

/* Ends the window, once, and compares. */
static inline void memhawk_expect_end_(struct memhawk_expectation_ *e)
{
    struct memhawk_counts stats;
    unsigned long long allocations, bytes, expected = e->allocations;
    char text[512];
    int measured;

    if (!e->open)
        return;
    e->open = 0;
    measured = e->window != 0 && memhawk_window_end(e->window) == 0;
    if (!measured || memhawk_window_stats(&stats) != 0) {
        memhawk_expect_unmeasured_(e);
        return;
    }
    if (e->at_most ? stats.allocations <= e->allocations : stats.allocations == e->allocations)
        return;
    allocations = stats.allocations;
    bytes = stats.bytes;
    snprintf(text, sizeof text,
             "%llu allocation%s (%llu byte%s) here, expected %s%llu; stacks: memhawk report FILE "
             "--window '%s:%d'",
             allocations, allocations == 1 ? "" : "s", bytes, bytes == 1 ? "" : "s",
             e->at_most ? "at most " : "", expected, e->file, e->line);
    MEMHAWK_EXPECT_FAILED(e->file, e->line, text);
}

#define MEMHAWK_TEXT_(x)    #x
#define MEMHAWK_TEXT(x)     MEMHAWK_TEXT_(x)
#define MEMHAWK_JOIN_(a, b) a##b
#define MEMHAWK_JOIN(a, b)  MEMHAWK_JOIN_(a, b)
#define MEMHAWK_EXPECT_(n, at_most, e)                                                             \
    for (struct memhawk_expectation_ e __attribute__((cleanup(memhawk_expect_end_))) =             \
             memhawk_expect_begin_(__FILE__ ":" MEMHAWK_TEXT(__LINE__), __FILE__, __LINE__, n,     \
                                   at_most);                                                       \
         e.open; memhawk_expect_end_(&e))
#define MEMHAWK_EXPECT_ALLOCATIONS(n) MEMHAWK_EXPECT_(n, 0, MEMHAWK_JOIN(memhawk_e_, __COUNTER__))
#define MEMHAWK_EXPECT_AT_MOST(n)     MEMHAWK_EXPECT_(n, 1, MEMHAWK_JOIN(memhawk_e_, __COUNTER__))

#ifdef __cplusplus
} /* extern "C" */

namespace memhawk
{

/* A window for a scope: from the declaration to the end of the block, or to end(). */
class window
{
  public:
    explicit window(const char *name, memhawk_scope scope = MEMHAWK_THREAD)
        : handle_(memhawk_window_begin(name, scope))
    {
    }
    window(window &&other) noexcept : handle_(other.handle_)
    {
        other.handle_ = 0;
    }
    window(const window &) = delete;
    window &operator=(const window &) = delete;
    ~window()
    {
        if (handle_ != 0)
            memhawk_window_end(handle_);
    }

    /* Ends the window now and returns its counts; MEMHAWK_NOT_MEASURED in all without profiler. */
    struct memhawk_counts end()
    {
        struct memhawk_counts stats;
        memhawk_window_end(handle_);
        handle_ = 0;
        memhawk_window_stats(&stats);
        return stats;
    }

  private:
    memhawk_window handle_;
};

} // namespace memhawk
#endif

#if defined(__cplusplus) && defined(MEMHAWK_GOOGLE_BENCHMARK)
#include <benchmark/benchmark.h>

#include <string>

/*
 * Google Benchmark. Define MEMHAWK_GOOGLE_BENCHMARK before this header.
 *
 *     static void BM_parse(benchmark::State &state)
 *     {
 *         memhawk::benchmark_loop loop(state, "parse");
 *         for (auto _ : state) {
 *             auto iteration = loop.next();        // a window: from here to the end of the body
 *             parse(input);
 *         }
 *     }
 *     int main(...)
 *     {
 *         memhawk::benchmark_memory_manager manager;
 *         benchmark::RegisterMemoryManager(&manager);
 *         ...
 *
 * benchmark_loop puts allocs, alloc_bytes, temporary (each per iteration) into the harness' own
 * table; the memory manager puts allocs_per_iter and max_bytes_used into its JSON. Both count the
 * loop bodies only, not the harness. Without the profiler neither adds anything (0 in the JSON,
 * which the harness prints whenever a manager is registered: register it if memhawk_active()).
 */
namespace memhawk
{

/* Sums of the iterations that ended between Start and Stop, which run on one thread. */
struct benchmark_tally {
    bool collecting;
    uint64_t iterations, allocations, bytes, freed_bytes, peak_bytes;

    static benchmark_tally &get()
    {
        static benchmark_tally tally;
        return tally;
    }
    void add(const struct memhawk_counts &stats)
    {
        iterations++;
        allocations += stats.allocations;
        bytes += stats.bytes;
        freed_bytes += stats.freed_bytes;
        if (stats.peak_bytes > peak_bytes)
            peak_bytes = stats.peak_bytes;
    }
};

class benchmark_loop
{
  public:
    benchmark_loop(::benchmark::State &state, const std::string &name) : state_(state), name_(name)
    {
    }
    benchmark_loop(const benchmark_loop &) = delete;
    benchmark_loop &operator=(const benchmark_loop &) = delete;
    ~benchmark_loop()
    {
        if (!memhawk_active())
            return;
        put("allocs", allocations_);
        put("alloc_bytes", bytes_);
        put("temporary", temporary_);
    }

    class iteration
    {
      public:
        explicit iteration(benchmark_loop &loop) : loop_(&loop), window_(loop.name_.c_str())
        {
        }
        iteration(iteration &&other) noexcept
            : loop_(other.loop_), window_(static_cast<window &&>(other.window_))
        {
            other.loop_ = nullptr;
        }
        ~iteration()
        {
            if (loop_)
                loop_->add(window_.end());
        }

      private:
        benchmark_loop *loop_;
        window window_;
    };
    iteration next()
    {
        return iteration(*this);
    }

  private:
    void add(const struct memhawk_counts &stats)
    {
        if (stats.allocations == MEMHAWK_NOT_MEASURED)
            return;
        allocations_ += stats.allocations;
        bytes_ += stats.bytes;
        temporary_ += stats.temporary;
        if (benchmark_tally::get().collecting)
            benchmark_tally::get().add(stats);
    }
    void put(const char *name, uint64_t sum)
    {
        state_.counters[name] =
            ::benchmark::Counter(static_cast<double>(sum), ::benchmark::Counter::kAvgIterations);
    }

    ::benchmark::State &state_;
    const std::string name_;
    uint64_t allocations_ = 0, bytes_ = 0, temporary_ = 0;
};

/* Benchmarks without a benchmark_loop are measured from Start to Stop, which includes the harness'
 * own allocations for a run (window "google-benchmark" in the report shows them apart). */
class benchmark_memory_manager : public ::benchmark::MemoryManager
{
  public:
    void Start()
    {
        benchmark_tally::get() = benchmark_tally();
        benchmark_tally::get().collecting = true;
        window_ = memhawk_window_begin("google-benchmark", MEMHAWK_THREAD);
    }
    void Stop(Result &result)
    {
        memhawk_window_end(window_);
        benchmark_tally &tally = benchmark_tally::get();
        struct memhawk_counts whole;
        if (tally.iterations == 0 && memhawk_window_stats(&whole) == 0)
            tally.add(whole);
        tally.collecting = false;
        result.num_allocs = static_cast<int64_t>(tally.allocations);
        result.max_bytes_used = static_cast<int64_t>(tally.peak_bytes);
        result.total_allocated_bytes = static_cast<int64_t>(tally.bytes);
        result.net_heap_growth =
            static_cast<int64_t>(tally.bytes) - static_cast<int64_t>(tally.freed_bytes);
    }
    /* Google Benchmark before 1.8 wants it; later ones do not have it: hence no `override` here. */
    void Stop(Result *result)
    {
        Stop(*result);
    }

  private:
    memhawk_window window_ = 0;
};

} // namespace memhawk
#endif

#endif
