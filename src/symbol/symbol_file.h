// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* One ELF file, opened for reading, and what it can offer. */

#define BUILD_ID_MAX 64

typedef struct SymbolFile {
    char *path;   /* as opened, sysroot included */
    int fd;       /* -1: in memory */
    void *memory; /* malloc'd image, or NULL */
    Elf *elf;
    struct stat st; /* zero for an image in memory */
    uint8_t build_id[BUILD_ID_MAX];
    size_t build_id_size;                                  /* 0: has none */
    bool has_dwarf, has_symtab, has_debugdata, has_dynsym; /* with contents, not just headers */
} SymbolFile;

/*
 * Opens PATH (absolute) below ROOT (NULL: "/"); symbolic links are followed inside ROOT where the
 * kernel can do that. Only regular files with an ELF header; negative errno otherwise.
 */
int symbol_file_open(const char *root, const char *path, SymbolFile **ret_file);
/* Takes FD over, also on failure. */
int symbol_file_open_fd(int fd, const char *path, SymbolFile **ret_file);
/* Takes the malloc'd MEMORY over, also on failure. */
int symbol_file_open_memory(void *memory, size_t bytes, const char *name, SymbolFile **ret_file);
void symbol_file_close(SymbolFile *file);

bool symbol_file_is(const SymbolFile *file, const uint8_t *build_id, size_t build_id_size);
/* Section by name with contents in the file, NULL: none. */
Elf_Scn *symbol_file_section(const SymbolFile *file, const char *name);
/* Its bytes; owned by the file. Decompressed by nobody. -ENOENT when there is none. */
int symbol_file_bytes(const SymbolFile *file, const char *name, const uint8_t **ret_bytes,
                      size_t *ret_size);
