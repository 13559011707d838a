// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"

/*
 * Figures as people read them. All write into the caller's buffer, always NUL-terminated, and
 * return it, so that they can stand inside a printf call. NUMBER_BYTES is enough for each of them.
 */

enum { NUMBER_BYTES = 48 };

/* "0 B", "1023 B", "12.3 MiB": one decimal from 1 KiB on, never "1024.0 KiB". */
const char *number_bytes(char buffer[NUMBER_BYTES], int64_t bytes);
/* "12,345,678" */
const char *number_count(char buffer[NUMBER_BYTES], int64_t count);
/* number_count() where it fits into `columns`, else "123.4 M" (thousands, not 1024). */
const char *number_count_short(char buffer[NUMBER_BYTES], int64_t count, unsigned columns);
/* "45.2 %" of the whole; "-" when the whole is 0. */
const char *number_percent(char buffer[NUMBER_BYTES], int64_t part, int64_t whole);
/* "3.21 s", "12 min 03 s", "2 h 05 min 10 s" */
const char *number_duration(char buffer[NUMBER_BYTES], uint64_t ns);

/* Whether a metric counts bytes (else it counts allocations). */
bool metric_is_bytes(Metric metric);
/* "live bytes" */
const char *metric_words(Metric metric);
/* The same of a window, where nothing is "ever". */
const char *metric_words_of_window(Metric metric);
/* Bytes or count, as the metric has it. */
const char *number_metric(char buffer[NUMBER_BYTES], Metric metric, int64_t value);
