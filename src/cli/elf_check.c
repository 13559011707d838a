// SPDX-License-Identifier: Apache-2.0
/*
 * Reads the few facts about an ELF file that decide whether preloading can work, with libelf. The
 * symbol tables are walked once, .dynsym and .symtab; for a program with 100,000 symbols that is
 * some milliseconds. Sanitizers are known by their init function, which is there both when their
 * runtime is linked in (clang) and when it is a library (gcc). Nothing here prints.
 */
#include "cli/elf_check.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *symbol;
    const char *name;
} sanitizers[] = {
    {"__asan_init", "AddressSanitizer"}, {"__tsan_init", "ThreadSanitizer"},
    {"__msan_init", "MemorySanitizer"},  {"__hwasan_init", "HWAddressSanitizer"},
    {"__lsan_init", "LeakSanitizer"},
};

static const struct {
    const char *library;
    const char *name;
} sanitizer_libraries[] = {
    {"libasan.so", "AddressSanitizer"},     {"libclang_rt.asan", "AddressSanitizer"},
    {"libtsan.so", "ThreadSanitizer"},      {"libclang_rt.tsan", "ThreadSanitizer"},
    {"libhwasan.so", "HWAddressSanitizer"}, {"libclang_rt.hwasan", "HWAddressSanitizer"},
    {"liblsan.so", "LeakSanitizer"},
};

static void read_symbol(Elf *elf, const GElf_Shdr *section, const GElf_Sym *symbol, ElfFacts *facts)
{
    const char *name = elf_strptr(elf, section->sh_link, symbol->st_name);
    if (!name)
        return;
    bool defined = symbol->st_shndx != SHN_UNDEF;
    int type = GELF_ST_TYPE(symbol->st_info);
    /* a hidden malloc is a local symbol in .symtab */
    if (defined && (type == STT_FUNC || type == STT_GNU_IFUNC) && strcmp(name, "malloc") == 0) {
        MallocOwner owner = section->sh_type == SHT_DYNSYM ? MALLOC_EXPORTED : MALLOC_LOCAL;
        if (owner > facts->malloc_owner)
            facts->malloc_owner = owner;
    }
    if (strncmp(name, "__", 2) != 0 || facts->sanitizer)
        return;
    for (size_t i = 0; i < sizeof(sanitizers) / sizeof(*sanitizers); i++)
        if (strcmp(name, sanitizers[i].symbol) == 0)
            facts->sanitizer = sanitizers[i].name;
}

static void read_symbols(Elf *elf, Elf_Scn *scn, const GElf_Shdr *section, ElfFacts *facts)
{
    Elf_Data *data = elf_getdata(scn, NULL);
    if (!data || section->sh_entsize == 0)
        return;
    size_t count = data->d_size / gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT);
    for (size_t i = 0; i < count; i++) {
        GElf_Sym symbol;
        if (gelf_getsym(data, (int)i, &symbol))
            read_symbol(elf, section, &symbol, facts);
    }
}

static void read_dynamic(Elf *elf, Elf_Scn *scn, const GElf_Shdr *section, ElfFacts *facts)
{
    Elf_Data *data = elf_getdata(scn, NULL);
    if (!data)
        return;
    size_t count = data->d_size / gelf_fsize(elf, ELF_T_DYN, 1, EV_CURRENT);
    for (size_t i = 0; i < count; i++) {
        GElf_Dyn dyn;
        if (!gelf_getdyn(data, (int)i, &dyn) || (dyn.d_tag != DT_NEEDED && dyn.d_tag != DT_SONAME))
            continue;
        const char *name = elf_strptr(elf, section->sh_link, dyn.d_un.d_val);
        if (!name)
            continue;
        if (dyn.d_tag == DT_SONAME && strncmp(name, "ld-", 3) == 0)
            facts->kind = ELF_LOADER;
        for (size_t k = 0; k < sizeof(sanitizer_libraries) / sizeof(*sanitizer_libraries); k++)
            if (dyn.d_tag == DT_NEEDED && strncmp(name, sanitizer_libraries[k].library,
                                                  strlen(sanitizer_libraries[k].library)) == 0)
                facts->sanitizer = sanitizer_libraries[k].name;
    }
}

