// SPDX-License-Identifier: Apache-2.0
/*
 * Filters by PCRE2. glibc's regcomp() and regexec() did this before: an expression of a dozen bytes
 * could take minutes and gigabytes there, before any limit could be looked at. PCRE2 bounds what it
 * compiles to, and calls us at each item that it tries, which is where the clock is read.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "export/filter.h"

#include <errno.h>
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

enum {
    NEST_MAX = 100,          /* parentheses in parentheses: compiling recurses */
    STEPS_PER_LOOK = 1 << 10 /* between two looks at the clock */
};

struct Filter {
    pcre2_code *code;
    pcre2_match_data *data;
    pcre2_match_context *context;
    uint64_t end_ns; /* CPU time of this thread; 0: none */
    uint32_t steps;
};

static int look(Filter *filter)
{
    return filter->end_ns && clock_ns(CLOCK_THREAD_CPUTIME_ID) > filter->end_ns ? -ETIME : 0;
}

static int on_step(pcre2_callout_block *block, void *context)
{
    Filter *filter = context;
    (void)block;
    if (++filter->steps % STEPS_PER_LOOK != 0 || look(filter) == 0)
        return 0;
    return PCRE2_ERROR_CALLOUT;
}

static void explain(int code, size_t offset, char *ret_why, size_t capacity)
{
    PCRE2_UCHAR text[160] = "";
    if (pcre2_get_error_message(code, text, sizeof(text)) < 0 && text[0] == '\0')
        snprintf((char *)text, sizeof(text), "is no regular expression");
    snprintf(ret_why, capacity, "%s (at byte %zu)", (const char *)text, offset);
}

static int compile(const char *text, char *ret_why, size_t capacity, pcre2_code **ret_code)
{
    int code;
    size_t offset;
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    if (!context)
        return -ENOMEM;
    pcre2_set_max_pattern_length(context, FILTER_BYTES_MAX);
    pcre2_set_parens_nest_limit(context, NEST_MAX);
    *ret_code = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED,
                              PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C |
                                  PCRE2_AUTO_CALLOUT,
                              &code, &offset, context);
    pcre2_compile_context_free(context);
    if (*ret_code)
        return 0;
    if (code == PCRE2_ERROR_HEAP_FAILED)
        return -ENOMEM;
    explain(code, offset, ret_why, capacity);
    return -EINVAL;
}

int filter_new(const char *text, uint64_t limit_ns, char *ret_why, size_t capacity,
               Filter **ret_filter)
{
    if (capacity)
        ret_why[0] = '\0';
    Filter *filter = calloc(1, sizeof(*filter));
    if (!filter)
        return -ENOMEM;
    int r = compile(text, ret_why, capacity, &filter->code);
    if (r == 0) {
        filter->data = pcre2_match_data_create(1, NULL);
        filter->context = pcre2_match_context_create(NULL);
        r = filter->data && filter->context ? 0 : -ENOMEM;
    }
    if (r < 0) {
        filter_free(filter);
        return r;
    }
    pcre2_set_heap_limit(filter->context, FILTER_HEAP_KIB);
    pcre2_set_callout(filter->context, on_step, filter);
    if (limit_ns)
        filter->end_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) + limit_ns;
    *ret_filter = filter;
    return 0;
}

void filter_free(Filter *filter)
{
    if (!filter)
        return;
    pcre2_match_context_free(filter->context);
    pcre2_match_data_free(filter->data);
    pcre2_code_free(filter->code);
    free(filter);
}

int filter_match(Filter *filter, const char *text)
{
    /* Many short names make few steps each: the time is looked at across them, too. */
    if (++filter->steps % STEPS_PER_LOOK == 0 && look(filter) < 0)
        return -ETIME;
    int r = pcre2_match(filter->code, (PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED, 0, 0, filter->data,
                        filter->context);
    if (r >= 0)
        return 1;
    switch (r) {
    case PCRE2_ERROR_NOMATCH:
        return 0;
    case PCRE2_ERROR_NOMEMORY:
        return -ENOMEM;
    default: /* the clock, or a limit of one match */
        return -ETIME;
    }
}
