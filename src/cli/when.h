// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdint.h>

/*
 * A moment as the user writes it: seconds since the start of the run ("2", "0.25"), or RFC 3339
 * ("2026-01-31T12:00:00.5Z", "2026-01-31 12:00:00+02:00"), or "start" and "end".
 * -EINVAL when it is neither. The result is ns on the wall clock; TIME_FIRST, TIME_LAST for the
 * words.
 */
int when_parse(const char *text, uint64_t start_ns, uint64_t *ret_time_ns);
/* True when the text is well-formed, for checks before a file is read. */
int when_check(const char *text);
