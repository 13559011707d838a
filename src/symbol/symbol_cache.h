// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "symbol/symbol.h"
#include "symbol/symbol_arena.h"
#include "symbol/symbol_find.h"

/*
 * Resolved frames of one module on disk, so that a second report opens no debug info at all. Files
 * lie in $XDG_CACHE_HOME/memhawk/symbols (or ~/.cache/...), named by build-id. A file answers only
 * for exactly the ELF and debug files that it was made from (path, size, time, inode of each): when
 * debug info arrives, changes or goes away, it is ignored and replaced. Broken files are ignored.
 */

typedef struct SymbolCacheKey {
    char name[2 * BUILD_ID_MAX + 8]; /* file name */
    uint64_t fingerprint;            /* of all that the answers depend on; 0: not to be cached */
} SymbolCacheKey;

typedef struct SymbolAnswer {
    uint64_t pc; /* address in the file's terms */
    uint32_t count;
    SymbolFrame frames[];
} SymbolAnswer;

typedef struct SymbolCache SymbolCache;

void symbol_cache_key(const SymbolFiles *files, SymbolCacheKey *ret_key);
/* malloc'd; NULL: no place for it (neither variable is set). */
char *symbol_cache_folder(void);

/* -ENOENT: none; -ESTALE: of other files; -EBADMSG: broken. */
int symbol_cache_load(const char *folder, const SymbolCacheKey *key, SymbolCache **ret_cache);
void symbol_cache_free(SymbolCache *cache);
size_t symbol_cache_count(const SymbolCache *cache);
uint64_t symbol_cache_pc(const SymbolCache *cache, size_t index);
/* Copy in ARENA, NULL: not in the cache. */
SymbolAnswer *symbol_cache_find(const SymbolCache *cache, SymbolArena *arena, uint64_t pc);

/* Replaces the file with ANSWERS (sorted here, in place). Then removes the files that were used
 * longest ago while the folder holds more than SYMBOL_CACHE_FOLDER_BYTES. */
#define SYMBOL_CACHE_FILE_BYTES   (UINT64_C(64) << 20)
#define SYMBOL_CACHE_FOLDER_BYTES (UINT64_C(512) << 20)
int symbol_cache_save(const char *folder, const SymbolCacheKey *key, SymbolAnswer **answers,
                      size_t count);
void symbol_cache_trim(const char *folder, uint64_t max_bytes);
