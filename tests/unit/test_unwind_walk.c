// SPDX-License-Identifier: Apache-2.0
/*
 * Walks against libunwind, frame by frame, in programs of many shapes (tests/unit/unwind/), and the
 * memo against walks made anew. See walk_probe.h for the comparison.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>

#include "unwind/internal.h"
#include "unwind/walk.h"
#include "unwind/walk_probe.h"

#define X(name) extern const WalkCases walk_cases_##name;
WALK_VARIANTS
#undef X
#define X(name) &walk_cases_##name,
static const WalkCases *const variants[] = {WALK_VARIANTS};
#undef X

int walk_throw(int rounds);
void nocfi_framed(void (*inner)(void));
void nocfi_unframed(void (*inner)(void));
void nocfi_wild(void (*inner)(void), uint64_t fp);

static void end_with_no_difference(long least_probes)
{
    long probes = probe_state->probes, differences = probe_state->differences;
    probe_end();
    assert_true(probes >= least_probes);
    assert_int_equal(differences, 0);
}

/* ---- shapes
 * -------------------------------------------------------------------------------------- */

static void shapes(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(variants); i++) {
        probe_begin(64, false);
        variants[i]->run();
        if (probe_state->differences)
            print_message("variant %s\n", variants[i]->name);
        end_with_no_difference(200);
    }
}

static void shallow_and_deep(void **state)
{
    (void)state;
    const unsigned depths[] = {1, 2, 5, 16, 256};
    for (size_t i = 0; i < ARRAY_SIZE(depths); i++) {
        probe_begin(depths[i], false);
        variants[0]->run();
        variants[2]->run();
        end_with_no_difference(400);
    }
}

static void exceptions(void **state)
{
    (void)state;
    probe_begin(64, false);
    assert_int_equal(walk_throw(1000), 1000);
    end_with_no_difference(1000);
}

/* ---- random paths: memo against walks anew
 * --------------------------------------------------------- */

static uint64_t random_next(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    return *seed ^= *seed << 17;
}

static void leaf_pair(void)
{
    for (volatile int i = 0; i < 2; i++) /* one call site */
        probe_walker_only();
}

static void random_walks(uint64_t seed, unsigned rounds)
{
    for (unsigned i = 0; i < rounds; i++) {
        uint64_t path = random_next(&seed);
        const WalkCases *cases = variants[path % ARRAY_SIZE(variants)];
        /* Few different paths, so that some repeat and many share their outer part. */
        uint64_t few = (path >> 8 & 7) | (path >> 11 & 1) << 40 | (path >> 12 & 3) << 18;
        cases->random_path(i % 2 ? few : path, (unsigned)(path >> 32) % 30, leaf_pair);
    }
}

static void random_paths(void **state)
{
    (void)state;
    const unsigned depths[] = {64, 12};
    for (size_t i = 0; i < ARRAY_SIZE(depths); i++) {
        probe_begin(depths[i], false);
        random_walks(88172645463325252u + i, 50000);
        UnwindStats stats;
        unwind_thread_stats(probe_state->warm, &stats);
        assert_true(stats.verified >= 50000);
        assert_true(i > 0 || stats.joined > 10000); /* at depth 12 most walks are cut */
        end_with_no_difference(100000);
    }
}

static void *random_thread(void *seed)
{
    probe_begin(64, false);
    random_walks((uint64_t)seed, 10000);
    variants[0]->run();
    long differences = probe_state->differences;
    probe_end();
    return (void *)differences;
}

static void threads(void **state)
{
    (void)state;
    pthread_t ids[4];
    for (uint64_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&ids[i], NULL, random_thread, (void *)(i * 77 + 1)), 0);
    for (int i = 0; i < 4; i++) {
        void *differences;
        pthread_join(ids[i], &differences);
        assert_null(differences);
    }
}

/* ---- signals
 * --------------------------------------------------------------------------------------- */

static Probe *handler_probe;
static volatile sig_atomic_t through_signal;

static void on_signal(int number)
{
    (void)number;
    Probe *outer = probe_state;
    probe_state = handler_probe;
    probe();
    through_signal += (probe_state->walk.flags & UNWIND_THROUGH_SIGNAL) != 0;
    probe_state = outer;
}

static void catch_signal(int number, int flags)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = flags | SA_RESTART};
    assert_int_equal(sigaction(number, &action, NULL), 0);
}

static void begin_handler(void)
{
    probe_begin(64, false);
    handler_probe = probe_state;
    through_signal = 0;
}

static void signal_once(int flags)
{
    begin_handler();
    catch_signal(SIGUSR1, flags);
    for (int i = 0; i < 10; i++)
        raise(SIGUSR1);
    assert_int_equal(through_signal, 10);
    end_with_no_difference(10);
}

static void signal_normal(void **state)
{
    (void)state;
    signal_once(0);
}

static void signal_altstack(void **state)
{
    (void)state;
    stack_t stack = {.ss_sp = probe_pages(1 << 17), .ss_size = 1 << 17};
    assert_int_equal(sigaltstack(&stack, NULL), 0);
    signal_once(SA_ONSTACK);
    stack.ss_flags = SS_DISABLE;
    sigaltstack(&stack, NULL);
}

