// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "symbol/symbol.h"
#include "symbol/symbol_file.h"

/* The files that know the names of one module; each may be NULL, all owned. */
typedef struct SymbolFiles {
    SymbolFile *main;    /* what was mapped */
    SymbolFile *debug;   /* separate debug file, when main has no DWARF */
    SymbolFile *alt;     /* dwz's supplementary file of whichever has DWARF */
    SymbolFile *package; /* .dwp beside the file that has DWARF: its split units */
} SymbolFiles;

/*
 * Finds them. Never fails: what cannot be found or does not match (build-id, checksum, segments)
 * is left NULL. May ask the network when options->debuginfod says so, and only then.
 */
void symbol_find_files(const SymbolOptions *options, const SymbolModuleInfo *module,
                       SymbolFiles *ret_files);
void symbol_find_done(SymbolFiles *files);
SymbolSource symbol_find_source(const SymbolFiles *files, const char **ret_path);
