// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/stacks.h"
#include "unwind/unwind.h"

/*
 * What the recorder's parts need around them in a unit test: the shared state of the runtime, and a
 * stand-in for the unwinder whose frames follow from the hash. No hooks: the test's own malloc is
 * libc's.
 */

/* Frame INDEX of the made-up stack with that hash. */
FrameWord stub_frame(uint64_t hash, unsigned index);
/* When set, the frames of all walks instead. */
extern const FrameWord *stub_frames;
/* A walk as unwind_walk() would give it. */
UnwindWalk stub_walk(uint64_t hash, unsigned depth);
/* stacks_init and slots_init, with states that do not unwind; fails the test otherwise. */
void stub_start(void);