static void raise_once(void)
{
    raise(SIGUSR1);
}

/* On a stack that lies above the one that the signal interrupts; frames there are found by rbp. */
static void *beside_altstack(void *altstack)
{
    stack_t stack = {.ss_sp = altstack, .ss_size = 1 << 17};
    begin_handler();
    sigaltstack(&stack, NULL);
    catch_signal(SIGUSR1, SA_ONSTACK);
    for (size_t i = 0; i < ARRAY_SIZE(variants); i++)
        variants[i]->random_path(i * 77777, 20, raise_once);
    stack.ss_flags = SS_DISABLE;
    sigaltstack(&stack, NULL);
    long seen = probe_state->differences ? -1 : probe_state->probes;
    probe_end();
    return (void *)seen;
}

static void signal_altstack_above(void **state)
{
    (void)state;
    enum { STACK = 1 << 18, GAP = 1 << 16 };
    char *memory = probe_pages(2 * STACK + GAP);
    pthread_attr_t attributes;
    pthread_t id;
    void *seen;
    mprotect(memory + STACK, GAP, PROT_NONE);
    pthread_attr_init(&attributes);
    assert_int_equal(pthread_attr_setstack(&attributes, memory, STACK), 0);
    assert_int_equal(pthread_create(&id, &attributes, beside_altstack, memory + STACK + GAP), 0);
    pthread_join(id, &seen);
    assert_int_equal((long)seen, ARRAY_SIZE(variants));
    munmap(memory, 2 * STACK + GAP);
}

static void sigprof(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(variants); i++) {
        begin_handler();
        catch_signal(SIGPROF, 0);
        struct itimerval timer = {{0, 1000}, {0, 1000}}, off = {{0, 0}, {0, 0}};
        setitimer(ITIMER_PROF, &timer, NULL);
        while (handler_probe->probes < 150)
            variants[i]->busy(1000);
        setitimer(ITIMER_PROF, &off, NULL);
        assert_int_equal(through_signal, handler_probe->probes);
        if (handler_probe->differences)
            print_message("variant %s\n", variants[i]->name);
        end_with_no_difference(150);
    }
}

/* ---- other stacks
 * ------------------------------------------------------------------------------------ */

static ucontext_t scheduler, fibers[2];

static void fiber_body(int number)
{
    for (int round = 0; round < 20; round++) {
        variants[2]->random_path((uint64_t)round * 77, 6, probe);
        probe();
        swapcontext(&fibers[number], &scheduler);
    }
}

