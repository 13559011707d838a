// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * A regular expression of the user, or of a stranger who asks the server of `memhawk view`, on
 * function names and module paths: Perl-compatible (pcre2pattern(3)), case-sensitive unless it
 * says (?i), found anywhere in the name. Names are UTF-8; no expression spans bytes that are not.
 *
 * What it may cost is bounded: PCRE2 makes at most 64 KiB of code of it, a match may take
 * FILTER_HEAP_KIB and as much time as is left. One thread at a time for one Filter.
 */

enum {
    FILTER_BYTES_MAX = 500,
    FILTER_HEAP_KIB = 32 << 10,
};

typedef struct Filter Filter;

/* LIMIT_NS: CPU time of the calling thread from now on for all matches together; 0: any. -EINVAL:
 * RET_WHY ("" otherwise, always ended by 0) tells what is wrong and where; -ENOMEM. */
int filter_new(const char *text, uint64_t limit_ns, char *ret_why, size_t capacity,
               Filter **ret_filter);
void filter_free(Filter *filter);

/* 1: TEXT matches, 0: it does not; -ETIME: the time is over, or this text needs more steps or
 * memory than a match may take; -ENOMEM. */
int filter_match(Filter *filter, const char *text);
