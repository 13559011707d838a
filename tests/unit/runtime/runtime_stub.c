// SPDX-License-Identifier: Apache-2.0
/*
 * See runtime_stub.h. Stands in for runtime.c, windows.c and src/unwind, so that arena, stacks,
 * slots, thread and drain can be linked alone, with or without sanitizers.
 */
#include "runtime_stub.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/runtime.h"
#include "runtime/windows.h"

Runtime runtime;

uint64_t runtime_now_ns(void)
{
    return 1;
}

void windows_observe(uint32_t id, const Sums *before)
{
    (void)id;
    (void)before;
}

void windows_abandon(Thread *thread)
{
    thread->window_count = 0;
}

bool windows_process_open(void)
{
    return false;
}

size_t unwind_thread_bytes(unsigned max_depth)
{
    return (size_t)max_depth * 8;
}

void unwind_thread_init(UnwindThread *thread, unsigned max_depth, bool frame_pointers)
{
    (void)max_depth;
    (void)frame_pointers;
    memset((void *)thread, 1, 8);
}

const FrameWord *stub_frames;

FrameWord stub_frame(uint64_t hash, unsigned index)
{
    return FRAME_ADDRESS(hash * 31 + index * 4096);
}

size_t unwind_frames(const UnwindThread *thread, const UnwindWalk *walk, FrameWord *ret_frames)
{
    (void)thread;
    for (unsigned i = 0; i < walk->depth; i++)
        ret_frames[i] = stub_frames ? stub_frames[i] : stub_frame(walk->hash, i);
    return walk->depth;
}

UnwindWalk stub_walk(uint64_t hash, unsigned depth)
{
    return (UnwindWalk){.hash = hash, .depth = (uint16_t)depth};
}

void stub_start(void)
{
    runtime.config.unwind = CONFIG_UNWIND_NONE;
    runtime.glibc_malloc = true;
    assert_int_equal(stacks_init(), 0);
    assert_true(slots_init());
}
