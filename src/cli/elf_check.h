// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * What the launcher must know about a program before it preloads a library into it: facts read from
 * the ELF file, with no judgement. program_check.h judges.
 */

typedef enum ElfKind {
    ELF_OTHER,      /* not an ELF file */
    ELF_BROKEN,     /* begins like one, but cannot be read */
    ELF_PROGRAM,    /* an executable, or a shared object with an interpreter */
    ELF_LOADER,     /* the dynamic loader itself */
    ELF_NO_PROGRAM, /* object file, core */
} ElfKind;

typedef enum MallocOwner {
    MALLOC_IMPORTED, /* from a library, the normal case */
    MALLOC_LOCAL,    /* defined in the program, not exported: its own calls stay inside */
    MALLOC_EXPORTED, /* defined and exported: all calls of the process go there */
} MallocOwner;

typedef struct ElfFacts {
    ElfKind kind;
    int class_bits;        /* 32 or 64 */
    int machine;           /* EM_* */
    bool is_static;        /* no interpreter */
    char interpreter[256]; /* "" when static */
    MallocOwner malloc_owner;
    const char *sanitizer; /* "AddressSanitizer" ... or NULL; a string constant */
} ElfFacts;

/* 0 or negative errno (the file cannot be opened or read). */
int elf_facts_read(const char *path, ElfFacts *ret_facts);

/* Minor version of the glibc that LIBC (a libc.so.6) is: 31 for 2.31; by its version definitions.
 * -ENOENT when it tells none (not glibc), or another negative errno. */
int elf_glibc_minor(const char *libc);
