// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "runtime/stacks.h"
#include "runtime/thread.h"
#include "runtime/writer.h"

/*
 * The thread that writes snapshots. It is none of libc's threads: see collector.c. INHERITED: after
 * fork, else NULL. Returns when the file is there (or cannot be: then nothing is recorded to disk
 * and one line says so). Never called from a hook, but for the child of fork.
 */
void collector_start(const Sums *inherited);

/* Keeps the composition of the live heap as that of the peak. From a hook's slow path. */
void collector_capture(Thread *thread);

/* Has a snapshot written and waits for it: the last one with a reason, or one asked for (END_NONE;
 * at most timeout_ns, 0: for ever). False: not written. Async-signal-safe. */
bool collector_flush(EndReason reason, int status, uint64_t timeout_ns);

/* Waits, at most two seconds, until nothing that was asked for is outstanding. */
void collector_settle(void);

/* In the child of fork: the thread is not there. */
void collector_after_fork(void);
