// SPDX-License-Identifier: Apache-2.0
// What Swift sees. Its importer takes inline functions, structs and enums, but no macros that hold
// blocks; so this header names the functions once more, with types that read well in Swift.
#ifndef MEMHAWK_SWIFT_SHIM_H
#define MEMHAWK_SWIFT_SHIM_H

#include <memhawk.h>
#include <stdbool.h>

typedef struct memhawk_counts MemHawkCounts;

static inline bool memhawk_swift_active(void)
{
    return memhawk_active() != 0;
}

static inline uint64_t memhawk_swift_begin(const char *name)
{
    return memhawk_window_begin(name, MEMHAWK_THREAD);
}

/* Ends the window; true when `counts` holds what it measured. */
static inline bool memhawk_swift_end(uint64_t window, MemHawkCounts *counts)
{
    int ended = memhawk_window_end(window);
    return memhawk_window_stats(counts) == 0 && ended == 0;
}

#endif
