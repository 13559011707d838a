// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/symbol.h"

/*
 * The program of tests/programs/symbol/ in all its shapes, and what is independently known about
 * it: the marks it prints itself, and what binutils say. Failures end the test.
 */

/* Builds the shapes in a new folder (or takes $MEMHAWK_SHAPES, made before by build-shapes). */
const char *shapes_begin(void);
void shapes_end(void);
/* "FOLDER/SHAPE/NAME", in a rotating buffer. */
const char *shapes_path(const char *shape, const char *name);
bool shapes_has(const char *shape);
/* Output of a shell command made from FORMAT, malloc'd; fails when it fails. */
char *shapes_run(const char *format, ...) __attribute__((format(printf, 1, 2)));

typedef struct Mark {
    uint64_t pc;
    uint32_t line;
    char file[256], function[1024];
} Mark;
/* Runs the program; returns how many marks, at most CAPACITY. */
size_t shapes_marks(const char *shape, Mark *ret_marks, size_t capacity);

/* Opens a symbolizer without disk cache, DEBUG_DIR may be NULL. */
Symbolizer *shapes_symbolizer(const char *sysroot, const char *debug_dir);
/* Resolves by path alone, or with the file's own build-id when WITH_ID. */
int shapes_resolve(Symbolizer *s, const char *path, bool with_id, uint64_t pc,
                   const SymbolFrame **ret_frames);
SymbolSource shapes_source(Symbolizer *s, const char *path);
