// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "format/wire.h"
#include "memhawk.h"
#include "runtime/recording.h"
#include "runtime/thread.h"

/*
 * Measurement windows (include/memhawk.h) inside the recorder.
 *
 * A window keeps, for each stack touched inside, the counters as they were before the first touch:
 * begin and end cost what was touched, not what is known. A thread window learns of first touches
 * through the thread's epoch, a process window through the drains.
 */

/* Opens a window; NULL: no room (counted as a loss). THREAD: the caller's state; it is not in a
 * hook. */
Window *window_begin(Thread *thread, const char *name, int scope);
/* Ends it: *ret_counts, and the iteration goes into the profile. 0, -EPERM, -EINVAL. */
int window_end(Thread *thread, uint64_t handle, struct memhawk_counts *ret_counts);
uint64_t window_handle(const Window *window);

/* From record_touch: SLOT changed by TOUCH, for the first time in this epoch. */
void window_note(Thread *thread, Slot *slot, const Touch *touch);
/* From record_push: the state's net live bytes reached LIVE; and its next threshold. */
void window_peak(Thread *thread, int64_t live);
int64_t window_push_above(const Thread *thread, int64_t band);

/* From the drain, drain_lock held: stack ID is about to get new sums; these are the old ones. */
void windows_observe(uint32_t id, const Sums *before);
/* From record_push: the global sum. */
void windows_process_peak(int64_t sum);
/* While a process window is open, before THREAD pushes and at its first touch of a stack: PENDING,
 * what it has not pushed, without what happens now, is older than windows that it did not know of
 * yet, and none of theirs. True when there were any. */
bool windows_process_settle(Thread *thread, int64_t pending);
/* True while a process window is open. */
bool windows_process_open(void);

/* The thread ends: what it left open is lost. */
void windows_abandon(Thread *thread);
void windows_after_fork(void);

/* ---- what ended, until it is written (window_table.c) ------------------------------------------
 */

typedef struct WindowRow {
    uint64_t stack_id; /* as wide as the rest: rows are compared as bytes */
    Touch values;      /* overhead unused */
} WindowRow;

typedef struct WindowDefinition WindowDefinition;

/* Definition of (name, scope), made when missing; NULL: no room. Counts one more begun iteration.
 */
WindowDefinition *window_table_begin(const char *name, int scope, uint32_t tid);
/* Adds one iteration; ROWS sorted by stack id. */
void window_table_add(WindowDefinition *definition, const WindowRow *rows, uint32_t count,
                      const struct memhawk_counts *counts, uint32_t tid);
int window_table_mark(const char *text, uint32_t tid);
/* Appends what is new to a Snapshot; stacks that rows need are defined through writer.h. Drain_lock
 * held. */
void windows_encode(WireBuffer *body);
void window_table_after_fork(void);
