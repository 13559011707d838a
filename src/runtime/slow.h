// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"
#include "runtime/recording.h"

/*
 * Where a hook goes when the fast path does not apply: what is rare for a block or stack, the first
 * call of a process or thread, a call from a signal handler that interrupted a hook, a paused
 * thread, a child of fork or vfork, a silent process, another allocator than glibc's.
 */

/* Records BLOCK (NULL: nothing) after the real allocation and returns it. PC, SP, FP: the caller's.
 */
__attribute__((noinline)) void *slow_record_alloc(void *block, size_t size, uint64_t pc,
                                                  uint64_t sp, uint64_t fp);
/* Records the release of a block that was taken out of the live map (nothing when not known). */
__attribute__((noinline)) void slow_record_free(const void *block, const Taken *taken);
/* The whole of free and of realloc. */
__attribute__((noinline)) void slow_free(void *block, uint64_t pc);
__attribute__((noinline)) void *slow_realloc(void *block, size_t size, uint64_t pc, uint64_t sp,
                                             uint64_t fp);

/* Gives the calling thread its state if it has none yet. */
COLD void slow_adopt(void);
/* Boots if needed, so that `real` is filled. */
COLD void slow_boot(void);
