// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stddef.h>

#include "base/bits.h"
#include "unwind/unwind.h"

/*
 * Where a hook goes when thread_current is NULL: the first call of a process or thread, a call from
 * a signal handler that interrupted a hook, a paused thread, a child of fork or vfork, a silent
 * process. Same contracts as the functions of libc that they stand for.
 */
COLD void *slow_malloc(size_t size, const UnwindContext *context);
COLD void *slow_calloc(size_t count, size_t size, const UnwindContext *context);
COLD void *slow_realloc(void *block, size_t size, const UnwindContext *context);
COLD void slow_free(void *block);

/* For hooks without a fast path of their own: records BLOCK (not NULL) after the real call. */
COLD void slow_record_alloc(void *block, size_t size, const UnwindContext *context);

/* Gives the calling thread its state if it has none yet. */
void slow_adopt(void);

/* Boots if needed, so that `real` is filled. */
COLD void slow_boot(void);
