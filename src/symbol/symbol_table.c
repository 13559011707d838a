// SPDX-License-Identifier: Apache-2.0
/*
 * Purpose: which ELF symbol covers an address.
 *
 * All tables that exist are merged: .symtab of the file and of its debug file, .dynsym, and the
 * .symtab inside .gnu_debugdata (an xz-compressed ELF file, "minidebuginfo"). Sizes are respected,
 * so that in a stripped library the code between two exported functions has no name instead of a
 * wrong one. A symbol without a size (hand-written assembly) reaches to the next symbol or the end
 * of its section, and only where a full .symtab exists, for only there the next symbol is near.
 * Of several names for one address one is chosen by fixed rules (symbol_rank_is_better), never by
 * the order in the file. Nested symbols: the one that starts last wins.
 *
 * Cost: one sort per module; a look-up is a binary search plus a short walk, which a running
 * maximum of the ends cuts off. Read-only after symbol_table_new().
 */
#include "symbol/symbol_table.h"

#include <errno.h>
#include <gelf.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>

#define DEBUGDATA_BYTES_MAX  ((size_t)256 << 20)
#define DEBUGDATA_MEMORY_MAX (UINT64_C(512) << 20)

typedef struct Entry {
    uint64_t start, end; /* end == start: no size of its own, until bound_unsized() */
    uint64_t limit;      /* end of the section */
    uint64_t reach;      /* highest end of this and all entries before */
    SymbolRank rank;
} Entry;

struct SymbolTable {
    Entry *entries;
    size_t count, capacity;
};

/* ---- choice --------------------------------------------------------------------------------- */

static int binding_order(uint8_t binding)
{
    return binding == STB_GLOBAL || binding == STB_GNU_UNIQUE ? 0 : binding == STB_WEAK ? 1 : 2;
}

static int type_order(uint8_t type)
{
    return type == STT_FUNC ? 0 : type == STT_GNU_IFUNC ? 1 : 2;
}

/* < 0: A is better: sized, not local, a function, few leading underscores (public names of libc are
 * weak aliases of internal global ones), short, global. Total order, equal only for equal names. */
static int rank_compare(const SymbolRank *a, const SymbolRank *b)
{
    int a_binding = binding_order(a->binding), b_binding = binding_order(b->binding);
    size_t a_length = strlen(a->name), b_length = strlen(b->name);
    int order = (int)b->sized - (int)a->sized;
    if (order == 0)
        order = (a_binding == 2) - (b_binding == 2);
    if (order == 0)
        order = type_order(a->type) - type_order(b->type);
    if (order == 0)
        order = (int)strspn(a->name, "_") - (int)strspn(b->name, "_");
    if (order == 0)
        order = (a_length > b_length) - (a_length < b_length);
    if (order == 0)
        order = a_binding - b_binding;
    return order ? order : strcmp(a->name, b->name);
}

bool symbol_rank_is_better(const SymbolRank *a, const SymbolRank *b)
{
    return rank_compare(a, b) < 0;
}

/* ---- reading -------------------------------------------------------------------------------- */

static int append(SymbolTable *table, const Entry *entry)
{
    if (table->count == table->capacity) {
        size_t capacity = table->capacity ? table->capacity * 2 : 1024;
        Entry *bigger = realloc(table->entries, capacity * sizeof(*bigger));
        if (!bigger)
            return -ENOMEM;
        table->entries = bigger;
        table->capacity = capacity;
    }
    table->entries[table->count++] = *entry;
    return 0;
}

static bool is_function(const GElf_Sym *sym, const char *name)
{
    unsigned char type = GELF_ST_TYPE(sym->st_info);
    if (sym->st_shndx == SHN_UNDEF || sym->st_shndx == SHN_ABS || !name || !*name)
        return false;
    if (type == STT_FUNC || type == STT_GNU_IFUNC)
        return true;
    return type == STT_NOTYPE && name[0] != '$' && name[0] != '.'; /* not $x of ARM, not .Lfoo */
}

