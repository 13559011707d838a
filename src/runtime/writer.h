// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "runtime/stacks.h"

/*
 * Makes records and writes them to the profile's file: docs/FORMAT.md. Used by the collector's
 * thread (or, where there is none, by the thread that ends the process), one at a time.
 */
typedef enum SnapshotKind {
    SNAPSHOT_TICK,
    SNAPSHOT_PEAK,
    SNAPSHOT_LAST,
    SNAPSHOT_ASKED,
} SnapshotKind;

typedef enum EndReason {
    END_NONE,
    END_EXIT,
    END_UNDERSCORE_EXIT,
    END_QUICK_EXIT,
    END_EXEC,
    END_SIGNAL,
    END_ABORT,
} EndReason;

/* Absolute folder and short name for the file; from the thread that boots. */
void writer_prepare(const char *folder, const char *short_name);
/* Creates the file and writes the ProcessInfo record; negative errno. TAKEN_OVER: not NULL after
 * fork. */
int writer_open(const Sums *taken_over);
/* Sums up and writes one snapshot (two with a captured peak). SHARED_FDS: the file descriptor table
 * is the program's: make sure that the descriptor is still ours. */
void writer_snapshot(SnapshotKind kind, EndReason reason, int status);
/* Puts the frames of a stack into the file, if they are not there, with the snapshot that is being
 * made. For windows_encode(). */
void writer_define_stack(uint32_t id);
/* The main thread is a zombie, with that exit status, and only the collector is left beside it. */
bool writer_is_alone(int *ret_exit_code);
void writer_after_fork(void);
/* The file was opened in a descriptor table shared with the program. */
void writer_shares_descriptors(bool shared);
