// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/writer.h"

/* The ways in which a process, or its program, ends. */

/* Registers what quick_exit runs. From the constructor. */
void endings_start(void);
/* Writes the last snapshot, once for the process that records; nothing in a vfork child, a silent
 * process or a child of fork that has not allocated. Async-signal-safe. */
void endings_flush(EndReason reason, int status);
/* Status given to exit(); -1: not known, because main returned. */
int endings_exit_status(void);
