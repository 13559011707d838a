// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * All memory of the recorder: anonymous mappings, never the program's heap. Counted per kind (the
 * sum is Snapshot.ownBytes). Lock-free, async-signal-safe, errno untouched. NULL when the kernel
 * gives no more: callers count a loss and go on.
 */
typedef enum ArenaKind {
    ARENA_THREADS, /* counters, id tables, unwinder state */
    ARENA_STACKS,  /* stack records, frames, the hash table */
    ARENA_OUTPUT,  /* buffers of the writer */
    ARENA_WINDOWS,
    ARENA_KINDS,
} ArenaKind;

/* Zeroed, 16-byte aligned; from a shared chunk, not returnable. */
void *arena_take(ArenaKind kind, size_t bytes);
/* Whole pages, zeroed, returnable. */
void *arena_map(ArenaKind kind, size_t bytes);
/* The same, with all pages resident at once: for what will soon be filled. */
void *arena_map_filled(ArenaKind kind, size_t bytes);
void arena_unmap(ArenaKind kind, void *memory, size_t bytes);
/* For unwind_init(). */
void *arena_for_unwinder(size_t bytes);

uint64_t arena_bytes(void);
/* Counts memory that was mapped elsewhere. */
void arena_count(ArenaKind kind, size_t bytes);

/* Tests: the Nth call from now on that would map memory fails, once (0: off). */
void arena_fail_at(unsigned nth);
