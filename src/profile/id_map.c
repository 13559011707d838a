// SPDX-License-Identifier: Apache-2.0
/*
 * Ids to indexes. The table grows by doubling while ids stay below four times the number of ids
 * seen (plus a start), so it costs at most 32 bytes an id however ids are spread; the rest is
 * uthash's business. Find is O(1). An id lives in exactly one of the two.
 */
#include "profile/id_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM               1
#define HASH_FUNCTION(key, bytes, hash) ((hash) = id_hash(key))
#include <uthash.h>

#include "base/bits.h"

enum { TABLE_START = 1024 };

typedef struct IdEntry {
    uint64_t id;
    uint32_t index;
    UT_hash_handle hh;
} IdEntry;

static unsigned id_hash(const void *key)
{
    uint64_t id;

    memcpy(&id, key, sizeof id);
    return (unsigned)hash_mix(id, 0);
}

uint32_t id_map_find_hashed(const IdMap *map, uint64_t id)
{
    IdEntry *entry = NULL;

    HASH_FIND(hh, map->hash, &id, sizeof id, entry);
    return entry ? entry->index : ID_MAP_NONE;
}

static int table_grow(IdMap *map, uint64_t id)
{
    size_t old = map->capacity;
    uint32_t *table = vector_grow(map->budget, map->table, &map->capacity,
                                  id < TABLE_START ? TABLE_START : (size_t)id + 1, sizeof *table);

    if (!table)
        return -ENOMEM;
    memset(table + old, 0, (map->capacity - old) * sizeof *table);
    map->table = table;
    return 0;
}

static int hash_put(IdMap *map, uint64_t id, uint32_t index)
{
    IdEntry *entry = pool_take(&map->pool, sizeof *entry);

    if (!entry)
        return -ENOMEM;
    memset(entry, 0, sizeof *entry);
    entry->id = id;
    entry->index = index;
    HASH_ADD(hh, map->hash, id, sizeof entry->id, entry);
    return entry->hh.tbl ? 0 : -ENOMEM; /* uthash clears it when it could not allocate */
}

int id_map_put(IdMap *map, uint64_t id, uint32_t index)
{
    int ret;

    map->pool.budget = map->budget;
    if (id >= map->capacity && id < TABLE_START + 4 * (uint64_t)map->count) {
        ret = table_grow(map, id);
        if (ret < 0)
            return ret;
    }
    if (id < map->capacity) {
        map->table[id] = index + 1;
        ret = 0;
    } else {
        ret = hash_put(map, id, index);
    }
    map->count += ret == 0;
    return ret;
}

void id_map_done(IdMap *map)
{
    HASH_CLEAR(hh, map->hash);
    pool_done(&map->pool);
    vector_release(map->budget, map->table, map->capacity, sizeof *map->table);
    map->table = NULL;
    map->capacity = map->count = 0;
}
