// SPDX-License-Identifier: Apache-2.0
#define UNW_LOCAL_ONLY
#include "walk_probe.h"

#include <libunwind.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "unwind/walk.h"

__thread Probe *probe_state;

void *probe_pages(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void probe_begin(unsigned depth, bool frame_pointers)
{
    probe_state = calloc(1, sizeof(Probe));
    probe_state->depth = depth;
    probe_state->warm = probe_pages(unwind_thread_bytes(depth));
    probe_state->anew = probe_pages(unwind_thread_bytes(depth));
    unwind_thread_init(probe_state->warm, depth, frame_pointers);
    unwind_thread_init(probe_state->anew, depth, frame_pointers);
}

void probe_end(void)
{
    munmap(probe_state->warm, unwind_thread_bytes(probe_state->depth));
    munmap(probe_state->anew, unwind_thread_bytes(probe_state->depth));
    free(probe_state);
    probe_state = NULL;
}

void probe_forget(UnwindThread *thread)
{
    memset(thread->cells, 0, sizeof(thread->cells));
    thread->last = NULL;
    thread->head = thread->tail = thread->lap_end = thread->log_begin;
}

static __attribute__((noinline)) size_t reference_frames(FrameWord *ret_frames, size_t limit)
{
    unw_context_t context;
    unw_cursor_t cursor;
    size_t depth = 0;
    unw_getcontext(&context);
    unw_init_local(&cursor, &context);
    for (int skip = 0; skip < 2; skip++) /* this function, the probe */
        if (unw_step(&cursor) <= 0)
            return 0;
    do {
        unw_word_t pc;
        if (depth == limit || unw_get_reg(&cursor, UNW_REG_IP, &pc) != 0 || pc == 0)
            break;
        /* libunwind says so at the interrupted frame, not at the trampoline. */
        ret_frames[depth++] = pc | (unw_is_signal_frame(&cursor) > 0 ? FRAME_EXACT : 0);
    } while (unw_step(&cursor) > 0);
    return depth;
}

static void print_frames(const char *title, const FrameWord *frames, size_t depth)
{
    fprintf(stderr, "%s:", title);
    for (size_t i = 0; i < depth; i++)
        fprintf(stderr, " %lx", (unsigned long)frames[i]);
    fputc('\n', stderr);
}

static bool walkers_agree(Probe *state, const UnwindContext *context)
{
    FrameWord anew[PROBE_FRAMES];
    UnwindWalk *walk = unwind_walk(state->warm, context);
    state->walk = *walk;
    size_t depth = unwind_frames(state->warm, walk, state->frames);
    probe_forget(state->anew);
    const UnwindWalk *other = unwind_walk(state->anew, context);
    bool agree = depth == walk->depth && other->hash == walk->hash && other->depth == walk->depth &&
                 other->flags == walk->flags && unwind_frames(state->anew, other, anew) == depth &&
                 memcmp(anew, state->frames, depth * sizeof(*anew)) == 0;
    state->probes++;
    if (!agree && state->differences++ < 5) {
        fprintf(stderr, "warm flags %x, anew %x\n", walk->flags, other->flags);
        print_frames("warm", state->frames, depth);
        print_frames("anew", anew, other->depth);
    }
    /* Tags stay with equal frames only. */
    if (walk->tag && walk->tag != walk->hash && state->differences++ < 5)
        fprintf(stderr, "stale tag\n");
    walk->tag = walk->hash;
    return agree;
}

#define CONTEXT                                                                                    \
    {                                                                                              \
        .pc = ((uint64_t *)__builtin_frame_address(0))[1],                                         \
        .sp = (uint64_t)__builtin_frame_address(0) + 16,                                           \
        .fp = ((uint64_t *)__builtin_frame_address(0))[0]                                          \
    }

__attribute__((noinline)) void probe_walker_only(void)
{
    UnwindContext context = CONTEXT;
    walkers_agree(probe_state, &context);
}

__attribute__((noinline)) void probe(void)
{
    Probe *state = probe_state;
    UnwindContext context = CONTEXT;
    walkers_agree(state, &context);
    FrameWord reference[PROBE_FRAMES + 1];
    size_t depth = reference_frames(reference, state->depth + 1);
    bool cut = depth > state->depth;
    depth = cut ? state->depth : depth;
    bool agree = depth == state->walk.depth &&
                 cut == ((state->walk.flags & UNWIND_DEPTH_CUT) != 0) &&
                 !(state->walk.flags & UNWIND_ENDED_EARLY);
    for (size_t i = 0; i < depth && agree; i++)
        agree = (state->frames[i] & ~(UINT64_C(0xff) << 56)) == reference[i];
    if (!agree && state->differences++ < 5) {
        fprintf(stderr, "flags %x\n", state->walk.flags);
        print_frames("walk", state->frames, state->walk.depth);
        print_frames("libunwind", reference, depth);
    }
}
