// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/writer.h"

/* The ways in which a process, or its program, ends. */

/* Registers what quick_exit runs. From the constructor. */
void endings_start(void);
/* Writes the last snapshot, once for the process that records; nothing in a vfork child, a silent
 * process or a child of fork that has not allocated. Async-signal-safe. */
void endings_flush(EndReason reason, int status);
/* In the child of fork: it has not ended, whatever its parent was doing. */
void endings_after_fork(void);
/* From our destructor: the last snapshot is to be written when all others have run. */
void endings_at_destruction(void);
