// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <elfutils/libdw.h>
#include <stdint.h>

#include "symbol/symbol_file.h"

/* One unit of split DWARF taken out of a package (.dwp), which libdw (before 0.191) cannot read. */
typedef struct SymbolSplit {
    SymbolFile *image; /* an ELF file in memory that holds just this unit */
    Dwarf *dwarf;
    Dwarf_Die die; /* the unit */
} SymbolSplit;

/* SKELETON: the unit's DIE in MAIN. -ENOENT: not in the package; -EBADMSG, -ENOMEM. */
int symbol_split_open(const SymbolFile *package, const SymbolFile *main, Dwarf_Die *skeleton,
                      SymbolSplit *ret_split);
void symbol_split_close(SymbolSplit *split);
