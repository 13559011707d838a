// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/labels.h"

/*
 * The allocation site of a stack: the innermost frame that is not allocator plumbing (operator new,
 * std::allocator and its traits, Rust's alloc::alloc). An allocation through operator new is that
 * of its caller.
 */

/* Whether a demangled function name is plumbing. */
bool alloc_site_is_plumbing(const char *function);
/* How many frames at the leaf end are plumbing; less than depth, so that something is left (0 when
 * depth is 0). */
size_t alloc_site_skip(const Labels *labels, const uint32_t *path, size_t depth);
/* How many frames at the root end only start the program or a thread (_start, __libc_start_main,
 * start_thread, clone3); less than depth. */
size_t alloc_site_skip_start(const Labels *labels, const uint32_t *path, size_t depth);
