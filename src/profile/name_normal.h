// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stddef.h>

/*
 * Names made comparable between two builds of a program: what a compiler or a neighbour in the
 * source renumbers is taken out. Pure functions on text.
 */

/*
 * Copies a demangled function name without what two builds may differ in: names and parameters of
 * lambdas, and those of functions around local names; numbers of closures and unnamed types;
 * .constprop, .isra, .part, .cold, .llvm and [clone ...] suffixes; symbol versions; Rust's hashes;
 * ABI tags; blanks. Unknown forms stay as they are. ret_text needs strlen(name) + 1 bytes. Returns
 * the length.
 */
size_t name_normal_function(const char *name, char *ret_text);

/* The file name of a module without folder, version and " (deleted)": "libfoo.so" for
 * "/usr/lib/libfoo.so.1.2". ret_text needs strlen(path) + 1 bytes. */
size_t name_normal_module(const char *path, char *ret_text);
