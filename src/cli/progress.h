// SPDX-License-Identifier: Apache-2.0
#pragma once

/*
 * A line on the terminal while a long call runs: "memhawk: WHAT ... 3 s", from the second second on
 * and only when stderr is a terminal; wiped at the end.
 */

typedef struct Progress Progress;

/* WHAT is borrowed. NULL when there is nothing to do; that is fine for progress_end(). */
Progress *progress_begin(const char *what);
void progress_end(Progress *progress);