static const char *intern_unversioned(SymbolArena *arena, const char *name)
{
    const char *at = strchr(name, '@');
    if (!at || at == name)
        return symbol_arena_intern(arena, name);
    char *copy = strndup(name, (size_t)(at - name));
    const char *interned = symbol_arena_intern(arena, copy);
    free(copy);
    return interned;
}

typedef struct SymbolSection {
    Elf *elf;
    size_t strings; /* section of the names */
    Elf_Data *symbols;
    Elf_Data *indexes; /* SHT_SYMTAB_SHNDX or NULL */
    bool unsized;      /* take symbols without size */
} SymbolSection;

static int append_symbol(SymbolTable *table, SymbolArena *arena, const SymbolSection *in, int index)
{
    GElf_Sym sym;
    Elf32_Word section = 0;
    if (!gelf_getsymshndx(in->symbols, in->indexes, index, &sym, &section))
        return 0;
    const char *name = elf_strptr(in->elf, in->strings, sym.st_name);
    if (!is_function(&sym, name) || (sym.st_size == 0 && !in->unsized))
        return 0;
    if (sym.st_shndx != SHN_XINDEX)
        section = sym.st_shndx;
    GElf_Shdr header;
    Elf_Scn *scn = elf_getscn(in->elf, section);
    if (!scn || !gelf_getshdr(scn, &header) || !(header.sh_flags & SHF_EXECINSTR))
        return 0;
    uint64_t limit = header.sh_addr + header.sh_size;
    if (sym.st_value < header.sh_addr || sym.st_value >= limit)
        return 0;
    uint64_t size = sym.st_size < limit - sym.st_value ? sym.st_size : limit - sym.st_value;
    Entry entry = {.start = sym.st_value,
                   .end = sym.st_value + size,
                   .limit = limit,
                   .rank = {.name = intern_unversioned(arena, name),
                            .binding = GELF_ST_BIND(sym.st_info),
                            .type = GELF_ST_TYPE(sym.st_info),
                            .sized = sym.st_size != 0}};
    return entry.rank.name ? append(table, &entry) : -ENOMEM;
}

static Elf_Data *find_indexes(Elf *elf, size_t symtab)
{
    for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
        GElf_Shdr header;
        if (gelf_getshdr(scn, &header) && header.sh_type == SHT_SYMTAB_SHNDX &&
            header.sh_link == symtab)
            return elf_getdata(scn, NULL);
    }
    return NULL;
}

static int append_section(SymbolTable *table, SymbolArena *arena, Elf *elf, uint32_t type)
{
    for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
        GElf_Shdr header;
        if (!gelf_getshdr(scn, &header) || header.sh_type != type || header.sh_entsize == 0)
            continue;
        SymbolSection in = {.elf = elf,
                            .strings = header.sh_link,
                            .symbols = elf_getdata(scn, NULL),
                            .indexes = find_indexes(elf, elf_ndxscn(scn)),
                            .unsized = type == SHT_SYMTAB};
        size_t count = in.symbols ? in.symbols->d_size / header.sh_entsize : 0;
        for (size_t i = 1; i < count && i < INT32_MAX; i++) {
            int r = append_symbol(table, arena, &in, (int)i);
            if (r < 0)
                return r;
        }
    }
    return 0;
}

/* ---- .gnu_debugdata ------------------------------------------------------------------------- */

static void *grow(void *memory, size_t *capacity)
{
    size_t bigger = *capacity ? *capacity * 2 : (size_t)1 << 20;
    void *out = bigger <= DEBUGDATA_BYTES_MAX ? realloc(memory, bigger) : NULL;
    if (!out)
        free(memory);
    *capacity = bigger;
    return out;
}

/* malloc'd, NULL: broken, too large, or no memory. */
static void *decompress_xz(const uint8_t *bytes, size_t size, size_t *ret_size)
{
    lzma_stream stream = LZMA_STREAM_INIT;
    if (lzma_stream_decoder(&stream, DEBUGDATA_MEMORY_MAX, 0) != LZMA_OK)
        return NULL;
    uint8_t *out = NULL;
    size_t capacity = 0;
    lzma_ret r = LZMA_OK;
    stream.next_in = bytes;
    stream.avail_in = size;
    while (r == LZMA_OK && (stream.avail_out || (out = grow(out, &capacity)))) {
        stream.next_out = out + stream.total_out;
        stream.avail_out = capacity - stream.total_out;
        r = lzma_code(&stream, LZMA_FINISH);
    }
    *ret_size = stream.total_out;
    lzma_end(&stream);
    if (r == LZMA_STREAM_END)
        return out;
    free(out);
    return NULL;
}

