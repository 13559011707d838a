// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "format/reader_pool.h"

/*
 * From ids of a file to indexes. Ids that run from 1 (ours) take 4 bytes each in a table; others,
 * which a foreign file may choose at will, go to a hash table. Zero-initialise but for `budget`.
 */

struct IdEntry;

typedef struct IdMap {
    MemoryBudget *budget;
    Pool pool;       /* entries of the hash table */
    uint32_t *table; /* index + 1; 0: not there */
    size_t capacity;
    size_t count;
    struct IdEntry *hash; /* uthash */
} IdMap;

#define ID_MAP_NONE UINT32_MAX

/* The other part of id_map_find(). */
uint32_t id_map_find_hashed(const IdMap *map, uint64_t id);

static inline uint32_t id_map_find(const IdMap *map, uint64_t id)
{
    uint32_t found = id < map->capacity ? map->table[id] : 0;

    return found || !map->hash ? found - 1 : id_map_find_hashed(map, id);
}

/* A hint to the processor that id_map_find() will come. */
static inline void id_map_fetch(const IdMap *map, uint64_t id)
{
    if (id < map->capacity)
        __builtin_prefetch(&map->table[id]);
}

/* ID must not be there yet, INDEX below UINT32_MAX. 0 or -ENOMEM. */
int id_map_put(IdMap *map, uint64_t id, uint32_t index);
void id_map_done(IdMap *map);
