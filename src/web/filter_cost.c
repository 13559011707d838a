// SPDX-License-Identifier: Apache-2.0
/*
 * What regcomp() makes of an expression grows by copies: "x{2,5}" is five of x, "x+" is "xx*", two
 * of it, and nested ones multiply, so that thirty nested "+" in a hundred characters take the
 * machine's memory, and a dozen stars of stars, copied, its time. The copies are counted here as
 * the parser would make them: one pass, a number per open group. Back references make regexec()
 * exponential and are not taken at all. No state.
 */
#include "web/filter_cost.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { FILTER_BYTES = 500, FILTER_COPIES = 1000 };

typedef struct CopyCount {
    unsigned long outer[FILTER_BYTES + 1]; /* of each open group: what stands before it */
    size_t depth;
    unsigned long sum, last; /* of the innermost group; of its last item */
    bool outer_loops[FILTER_BYTES + 1];
    bool loops, last_loops; /* whether something in it repeats without a bound */
} CopyCount;

static void add_item(CopyCount *count, unsigned long size)
{
    count->last = size;
    count->last_loops = false;
    count->sum += size;
}

static void repeat_last(CopyCount *count, unsigned long times)
{
    unsigned long capped = times < FILTER_COPIES + 1 ? times : FILTER_COPIES + 1;
    unsigned long size = count->last;
    if (capped < 2)
        return;
    count->sum += size * (capped - 1);
    count->last = size * capped;
}

/* Without an upper bound. Loops in loops are passed through in every order by regcomp(): minutes
 * for four of them, copied a hundred times, so they weigh more than their copies. */
static void loop_last(CopyCount *count, unsigned long times)
{
    if (count->last == 0)
        return;
    repeat_last(count, count->last_loops ? 8 * times : 2 * times);
    count->loops = count->last_loops = true;
}

static void close_group(CopyCount *count)
{
    unsigned long inner = count->sum;
    if (count->depth == 0) {
        add_item(count, 1); /* a character */
        return;
    }
    bool loops = count->loops;
    count->sum = count->outer[--count->depth];
    add_item(count, inner + 1);
    count->last_loops = loops;
    count->loops = loops || count->outer_loops[count->depth];
}

/* AT is a "{": bounds, or a character that stands for itself. "{2,5}" makes five copies, "{2,}" two
 * and a looping third. The last character of it. */
static const char *count_bounds(CopyCount *count, const char *at)
{
    const char *comma = at + 1 + strspn(at + 1, "0123456789");
    const char *end = *comma == ',' ? comma + 1 + strspn(comma + 1, "0123456789") : comma;
    unsigned long low = strtoul(at + 1, NULL, 10), high = low;
    if (*end != '}' || count->last == 0) { /* with nothing to repeat, its parts are characters */
        add_item(count, 1);
        return at;
    }
    if (*comma == ',')
        high = strtoul(comma + 1, NULL, 10);
    if (*comma == ',' && end == comma + 1)
        loop_last(count, low < FILTER_COPIES ? low + 1 : low);
    else
        repeat_last(count, low > high ? low : high);
    return end;
}

/* The last character of a bracket expression, or of the text where it has no end. */
static const char *bracket_end(const char *at)
{
    at++;
    at += *at == '^';
    at += *at == ']';
    for (; *at && *at != ']'; at++) {
        if (*at == '[' && at[1] && strchr(".:=", at[1])) {
            const char closing[] = {at[1], ']', 0}, *end = strstr(at + 2, closing);
            at = end ? end + 1 : at;
        }
    }
    return *at ? at : at - 1;
}

/* Counts the item at AT; its last character. */
static const char *count_item(CopyCount *count, const char *at)
{
    switch (*at) {
    case '(':
        count->outer_loops[count->depth] = count->loops;
        count->outer[count->depth++] = count->sum;
        count->sum = count->last = 0;
        count->loops = count->last_loops = false;
        return at;
    case ')':
        close_group(count);
        return at;
    case '|':
        count->last = 0;
        return at;
    case '*':
    case '+':
        loop_last(count, 1);
        return at;
    case '?':
        repeat_last(count, 2);
        return at;
    case '{':
        return count_bounds(count, at);
    case '[':
        add_item(count, 1);
        return bracket_end(at);
    }
    add_item(count, 1);
    return *at == '\\' && at[1] ? at + 1 : at;
}

const char *filter_too_dear(const char *filter)
{
    CopyCount count = {0};
    if (strlen(filter) > FILTER_BYTES)
        return "is too long";
    for (const char *at = filter; *at; at++) {
        if (*at == '\\' && at[1] >= '1' && at[1] <= '9')
            return "back references are not taken";
        at = count_item(&count, at);
        if (count.sum > FILTER_COPIES)
            return "has too many repetitions";
    }
    return NULL;
}
