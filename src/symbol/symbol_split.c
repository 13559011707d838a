// SPDX-License-Identifier: Apache-2.0
/*
 * Purpose: read split DWARF from a package (.dwp), DWARF 5 and the GNU form of DWARF 4.
 *
 * A package holds the sections of many .dwo files, joined; .debug_cu_index says, per unit (found by
 * its 64-bit id), which slice of each section is its own. Its offsets count from the slice. So a
 * small ELF file is put together in memory from the slices of one unit, under the names of normal
 * sections, with the parts that the unit shares with the main file (.debug_addr and .debug_ranges
 * from the skeleton's bases on), and libdw reads that as if it were a whole program.
 *
 *   .debug_cu_index: version, columns, used, slots (u32 each; version 5: u16 and padding)
 *                    id u64[slots], row u32[slots] (from 1; 0: free),
 *                    section u32[columns], offset u32[used][columns], size u32[used][columns]
 *
 * Cost: a copy of the unit's slices and of all strings. Little-endian ELF64 only.
 */
#include "symbol/symbol_split.h"

#include <dwarf.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#define SECTIONS_MAX 16

typedef struct Slice {
    const char *name; /* in the image */
    const uint8_t *bytes;
    uint64_t size;
} Slice;

typedef struct Slices {
    Slice items[SECTIONS_MAX];
    size_t count;
} Slices;

static void slices_append(Slices *slices, const char *name, const uint8_t *bytes, uint64_t size)
{
    if (bytes && size && slices->count < SECTIONS_MAX)
        slices->items[slices->count++] = (Slice){name, bytes, size};
}

/* Section NAME decompressed, as libdw leaves it or as we do. */
static int section_bytes(const SymbolFile *file, const char *name, const uint8_t **ret_bytes,
                         uint64_t *ret_size)
{
    Elf_Scn *scn = symbol_file_section(file, name);
    GElf_Shdr header;
    if (!scn || !gelf_getshdr(scn, &header))
        return -ENOENT;
    if ((header.sh_flags & SHF_COMPRESSED) && elf_compress(scn, 0, 0) < 0)
        return -EBADMSG;
    Elf_Data *data = elf_rawdata(scn, NULL);
    if (!data || !data->d_buf)
        return -ENOENT;
    *ret_bytes = data->d_buf;
    *ret_size = data->d_size;
    return 0;
}

/* ---- the index ------------------------------------------------------------------------------ */

typedef struct Index {
    const uint8_t *bytes;
    uint32_t version, columns, used, slots;
    uint64_t rows_at, names_at, offsets_at, sizes_at;
} Index;

static uint32_t u32_at(const uint8_t *bytes, uint64_t at)
{
    uint32_t value;
    memcpy(&value, bytes + at, sizeof(value));
    return value;
}

static int index_read(const SymbolFile *package, Index *ret_index)
{
    Index x = {0};
    uint64_t size;
    int r = section_bytes(package, ".debug_cu_index", &x.bytes, &size);
    if (r < 0)
        return r;
    if (size < 16)
        return -EBADMSG;
    x.version = u32_at(x.bytes, 0) & 0xffff;
    x.columns = u32_at(x.bytes, 4);
    x.used = u32_at(x.bytes, 8);
    x.slots = u32_at(x.bytes, 12);
    if ((x.version != 2 && x.version != 5) || x.columns > 32)
        return -EBADMSG;
    x.rows_at = 16 + 8 * (uint64_t)x.slots;
    x.names_at = x.rows_at + 4 * (uint64_t)x.slots;
    x.offsets_at = x.names_at + 4 * (uint64_t)x.columns;
    x.sizes_at = x.offsets_at + 4 * (uint64_t)x.columns * x.used;
    if (x.sizes_at + 4 * (uint64_t)x.columns * x.used > size)
        return -EBADMSG;
    *ret_index = x;
    return 0;
}

