// SPDX-License-Identifier: Apache-2.0
/*
 * Ranges in an array sorted by start; each carries the highest end up to and including itself, so a
 * look-up walks back from the last range that starts at or below the address and stops as soon as
 * nothing before can reach it. O(log n) for modules that do not overlap; a file made to overlap
 * everywhere costs at most STEPS_MAX. Adding is O(n), and there are at most 16,384.
 */
#include "profile/module_map.h"

#include <errno.h>
#include <string.h>

#include "profile/profile.h"

enum { STEPS_MAX = 256 };

/* Number of ranges with start <= ADDRESS. */
static size_t upper_bound(const ModuleMap *map, uint64_t address)
{
    size_t low = 0, high = map->ranges.count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (map->ranges.items[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int module_map_add(ModuleMap *map, MemoryBudget *budget, uint64_t start, uint64_t bytes,
                   uint32_t module)
{
    uint64_t end = start + bytes < start ? UINT64_MAX : start + bytes;
    uint64_t highest;
    size_t at;

    if (bytes == 0)
        return 0;
    if (map->ranges.count == MODULE_RANGES_MAX)
        return -E2BIG;
    at = upper_bound(map, start);
    if (!vector_room(&map->ranges, budget, 1))
        return -ENOMEM;
    map->ranges.count++;
    memmove(map->ranges.items + at + 1, map->ranges.items + at,
            (map->ranges.count - 1 - at) * sizeof(ModuleRange));
    map->ranges.items[at] = (ModuleRange){.start = start, .end = end, .module = module};
    highest = at ? map->ranges.items[at - 1].max_end : 0;
    for (; at < map->ranges.count; at++) {
        if (map->ranges.items[at].end > highest)
            highest = map->ranges.items[at].end;
        map->ranges.items[at].max_end = highest;
    }
    return 0;
}

uint32_t module_map_find(const ModuleMap *map, uint64_t address,
                         uint64_t (*rank)(const void *context, uint32_t module),
                         const void *context)
{
    uint32_t best = ID_NONE;
    uint64_t best_rank = 0;
    size_t at = upper_bound(map, address);

    for (int steps = 0; at > 0 && steps < STEPS_MAX; steps++) {
        const ModuleRange *range = &map->ranges.items[--at];
        if (range->max_end <= address)
            break;
        if (range->end <= address)
            continue;
        if (best == ID_NONE || rank(context, range->module) > best_rank) {
            best = range->module;
            best_rank = rank(context, best);
        }
    }
    return best;
}
