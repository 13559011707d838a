// SPDX-License-Identifier: Apache-2.0
/*
 * Keys to numbers with uthash; an entry is one block, key behind it. Expected O(size of key) per
 * look-up. Not shared between threads.
 */
#include "export/string_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM          1
#define uthash_nonfatal_oom(entry) ((entry)->failed = 1)
#include <uthash.h>

typedef struct Entry {
    UT_hash_handle hh;
    uint64_t index;
    int failed;
    char key[];
} Entry;

struct StringTable {
    Entry *entries;
    uint64_t count;
};

StringTable *string_table_new(void)
{
    return calloc(1, sizeof(StringTable));
}

void string_table_free(StringTable *table)
{
    if (!table)
        return;
    Entry *entry, *next;
    HASH_ITER(hh, table->entries, entry, next)
    {
        HASH_DEL(table->entries, entry);
        free(entry);
    }
    free(table);
}

int string_table_put(StringTable *table, const void *key, size_t size, uint64_t *ret_index)
{
    Entry *entry = NULL;
    HASH_FIND(hh, table->entries, key, size, entry);
    if (entry) {
        *ret_index = entry->index;
        return 0;
    }
    entry = calloc(1, sizeof(*entry) + size + 1);
    if (!entry)
        return -ENOMEM;
    memcpy(entry->key, key, size);
    entry->index = table->count;
    HASH_ADD_KEYPTR(hh, table->entries, entry->key, size, entry);
    if (entry->failed) {
        free(entry);
        return -ENOMEM;
    }
    *ret_index = table->count++;
    return 1;
}
