// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "symbol/symbol.h"

/*
 * Memory of one Symbolizer, given back all at once: bump allocation, interned strings, and a map
 * from 64-bit keys to pointers. Used by one thread at a time, but for texts that several share.
 * NULL or -ENOMEM when out of memory.
 */

typedef struct SymbolMap {
    struct SymbolMapSlot {
        uint64_t key;
        void *value; /* NULL: free slot */
    } * slots;
    size_t capacity; /* power of two, or 0 */
    size_t count;
} SymbolMap;

void *symbol_map_find(const SymbolMap *map, uint64_t key);
/* VALUE must not be NULL; replaces what was there. */
int symbol_map_put(SymbolMap *map, uint64_t key, void *value);
void symbol_map_done(SymbolMap *map);

typedef struct SymbolArena {
    struct SymbolChunk *chunks;
    SymbolMap strings;   /* hash of the text -> chain of struct SymbolString */
    SymbolTexts *shared; /* where texts go instead; NULL: none */
} SymbolArena;

/* Zeroed, aligned to 8, valid until symbol_arena_done(). */
void *symbol_arena_take(SymbolArena *arena, size_t bytes);
/* Equal texts give equal pointers, also in several arenas that share texts. Texts are cut at
 * SYMBOL_TEXT_MAX bytes. */
#define SYMBOL_TEXT_MAX ((size_t)512 << 10)
const char *symbol_arena_intern(SymbolArena *arena, const char *text);
void symbol_arena_done(SymbolArena *arena);
