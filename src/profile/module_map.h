// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "format/reader_pool.h"

/*
 * Address ranges of modules, for files whose frames do not name their module. Ranges may overlap,
 * as after dlclose() and dlopen(): the caller picks among all that cover an address.
 */

#define MODULE_RANGES_MAX 16384

typedef struct ModuleRange {
    uint64_t start, end; /* runtime addresses, end excluded */
    uint64_t max_end;    /* highest end of this and all before it */
    uint32_t module;
} ModuleRange;

typedef struct ModuleMap {
    VECTOR(ModuleRange) ranges; /* by start */
} ModuleMap;

/* 0, -ENOMEM, or -E2BIG beyond MODULE_RANGES_MAX. Empty ranges are left out. */
int module_map_add(ModuleMap *map, MemoryBudget *budget, uint64_t start, uint64_t bytes,
                   uint32_t module);
/* Of the modules covering ADDRESS the one with the highest ranks[module]; ID_NONE: none. */
uint32_t module_map_find(const ModuleMap *map, uint64_t address,
                         uint64_t (*rank)(const void *context, uint32_t module),
                         const void *context);