static void fiber_switches(void **state)
{
    (void)state;
    enum { BYTES = 1 << 16 };
    probe_begin(64, false);
    for (int i = 0; i < 2; i++) {
        char *memory = mmap(NULL, BYTES + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        mprotect(memory + 4096, BYTES, PROT_READ | PROT_WRITE);
        getcontext(&fibers[i]);
        fibers[i].uc_stack.ss_sp = memory + 4096;
        fibers[i].uc_stack.ss_size = BYTES;
        fibers[i].uc_link = &scheduler;
        makecontext(&fibers[i], (void (*)(void))fiber_body, 1, i);
    }
    for (int round = 0; round < 40; round++) {
        swapcontext(&scheduler, &fibers[round % 2]);
        probe();
    }
    /* Three stacks, one look-up each. */
    assert_in_range(probe_state->warm->bounds.lookups, 3, 4);
    end_with_no_difference(120);
}

static __attribute__((noinline)) unsigned deep(unsigned depth)
{
    volatile char room[16];
    room[0] = 1;
    if (depth % 1000 == 0)
        probe();
    else if (depth % 10 == 0)
        probe_walker_only();
    return depth ? deep(depth - 1) + (unsigned)room[0] : 0;
}

static void recursion(void **state)
{
    (void)state;
    probe_begin(64, false);
    assert_int_equal(deep(50000), 50000);
    assert_int_equal(deep(100000), 100000);
    assert_true(probe_state->warm->bounds.lookups <= 2);
    end_with_no_difference(10000);
}

/* ---- code without tables
 * --------------------------------------------------------------------------- */

static __attribute__((noinline)) void take_frames(void)
{
    probe_walker_only();
    __asm__ volatile(""); /* no tail call */
}

/* By frame pointer through nocfi_framed, then by tables again to the bottom. */
static void missing_cfi_framed(void **state)
{
    (void)state;
    probe_begin(64, false);
    FrameWord here[PROBE_FRAMES];
    take_frames();
    size_t depth = probe_state->walk.depth;
    memcpy(here, probe_state->frames, sizeof(here));
    for (int i = 0; i < 3; i++) {
        nocfi_framed(take_frames);
        assert_int_equal(probe_state->walk.flags, UNWIND_BY_FRAME_POINTER);
        assert_int_equal(probe_state->walk.depth, depth + 1);
        assert_in_range(probe_state->frames[1], (uint64_t)nocfi_framed,
                        (uint64_t)nocfi_framed + 32);
        assert_in_range(probe_state->frames[2], here[1], here[1] + 1000); /* this function */
        assert_memory_equal(&probe_state->frames[3], &here[2], (depth - 2) * sizeof(*here));
    }
    end_with_no_difference(4);
}

static void missing_cfi_unframed(void **state)
{
    (void)state;
    probe_begin(64, false);
    for (int i = 0; i < 3; i++) {
        nocfi_unframed(take_frames);
        assert_int_equal(probe_state->walk.flags, UNWIND_ENDED_EARLY);
        assert_int_equal(probe_state->walk.depth, 2);
    }
    /* rbp at the stack's very end, past it, unaligned, at a frame with nonsense: no read goes
     * wrong. */
    uint64_t high = probe_state->warm->stack_high;
    const uint64_t wild[] = {high - 8,   high - 16, high, high + 64,           UINT64_MAX - 7,
                             UINT64_MAX, 0,         1,    (uint64_t)&high + 1, (uint64_t)&wild[0]};
    for (size_t i = 0; i < ARRAY_SIZE(wild); i++) {
        nocfi_wild(take_frames, wild[i]);
        assert_true(probe_state->walk.flags & UNWIND_ENDED_EARLY);
        assert_int_equal(probe_state->walk.depth, 2);
    }
    end_with_no_difference(13);
}

/* Code in no module at all, as a JIT compiler makes it. */
static void jit_code(void **state)
{
    (void)state;
    uint8_t *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(code, (const void *)nocfi_framed, 64);
    mprotect(code, 4096, PROT_READ | PROT_EXEC);
    probe_begin(64, false);
    ((void (*)(void (*)(void)))code)(take_frames);
    assert_int_equal(probe_state->walk.flags, UNWIND_BY_FRAME_POINTER);
    assert_in_range(probe_state->frames[1], (uint64_t)code, (uint64_t)code + 32);
    assert_true(probe_state->walk.depth > 4);
    end_with_no_difference(1);
    munmap(code, 4096);
}

/* rbp chains only. */
static void frame_pointer_mode(void **state)
{
    (void)state;
    probe_begin(64, false);
    FrameWord tables[PROBE_FRAMES];
    take_frames();
    memcpy(tables, probe_state->frames, sizeof(tables));
    probe_end();
    probe_begin(64, true);
    take_frames();
    assert_in_range(probe_state->frames[1], tables[1], tables[1] + 200);
    assert_true(probe_state->walk.depth >= 2);
    for (int i = 0; i < 100; i++)
        take_frames();
    UnwindStats stats;
    unwind_thread_stats(probe_state->warm, &stats);
    assert_true(stats.verified >= 98);
    end_with_no_difference(100);
}

/* ---- modules that come and go
 * ----------------------------------------------------------------------- */

static FrameWord through_plug(const char *name, uint64_t *ret_call)
{
    void *plug = dlopen(name, RTLD_NOW);
    assert_non_null(plug);
    unwind_modules_refresh();
    void (*call)(void (*)(void)) = (void (*)(void (*)(void)))dlsym(plug, "plug_call");
    call(probe);
    call(probe);
    *ret_call = (uint64_t)call;
    FrameWord word = probe_state->frames[0];
    const UnwindModule *module = unwind_module_find(word);
    if (!module || !strstr(module->path, "walk_plug"))
        word = 0;
    return word;
}

static void close_plug(const char *name)
{
    void *plug = dlopen(name, RTLD_NOW | RTLD_NOLOAD);
    dlclose(plug);
    dlclose(plug);
    unwind_modules_refresh();
}

static void another_module(void **state)
{
    (void)state;
    probe_begin(64, false);
    static const char first[] = WALK_PLUGS "/libwalk_plug1.so",
                      second[] = WALK_PLUGS "/libwalk_plug2.so";
    uint64_t call1, call2;
    for (int i = 0; i < 3; i++) {
        FrameWord word1 = through_plug(first, &call1);
        close_plug(first);
        FrameWord word2 = through_plug(second, &call2);
        close_plug(second);
        assert_true(word1 != 0 && word2 != 0);
        if (call1 == call2) /* the second took the first's place */
            assert_int_not_equal(FRAME_GENERATION(word1), FRAME_GENERATION(word2));
    }
    end_with_no_difference(12);
}

int main(void)
{
    if (unwind_init(probe_pages) < 0 || unwind_modules_refresh() < 0)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes),
        cmocka_unit_test(shallow_and_deep),
        cmocka_unit_test(exceptions),
        cmocka_unit_test(random_paths),
        cmocka_unit_test(threads),
        cmocka_unit_test(signal_normal),
        cmocka_unit_test(signal_altstack),
        cmocka_unit_test(signal_altstack_above),
        cmocka_unit_test(sigprof),
        cmocka_unit_test(fiber_switches),
        cmocka_unit_test(recursion),
        cmocka_unit_test(missing_cfi_framed),
        cmocka_unit_test(missing_cfi_unframed),
        cmocka_unit_test(jit_code),
        cmocka_unit_test(frame_pointer_mode),
        cmocka_unit_test(another_module),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