static int append_debugdata(SymbolTable *table, SymbolArena *arena, const SymbolFile *file)
{
    const uint8_t *bytes;
    size_t size;
    if (symbol_file_bytes(file, ".gnu_debugdata", &bytes, &size) < 0)
        return 0;
    void *image = decompress_xz(bytes, size, &size);
    SymbolFile *inner = NULL;
    if (!image || symbol_file_open_memory(image, size, ".gnu_debugdata", &inner) < 0)
        return 0;
    int r = append_section(table, arena, inner->elf, SHT_SYMTAB);
    symbol_file_close(inner);
    return r;
}

/* ---- building ------------------------------------------------------------------------------- */

static int entry_compare(const void *left, const void *right)
{
    const Entry *a = left, *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return rank_compare(&a->rank, &b->rank);
}

static void keep_best(SymbolTable *table)
{
    size_t kept = 0;
    for (size_t i = 0; i < table->count; i++)
        if (kept == 0 || table->entries[kept - 1].start != table->entries[i].start)
            table->entries[kept++] = table->entries[i];
    table->count = kept;
}

static void bound_unsized(SymbolTable *table)
{
    uint64_t reach = 0;
    for (size_t i = 0; i < table->count; i++) {
        Entry *entry = &table->entries[i];
        if (!entry->rank.sized) {
            entry->end = entry->limit;
            if (i + 1 < table->count && entry[1].start < entry->end)
                entry->end = entry[1].start;
        }
        reach = entry->end > reach ? entry->end : reach;
        entry->reach = reach;
    }
}

static int append_file(SymbolTable *table, SymbolArena *arena, const SymbolFile *file)
{
    if (!file)
        return 0;
    int r = append_section(table, arena, file->elf, SHT_SYMTAB);
    if (r == 0)
        r = append_section(table, arena, file->elf, SHT_DYNSYM);
    return r < 0 ? r : append_debugdata(table, arena, file);
}

int symbol_table_new(const SymbolFiles *files, SymbolArena *arena, SymbolTable **ret_table)
{
    SymbolTable *table = calloc(1, sizeof(*table));
    if (!table)
        return -ENOMEM;
    int r = append_file(table, arena, files->main);
    if (r == 0)
        r = append_file(table, arena, files->debug);
    if (r < 0) {
        symbol_table_free(table);
        return r;
    }
    if (table->count)
        qsort(table->entries, table->count, sizeof(*table->entries), entry_compare);
    keep_best(table);
    bound_unsized(table);
    *ret_table = table;
    return 0;
}

void symbol_table_free(SymbolTable *table)
{
    if (!table)
        return;
    free(table->entries);
    free(table);
}

/* ---- look-up -------------------------------------------------------------------------------- */

/* Number of entries that start at or before ADDRESS. */
static size_t count_up_to(const SymbolTable *table, uint64_t address)
{
    size_t low = 0, high = table->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (table->entries[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const char *symbol_table_find(const SymbolTable *table, uint64_t address)
{
    const Entry *unsized = NULL;
    for (size_t i = count_up_to(table, address); i-- > 0;) {
        const Entry *entry = &table->entries[i];
        if (entry->reach <= address)
            break;
        if (address >= entry->end)
            continue;
        if (entry->rank.sized)
            return entry->rank.name;
        if (!unsized)
            unsized = entry;
    }
    return unsized ? unsized->rank.name : NULL;
}

const char *symbol_table_find_start(const SymbolTable *table, uint64_t address)
{
    size_t count = count_up_to(table, address);
    if (count == 0 || table->entries[count - 1].start != address)
        return NULL;
    return table->entries[count - 1].rank.name;
}
