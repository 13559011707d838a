// SPDX-License-Identifier: Apache-2.0
/*
 * Stack bounds: see bounds.h. A thread remembers its last eight stacks (its own, its signal stack,
 * fibers it switches between), latest first, and reads /proc/self/maps only for a new one. The main
 * stack grows downwards: a stack pointer between the old low end and the mapping below can only
 * be the same stack, grown, so no new look-up is needed at every deeper call.
 *
 * Tolerated race: a stack that was unmapped and another, smaller one mapped at its place keeps the
 * old end. The walk then reads past the new end only if a return address on the new stack leads
 * there, which sound unwind tables do not do. One thread at a time per state; async-signal-safe; no
 * locks.
 */
#include "unwind/bounds.h"

#include "base/bits.h"

enum { PAGE_BYTES = 4096 };

static bool span_holds(const StackSpan *span, uint64_t sp)
{
    if (sp >= span->high)
        return false;
    return sp >= span->low || (span->grows && sp >= span->floor);
}

static bool is_main_stack(const char *path)
{
    static const char name[] = "[stack]";
    size_t at = 0;
    while (at < sizeof name && path[at] == name[at])
        at++;
    return at == sizeof name;
}

/* Data mappings that touch count as one: mlock, madvise and mprotect split a stack's mapping. */
static void span_read(StackBounds *bounds, uint64_t sp, StackSpan *ret_span)
{
    StackSpan span = {.low = sp & ~(uint64_t)(PAGE_BYTES - 1)};
    span.high = span.low + PAGE_BYTES;
    uint64_t floor = 0;
    bool found = false;
    MapsLine line;
    if (maps_open(&bounds->maps) == 0) {
        while (maps_next(&bounds->maps, &line)) {
            if (found &&
                !(line.start == span.high && line.readable && line.writable && line.inode == 0))
                break;
            if (found) {
                span.high = line.end;
            } else if (sp >= line.start && sp < line.end && line.readable) {
                found = true;
                span = (StackSpan){.low = line.start,
                                   .high = line.end,
                                   .floor = floor,
                                   .grows = is_main_stack(line.path)};
            }
            floor = line.end;
        }
    }
    maps_close(&bounds->maps);
    *ret_span = span;
}

COLD uint64_t bounds_high(StackBounds *bounds, uint64_t sp)
{
    StackSpan span = {0};
    size_t at = 0;
    while (at < STACK_SPANS - 1 && !span_holds(&bounds->spans[at], sp))
        at++;
    if (span_holds(&bounds->spans[at], sp)) {
        span = bounds->spans[at];
        if (sp < span.low)
            span.low = sp;
    } else {
        bounds->lookups++;
        span_read(bounds, sp, &span);
    }
    for (; at > 0; at--)
        bounds->spans[at] = bounds->spans[at - 1];
    bounds->spans[0] = span;
    return span.high;
}
