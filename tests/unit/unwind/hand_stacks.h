// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdint.h>

#include "unwind/unwind.h"

/*
 * Stacks laid out by hand, and walks of them that are checked. A test calls probe_begin() first.
 */

/* Return addresses in code that is never run; its tables tell how to step from them: CFA = rsp + 16
 * with rbp saved, rbp + 16, rsp + 32, none. */
extern char memo_saver_return[], memo_framed_return[], memo_wide_return[], memo_outer_return[];
/* CFA = rsp + 16 with rbx saved, and rbx + 16. */
extern char memo_rbx_saver_return[], memo_by_rbx_return[];

uint64_t random_next(uint64_t *seed);

/* One walk by a thread that remembers, checked against one that does not. */
const UnwindWalk *walk_checked(const UnwindContext *context);
/* So many walks were found again. */
uint64_t verified_walks(void);

/* A walk of eight frames; which of them are the wide ones tells NUMBER, below 128. */
UnwindContext numbered_stack(volatile uint64_t *stack, unsigned number);
/* CALLERS walks from number FIRST at each of PLACES (pc, sp), in turn; returns how many of them
 * were remembered. */
uint64_t numbered_round(unsigned places, unsigned first, unsigned callers);
