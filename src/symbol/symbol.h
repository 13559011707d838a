// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"

/*
 * Names for addresses: finds a module's ELF and debug files (path as seen, --sysroot, build-id
 * folders, .gnu_debuglink, debuginfod on request), reads DWARF lines and inline frames, ELF symbols
 * (.symtab, .gnu_debugdata, .dynsym), and demangles. Missing debug info is a value, not an error:
 * an address always resolves to at least one SymbolFrame. Results are cached: in memory per
 * Symbolizer, and on disk per build-id below $XDG_CACHE_HOME/memhawk (see symbol_cache.h).
 */

typedef struct Symbolizer Symbolizer;

/*
 * Texts that several Symbolizers have in common, each on its own thread: programs of one server are
 * much alike. It must outlive them. May lock, for some instructions.
 */
typedef struct SymbolTexts SymbolTexts;
int symbol_texts_new(SymbolTexts **ret_texts);
void symbol_texts_free(SymbolTexts *texts);

typedef struct SymbolOptions {
    const char *sysroot; /* NULL: "/" */
    const char *const
        *debug_dirs; /* NULL-terminated extra roots of build-id folders; may be NULL */
    bool debuginfod; /* ask the servers in $DEBUGINFOD_URLS */
    bool no_disk_cache;
    /* Asked about once a second while a server is waited for, by the thread that waits, and before
     * one is asked; true: give up. NULL: never. */
    bool (*is_cancelled)(void *context);
    void *cancel_context;
    SymbolTexts *texts; /* names, files and paths go there; NULL: into its own memory */
} SymbolOptions;

typedef struct SymbolFrame {
    const char *function; /* demangled; NULL: unknown */
    const char *raw;      /* symbol as in the file, mangled; NULL: unknown */
    const char *file;     /* source file; NULL: unknown */
    uint32_t line;        /* 0: unknown */
    bool inlined;         /* was inlined into the next (outer) frame */
} SymbolFrame;

int symbol_open(const SymbolOptions *options, Symbolizer **ret_symbolizer);
void symbol_close(Symbolizer *symbolizer);

/*
 * Resolves one frame of a profile. Subtracts 1 from return addresses itself (ProfileFrame.exact).
 * *ret_frames: innermost inlined function first, at least one; owned by the symbolizer, valid until
 * symbol_close(). Returns their number.
 */
int symbol_resolve(Symbolizer *symbolizer, const Profile *profile, uint32_t frame,
                   const SymbolFrame **ret_frames);

/*
 * The same below the level of a Profile. FILE_PC is an address in the file's terms (p_vaddr) inside
 * the instruction that is asked for: for a return address, subtract the load bias and 1. Strings of
 * all SymbolFrames of one Symbolizer are interned: equal texts are equal pointers.
 */
typedef struct SymbolModuleInfo {
    const char *path;        /* absolute, as the profiled process saw it; "[vdso]" */
    const uint8_t *build_id; /* NULL: not known */
    size_t build_id_size;
    const struct ProfileSegment *segments; /* checked when there is no build-id; may be NULL */
    size_t segment_count;
    bool deleted; /* the file was gone or replaced: use it by build-id only */
} SymbolModuleInfo;

int symbol_resolve_address(Symbolizer *symbolizer, const SymbolModuleInfo *info, uint64_t file_pc,
                           const SymbolFrame **ret_frames);

/*
 * Gives a Symbolizer an answer that another one has found, so that it opens no file for it; the
 * frames are copied. INFO NULL: nothing to keep. An address that has an answer keeps it.
 */
int symbol_adopt(Symbolizer *symbolizer, const SymbolModuleInfo *info, uint64_t file_pc,
                 const SymbolFrame *frames, size_t count);

/* The answer that a Symbolizer has in memory, by symbol_adopt() or from before; opens no file and
 * keeps nothing. Returns the number of frames; 0: none. */
int symbol_find_known(Symbolizer *symbolizer, const SymbolModuleInfo *info, uint64_t file_pc,
                      const SymbolFrame **ret_frames);

/* Per module: how names were found, for `memhawk info` and for hints. */
typedef enum SymbolSource {
    SYMBOL_NONE,      /* file not found or replaced (build-id differs) */
    SYMBOL_DYNSYM,    /* exported names only */
    SYMBOL_DEBUGDATA, /* .gnu_debugdata */
    SYMBOL_SYMTAB,
    SYMBOL_DWARF,
} SymbolSource;
SymbolSource symbol_source(Symbolizer *symbolizer, const Profile *profile, uint32_t index,
                           const char **ret_path);

SymbolSource symbol_source_of(Symbolizer *symbolizer, const SymbolModuleInfo *info,
                              const char **ret_path);
/* Gives it what another one says of a module; PATH (may be NULL) is copied. */
int symbol_adopt_source(Symbolizer *symbolizer, const SymbolModuleInfo *info, SymbolSource source,
                        const char *path);
/* The terms of symbol_resolve_address() for a frame of a profile; false: it is in no module. The
 * info points into the profile, at what lives as long as that. */
bool symbol_frame_info(const Profile *profile, uint32_t frame, SymbolModuleInfo *ret_info,
                       uint64_t *ret_file_pc);
void symbol_module_info(const Profile *profile, uint32_t index, SymbolModuleInfo *ret_info);
/* "none", "dynsym", "debugdata", "symtab", "dwarf". */
const char *symbol_source_name(SymbolSource source);

/* Interns TEXT beside the names of the frames; NULL for NULL or when out of memory. */
const char *symbol_intern(Symbolizer *symbolizer, const char *text);

/* malloc'd demangled name (C++, Rust legacy and v0, D); NULL: not a mangled name. */
char *symbol_demangle(const char *raw);