static void copy_interpreter(Elf *elf, const GElf_Phdr *header, ElfFacts *facts)
{
    Elf_Data *data =
        elf_getdata_rawchunk(elf, (int64_t)header->p_offset, header->p_filesz, ELF_T_BYTE);
    facts->is_static = false;
    if (data && data->d_size)
        snprintf(facts->interpreter, sizeof(facts->interpreter), "%.*s", (int)data->d_size,
                 (const char *)data->d_buf);
    else
        facts->kind = ELF_BROKEN;
}

static void read_interpreter(Elf *elf, ElfFacts *facts)
{
    size_t count = 0;
    facts->is_static = true;
    if (elf_getphdrnum(elf, &count) != 0 || count == 0)
        facts->kind = ELF_BROKEN;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr header;
        if (!gelf_getphdr(elf, (int)i, &header))
            facts->kind = ELF_BROKEN;
        else if (header.p_type == PT_INTERP)
            copy_interpreter(elf, &header, facts);
    }
}

static void read_sections(Elf *elf, ElfFacts *facts)
{
    Elf_Scn *scn = NULL;
    while ((scn = elf_nextscn(elf, scn))) {
        GElf_Shdr section;
        if (!gelf_getshdr(scn, &section))
            continue;
        if (section.sh_type == SHT_DYNSYM || section.sh_type == SHT_SYMTAB)
            read_symbols(elf, scn, &section, facts);
        else if (section.sh_type == SHT_DYNAMIC)
            read_dynamic(elf, scn, &section, facts);
    }
}

static void read_facts(Elf *elf, ElfFacts *facts)
{
    GElf_Ehdr header;
    facts->kind = ELF_BROKEN;
    if (!gelf_getehdr(elf, &header))
        return;
    facts->class_bits = header.e_ident[EI_CLASS] == ELFCLASS32 ? 32 : 64;
    facts->machine = header.e_machine;
    facts->kind =
        header.e_type == ET_EXEC || header.e_type == ET_DYN ? ELF_PROGRAM : ELF_NO_PROGRAM;
    if (facts->kind != ELF_PROGRAM)
        return;
    read_interpreter(elf, facts);
    read_sections(elf, facts);
}

static int elf_open(const char *path, int *ret_fd, Elf **ret_elf)
{
    elf_version(EV_CURRENT);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    if (!elf) {
        close(fd);
        return -EIO;
    }
    *ret_fd = fd;
    *ret_elf = elf;
    return 0;
}

int elf_facts_read(const char *path, ElfFacts *ret_facts)
{
    ElfFacts facts = {.kind = ELF_OTHER};
    Elf *elf;
    int fd, r = elf_open(path, &fd, &elf);
    if (r < 0)
        return r;
    if (elf_kind(elf) == ELF_K_ELF)
        read_facts(elf, &facts);
    elf_end(elf);
    close(fd);
    *ret_facts = facts;
    return 0;
}

/* The highest N of all GLIBC_2.N that are defined here. */
static int highest_definition(Elf *elf, Elf_Scn *scn, const GElf_Shdr *section)
{
    Elf_Data *data = elf_getdata(scn, NULL);
    int highest = -ENOENT, offset = 0;
    for (size_t i = 0; data && i < section->sh_info; i++) {
        GElf_Verdef definition;
        GElf_Verdaux name;
        if (!gelf_getverdef(data, offset, &definition) ||
            !gelf_getverdaux(data, offset + (int)definition.vd_aux, &name))
            break;
        const char *text = elf_strptr(elf, section->sh_link, name.vda_name);
        long minor = text && strncmp(text, "GLIBC_2.", 8) == 0 ? strtol(text + 8, NULL, 10) : -1;
        if (minor > highest && minor < INT_MAX)
            highest = (int)minor;
        if (definition.vd_next == 0)
            break;
        offset += (int)definition.vd_next;
    }
    return highest;
}

int elf_glibc_minor(const char *libc)
{
    Elf *elf;
    Elf_Scn *scn = NULL;
    GElf_Shdr section;
    int fd, r = elf_open(libc, &fd, &elf);
    if (r < 0)
        return r;
    r = -ENOENT;
    while ((scn = elf_nextscn(elf, scn)))
        if (gelf_getshdr(scn, &section) && section.sh_type == SHT_GNU_verdef)
            r = highest_definition(elf, scn, &section);
    elf_end(elf);
    close(fd);
    return r;
}
