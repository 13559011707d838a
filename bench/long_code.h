// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "format/wire.h"

/*
 * The code side of a generated profile: two real modules (this program and libc, so that names
 * resolve), their functions, and stacks through them that branch as those of a real program do.
 * Everything depends on the seed and on the two files only. Fails by ending the program.
 */

enum { CODE_DEPTH_MAX = 40 };

/* One 64-bit random number; *STATE is never 0. */
uint64_t code_random(uint64_t *state);

void code_load(uint64_t seed);

/* Makes STACKS different stacks, numbered from 0; those of a low number are met first. */
void code_make_stacks(uint32_t stacks);

/* Writes both modules as ElfInfo, seen at TIME_NS. */
void code_put_modules(WireBuffer *into, uint64_t time_ns);
/* Defines a stack (traceId is its number + 1) and those of its frames that are new. */
void code_put_stack(WireBuffer *into, uint32_t stack);

size_t code_frame_count(void); /* defined so far */
