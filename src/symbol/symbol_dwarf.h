// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/symbol_find.h"

/* Functions, inline frames and lines of one module's DWARF. */

typedef struct SymbolDwarf SymbolDwarf;

typedef struct DwarfFrame {
    const char *name;         /* as in the source; NULL with no linkage name: only a line */
    const char *linkage_name; /* as the linker sees it, mangled; NULL: none */
    char *scope;       /* malloc'd "a::(anonymous namespace)" when there is no linkage name */
    uint64_t entry_pc; /* outermost frame: where the function starts; else 0 */
    const char *file;
    uint32_t line;
    bool inlined;
} DwarfFrame;

#define DWARF_FRAMES_MAX 128

/* Reads an index of the units. FILES must outlive it. -ENOENT: no DWARF. */
int symbol_dwarf_new(const SymbolFiles *files, SymbolDwarf **ret_dwarf);
void symbol_dwarf_free(SymbolDwarf *dwarf);

/*
 * Frames at PC, innermost first, at most DWARF_FRAMES_MAX; returns how many, 0: not covered.
 * Texts belong to the DWARF but for `scope`, which the caller frees.
 */
int symbol_dwarf_find(SymbolDwarf *dwarf, uint64_t pc, DwarfFrame *ret_frames);
/* Split DWARF was named but not found: answers may get better when it is there. */
bool symbol_dwarf_is_partial(const SymbolDwarf *dwarf);