/* Row of the unit, from 0; -ENOENT. */
static int64_t index_find(const Index *x, uint64_t id)
{
    for (uint32_t slot = 0; slot < x->slots; slot++) {
        uint64_t found;
        memcpy(&found, x->bytes + 16 + 8 * (uint64_t)slot, sizeof(found));
        uint32_t row = u32_at(x->bytes, x->rows_at + 4 * (uint64_t)slot);
        if (found == id && row >= 1 && row <= x->used)
            return row - 1;
    }
    return -ENOENT;
}

/* Names in the package, and in the image without the ".dwo". */
typedef struct Column {
    const char *packed, *plain;
} Column;

static const Column *column_of(uint32_t version, uint32_t section)
{
    static const Column common[9] = {
        [1] = {".debug_info.dwo", ".debug_info"},
        [3] = {".debug_abbrev.dwo", ".debug_abbrev"},
        [4] = {".debug_line.dwo", ".debug_line"},
        [6] = {".debug_str_offsets.dwo", ".debug_str_offsets"},
    };
    static const Column ranges = {".debug_rnglists.dwo", ".debug_rnglists"};
    if (version == 5 && section == 8)
        return &ranges;
    return section < 9 && common[section].packed ? &common[section] : NULL;
}

static int append_columns(const SymbolFile *package, const Index *x, uint64_t row, Slices *slices)
{
    for (uint32_t c = 0; c < x->columns; c++) {
        const Column *column = column_of(x->version, u32_at(x->bytes, x->names_at + 4 * c));
        const uint8_t *bytes;
        uint64_t size, at = 4 * (row * x->columns + c);
        if (!column || section_bytes(package, column->packed, &bytes, &size) < 0)
            continue;
        uint32_t offset = u32_at(x->bytes, x->offsets_at + at);
        uint32_t length = u32_at(x->bytes, x->sizes_at + at);
        if (offset > size || length > size - offset)
            return -EBADMSG;
        slices_append(slices, column->plain, bytes + offset, length);
    }
    return 0;
}

/* ---- what the main file gives --------------------------------------------------------------- */

static bool attribute_value(Dwarf_Die *die, unsigned name, Dwarf_Word *ret_value)
{
    Dwarf_Attribute memory;
    Dwarf_Attribute *found = dwarf_attr(die, name, &memory);
    return found && dwarf_formudata(found, ret_value) == 0;
}

static void append_from(const SymbolFile *main, const char *name, uint64_t base, Slices *slices)
{
    const uint8_t *bytes;
    uint64_t size;
    if (section_bytes(main, name, &bytes, &size) == 0 && base < size)
        slices_append(slices, name, bytes + base, size - base);
}

/* Without a base attribute of its own the unit counts from the start of the section; libdw up to
 * 0.190 expects no header there (later versions read packages themselves). */
static void append_shared(const SymbolFile *main, Dwarf_Die *skeleton, Slices *slices)
{
    Dwarf_Word base;
    if (attribute_value(skeleton, DW_AT_addr_base, &base) ||
        attribute_value(skeleton, DW_AT_GNU_addr_base, &base))
        append_from(main, ".debug_addr", base, slices);
    if (attribute_value(skeleton, DW_AT_GNU_ranges_base, &base))
        append_from(main, ".debug_ranges", base, slices);
}

static uint64_t unit_id(Dwarf_Die *skeleton)
{
    Dwarf_Word id;
    uint64_t from_header = 0;
    if (attribute_value(skeleton, DW_AT_GNU_dwo_id, &id))
        return id;
    dwarf_cu_info(skeleton->cu, NULL, NULL, NULL, NULL, &from_header, NULL, NULL);
    return from_header;
}

/* ---- the image ------------------------------------------------------------------------------ */

