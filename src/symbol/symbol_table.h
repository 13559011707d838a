// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "symbol/symbol_arena.h"
#include "symbol/symbol_find.h"

/* The function symbols of one module, from all its symbol tables, sorted by address. */

typedef struct SymbolTable SymbolTable;

/* Names are interned in ARENA, which must outlive the table. */
int symbol_table_new(const SymbolFiles *files, SymbolArena *arena, SymbolTable **ret_table);
void symbol_table_free(SymbolTable *table);

/* The symbol that covers ADDRESS, without its version ("memcpy", not "memcpy@GLIBC_2.14"); NULL
 * in a hole. */
const char *symbol_table_find(const SymbolTable *table, uint64_t address);
/* The symbol that starts there. */
const char *symbol_table_find_start(const SymbolTable *table, uint64_t address);

/* Exposed for tests: does name A (binding, see elf.h) win over B for the same address? */
typedef struct SymbolRank {
    const char *name;
    uint8_t binding, type;
    bool sized;
} SymbolRank;
bool symbol_rank_is_better(const SymbolRank *a, const SymbolRank *b);
