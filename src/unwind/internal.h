// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/unwind.h"

/*
 * What modules.c, cfi.c and the walker share. Everything here is async-signal-safe and never takes
 * the loader's lock.
 */

/* Raised when a module went away: cached rules and remembered walks made before are worthless. */
extern _Atomic uint32_t unwind_epoch;

/* The loaded module whose span holds ADDRESS (a plain address, no frame word); NULL: none known.
 * Lock-free. */
const UnwindModule *unwind_module_at(uint64_t address);

/*
 * The walker met a pc in no known module: refreshes the table when that may help (the loader knows
 * the address; or, on glibc before 2.35, not more often than the rate limit). 1: look again; 0:
 * there is nothing; negative errno: could not look.
 */
int unwind_modules_unknown(uint64_t pc);

/* Zeroed pages from what unwind_init() was given, or NULL. */
void *unwind_pages(size_t bytes);

/* One line of /proc/self/maps. */
typedef struct MapsLine {
    uint64_t start, end, offset;
    uint64_t device, inode;
    bool readable, writable, executable;
    const char *path; /* in the iterator's buffer; "" when none; NUL-terminated */
} MapsLine;

enum { MAPS_BUFFER = 8192 };

typedef struct MapsIterator {
    int fd;
    size_t have, at;
    bool ended;
    char buffer[MAPS_BUFFER];
} MapsIterator;

/* 0 or negative errno; maps_close() in either case is allowed. */
int maps_open(MapsIterator *iterator);
bool maps_next(MapsIterator *iterator, MapsLine *ret_line);
void maps_close(MapsIterator *iterator);

/* Copies from this process' own memory, which may be unmapped meanwhile; false: not readable. */
bool unwind_read_safely(uint64_t address, void *into, size_t bytes);