/* ELF header, slices, names, section headers. malloc'd. */
static void *make_image(const Slices *slices, uint16_t machine, size_t *ret_bytes)
{
    static const char names_name[] = ".shstrtab";
    size_t sections = slices->count + 2, data = 0, names = 1 + sizeof(names_name);
    for (size_t i = 0; i < slices->count; i++) {
        data += (slices->items[i].size + 7) & ~UINT64_C(7);
        names += strlen(slices->items[i].name) + 1;
    }
    size_t names_at = sizeof(Elf64_Ehdr) + data;
    size_t headers_at = (names_at + names + 7) & ~(size_t)7;
    size_t bytes = headers_at + sections * sizeof(Elf64_Shdr);
    uint8_t *image = calloc(1, bytes);
    if (!image)
        return NULL;
    Elf64_Ehdr ehdr = {.e_type = ET_REL, .e_machine = machine, .e_version = EV_CURRENT};
    memcpy(ehdr.e_ident, ELFMAG, SELFMAG);
    ehdr.e_ident[EI_CLASS] = ELFCLASS64;
    ehdr.e_ident[EI_DATA] = ELFDATA2LSB;
    ehdr.e_ident[EI_VERSION] = EV_CURRENT;
    ehdr.e_shoff = headers_at;
    ehdr.e_ehsize = sizeof(ehdr);
    ehdr.e_shentsize = sizeof(Elf64_Shdr);
    ehdr.e_shnum = (Elf64_Half)sections;
    ehdr.e_shstrndx = (Elf64_Half)(sections - 1);
    memcpy(image, &ehdr, sizeof(ehdr));

    Elf64_Shdr *headers = (Elf64_Shdr *)(image + headers_at);
    size_t at = sizeof(ehdr), name_at = 1;
    for (size_t i = 0; i < slices->count; i++) {
        const Slice *slice = &slices->items[i];
        memcpy(image + at, slice->bytes, slice->size);
        strcpy((char *)image + names_at + name_at, slice->name);
        headers[i + 1] = (Elf64_Shdr){.sh_name = (Elf64_Word)name_at,
                                      .sh_type = SHT_PROGBITS,
                                      .sh_offset = at,
                                      .sh_size = slice->size,
                                      .sh_addralign = 1};
        at += (slice->size + 7) & ~UINT64_C(7);
        name_at += strlen(slice->name) + 1;
    }
    strcpy((char *)image + names_at + name_at, names_name);
    headers[sections - 1] = (Elf64_Shdr){.sh_name = (Elf64_Word)name_at,
                                         .sh_type = SHT_STRTAB,
                                         .sh_offset = names_at,
                                         .sh_size = names,
                                         .sh_addralign = 1};
    *ret_bytes = bytes;
    return image;
}

static int open_image(const Slices *slices, uint16_t machine, SymbolSplit *split)
{
    size_t bytes;
    void *image = make_image(slices, machine, &bytes);
    if (!image)
        return -ENOMEM;
    int r = symbol_file_open_memory(image, bytes, ".dwp", &split->image);
    if (r < 0)
        return r;
    Dwarf_CU *cu = NULL;
    split->dwarf = dwarf_begin_elf(split->image->elf, DWARF_C_READ, NULL);
    if (split->dwarf &&
        dwarf_get_units(split->dwarf, NULL, &cu, NULL, NULL, &split->die, NULL) == 0 &&
        split->die.addr)
        return 0;
    symbol_split_close(split);
    return -EBADMSG;
}

/* ---- interface ------------------------------------------------------------------------------ */

int symbol_split_open(const SymbolFile *package, const SymbolFile *main, Dwarf_Die *skeleton,
                      SymbolSplit *ret_split)
{
    Index index;
    GElf_Ehdr header;
    if (!gelf_getehdr(package->elf, &header) || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_ident[EI_DATA] != ELFDATA2LSB)
        return -ENOENT;
    int r = index_read(package, &index);
    int64_t row = r < 0 ? r : index_find(&index, unit_id(skeleton));
    if (row < 0)
        return (int)row;
    Slices slices = {0};
    const uint8_t *bytes;
    uint64_t size;
    r = append_columns(package, &index, (uint64_t)row, &slices);
    if (r < 0)
        return r;
    if (section_bytes(package, ".debug_str.dwo", &bytes, &size) == 0)
        slices_append(&slices, ".debug_str", bytes, size);
    append_shared(main, skeleton, &slices);
    *ret_split = (SymbolSplit){0};
    return open_image(&slices, header.e_machine, ret_split);
}

void symbol_split_close(SymbolSplit *split)
{
    if (split->dwarf)
        dwarf_end(split->dwarf);
    symbol_file_close(split->image);
    *split = (SymbolSplit){0};
}
