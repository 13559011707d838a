// SPDX-License-Identifier: Apache-2.0
/*
 * Purpose: from an address to functions, inline frames and lines, by DWARF 2 to 5 (libdw reads it).
 *
 * Three indexes, each built when first needed, so that a few thousand addresses in a huge program
 * cost only the units that they fall into:
 *
 *   address ──► ranges of all units (once per module: the first DIE of every unit)
 *           ──► ranges of the functions of that unit (once per unit: its namespaces and types are
 *               walked, bodies of functions are not)
 *           ──► inlined subroutines (per address: the DIEs below that one function)
 *
 * .debug_aranges is not used: clang does not write it, and the ranges of the units' own DIEs say
 * the same. A unit's first walk also notes the scope of every function, for those that have no
 * linkage name (static functions of gcc), to say "ns::f" instead of "f". If no function of a unit
 * covers an address of it, the unit is walked once more with all bodies (nested functions of D,
 * Pascal, GNU C). Split units (.dwo) are opened by libdw through the skeleton, or by
 * symbol_split.c from a package (.dwp).
 *
 * One thread at a time. The input is hostile: depth, sizes and counts are bounded.
 */
#include "symbol/symbol_dwarf.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/symbol_arena.h"
#include "symbol/symbol_split.h"

#define DEPTH_MAX 64
#define NO_SCOPE  UINT32_MAX

typedef struct Range {
    uint64_t low, high;
    uint64_t reach; /* highest `high` of this and all before */
    uint64_t die;   /* unit index, or offset of the function's DIE */
} Range;

typedef struct Ranges {
    Range *items;
    size_t count, capacity;
} Ranges;

typedef struct Scope {
    const char *name;
    uint32_t parent; /* NO_SCOPE: top */
} Scope;

typedef struct Unit {
    Dwarf_Die skeleton; /* the unit in the main file: has the lines */
    Dwarf_Die die;      /* the unit that has the functions: the same, or the split one */
    Ranges functions;
    Scope *scopes;
    uint32_t scope_count, scope_capacity;
    SymbolSplit split;  /* from a package */
    SymbolMap scope_of; /* DIE offset of a function -> scope index + 1 */
    bool walked, walked_bodies;
} Unit;

struct SymbolDwarf {
    Dwarf *dwarf, *alt;
    const SymbolFile *file, *package; /* package: NULL if there is none */
    Ranges units;
    SymbolMap unit_of; /* address of the CU's DIE -> Unit */
    Unit **all;
    size_t count, capacity;
    bool partial;
};

/* ---- ranges --------------------------------------------------------------------------------- */

static int ranges_append(Ranges *ranges, uint64_t low, uint64_t high, uint64_t die)
{
    if (ranges->count == ranges->capacity) {
        size_t capacity = ranges->capacity ? ranges->capacity * 2 : 64;
        Range *bigger = realloc(ranges->items, capacity * sizeof(*bigger));
        if (!bigger)
            return -ENOMEM;
        ranges->items = bigger;
        ranges->capacity = capacity;
    }
    ranges->items[ranges->count++] = (Range){.low = low, .high = high, .die = die};
    return 0;
}

static int range_compare(const void *left, const void *right)
{
    const Range *a = left, *b = right;
    if (a->low != b->low)
        return a->low < b->low ? -1 : 1;
    if (a->high != b->high) /* the narrower one later: it is met first */
        return a->high > b->high ? -1 : 1;
    return a->die < b->die ? 1 : a->die > b->die ? -1 : 0;
}

static void ranges_sort(Ranges *ranges)
{
    if (ranges->count)
        qsort(ranges->items, ranges->count, sizeof(*ranges->items), range_compare);
    uint64_t reach = 0;
    for (size_t i = 0; i < ranges->count; i++) {
        reach = ranges->items[i].high > reach ? ranges->items[i].high : reach;
        ranges->items[i].reach = reach;
    }
}

/* The range that starts last among those that cover PC; NULL: none. */
static const Range *ranges_find(const Ranges *ranges, uint64_t pc)
{
    size_t low = 0, high = ranges->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ranges->items[middle].low <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    while (low-- > 0 && ranges->items[low].reach > pc)
        if (ranges->items[low].high > pc)
            return &ranges->items[low];
    return NULL;
}

/* Adds the ranges of DIE under the key KEY. Code that the linker dropped sits at 0, or at the
 * tombstones 1 and -1. */
static int append_die_ranges(Ranges *ranges, Dwarf_Die *die, uint64_t key)
{
    Dwarf_Addr base, low, high;
    ptrdiff_t at = 0;
    while ((at = dwarf_ranges(die, at, &base, &low, &high)) > 0) {
        if (low <= 1 || low >= high || low >= UINT64_MAX - 1)
            continue;
        int r = ranges_append(ranges, low, high, key);
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- units ---------------------------------------------------------------------------------- */

static bool is_split_skeleton(Dwarf_Die *die)
{
    return dwarf_hasattr(die, DW_AT_dwo_name) || dwarf_hasattr(die, DW_AT_GNU_dwo_name);
}

/* The Unit of a CU's DIE, made when new; NULL: no memory. */
static Unit *unit_get(SymbolDwarf *dwarf, const Dwarf_Die *cu_die)
{
    Unit *unit = symbol_map_find(&dwarf->unit_of, (uintptr_t)cu_die->addr);
    if (unit)
        return unit;
    if (dwarf->count == dwarf->capacity) {
        size_t capacity = dwarf->capacity ? dwarf->capacity * 2 : 64;
        Unit **bigger = realloc(dwarf->all, capacity * sizeof(*bigger));
        if (!bigger)
            return NULL;
        dwarf->all = bigger;
        dwarf->capacity = capacity;
    }
    unit = calloc(1, sizeof(*unit));
    if (!unit || symbol_map_put(&dwarf->unit_of, (uintptr_t)cu_die->addr, unit) < 0) {
        free(unit);
        return NULL;
    }
    unit->skeleton = unit->die = *cu_die;
    dwarf->all[dwarf->count++] = unit;
    return unit;
}

static int index_units(SymbolDwarf *dwarf)
{
    Dwarf_CU *cu = NULL;
    Dwarf_Die die;
    uint8_t type;
    while (dwarf_get_units(dwarf->dwarf, cu, &cu, NULL, &type, &die, NULL) == 0) {
        if (type != DW_UT_compile && type != DW_UT_skeleton)
            continue;
        Unit *unit = unit_get(dwarf, &die);
        if (!unit)
            return -ENOMEM;
        int r = append_die_ranges(&dwarf->units, &die, dwarf->count - 1);
        if (r < 0)
            return r;
    }
    ranges_sort(&dwarf->units);
    return 0;
}

/* ---- functions of a unit -------------------------------------------------------------------- */

static const char *attribute_text(Dwarf_Die *die, unsigned attribute)
{
    Dwarf_Attribute memory;
    Dwarf_Attribute *found = dwarf_attr_integrate(die, attribute, &memory);
    return found ? dwarf_formstring(found) : NULL;
}

static uint32_t scope_append(Unit *unit, const char *name, uint32_t parent)
{
    if (unit->scope_count == unit->scope_capacity) {
        uint32_t capacity = unit->scope_capacity ? unit->scope_capacity * 2 : 32;
        Scope *bigger = realloc(unit->scopes, capacity * sizeof(*bigger));
        if (!bigger)
            return parent;
        unit->scopes = bigger;
        unit->scope_capacity = capacity;
    }
    unit->scopes[unit->scope_count] = (Scope){name, parent};
    return unit->scope_count++;
}

static uint32_t scope_of_die(Unit *unit, Dwarf_Die *die, int tag, uint32_t parent)
{
    const char *name = dwarf_diename(die);
    if (!name)
        name = tag == DW_TAG_namespace ? "(anonymous namespace)" : "(anonymous class)";
    return scope_append(unit, name, parent);
}

static int walk(Unit *unit, Dwarf_Die *parent, uint32_t scope, int depth);

static int walk_function(Unit *unit, Dwarf_Die *die, uint32_t scope, int depth)
{
    int r = append_die_ranges(&unit->functions, die, dwarf_dieoffset(die));
    if (r == 0)
        r = symbol_map_put(&unit->scope_of, dwarf_dieoffset(die),
                           (void *)(uintptr_t)((uint64_t)scope + 1));
    if (r < 0 || !unit->walked_bodies || !dwarf_haschildren(die))
        return r;
    const char *name = attribute_text(die, DW_AT_name);
    return walk(unit, die, name ? scope_append(unit, name, scope) : scope, depth + 1);
}

static int walk_die(Unit *unit, Dwarf_Die *die, uint32_t scope, int depth)
{
    int tag = dwarf_tag(die);
    switch (tag) {
    case DW_TAG_subprogram:
        return walk_function(unit, die, scope, depth);
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_interface_type:
        if (!dwarf_haschildren(die))
            return 0;
        return walk(unit, die, scope_of_die(unit, die, tag, scope), depth + 1);
    case DW_TAG_enumeration_type: /* Rust: functions in an enum */
        return walk(unit, die, scope, depth + 1);
    case DW_TAG_lexical_block:
    case DW_TAG_inlined_subroutine:
        return unit->walked_bodies ? walk(unit, die, scope, depth + 1) : 0;
    default:
        return 0;
    }
}

static int walk(Unit *unit, Dwarf_Die *parent, uint32_t scope, int depth)
{
    Dwarf_Die die;
    if (depth > DEPTH_MAX || dwarf_child(parent, &die) != 0)
        return 0;
    do {
        int r = walk_die(unit, &die, scope, depth);
        if (r < 0)
            return r;
    } while (dwarf_siblingof(&die, &die) == 0);
    return 0;
}

/* Finds the split unit of a skeleton: libdw the .dwo file, we the package. */
static int unit_find_split(SymbolDwarf *dwarf, Unit *unit)
{
    Dwarf_Die split = {0};
    if (dwarf_cu_info(unit->skeleton.cu, NULL, NULL, NULL, &split, NULL, NULL, NULL) < 0)
        split.addr = NULL;
    if (!split.addr && dwarf->package &&
        symbol_split_open(dwarf->package, dwarf->file, &unit->skeleton, &unit->split) == 0)
        split = unit->split.die;
    if (!split.addr) {
        dwarf->partial = true;
        return 0;
    }
    unit->die = split;
    return symbol_map_put(&dwarf->unit_of, (uintptr_t)split.addr, unit);
}

static int unit_walk(SymbolDwarf *dwarf, Unit *unit, bool bodies)
{
    int r = 0;
    if (!unit->walked && is_split_skeleton(&unit->skeleton))
        r = unit_find_split(dwarf, unit);
    if (r < 0)
        return r;
    unit->walked = true;
    unit->walked_bodies = bodies;
    unit->functions.count = 0;
    r = walk(unit, &unit->die, NO_SCOPE, 0);
    ranges_sort(&unit->functions);
    return r;
}

static int unit_find_function(SymbolDwarf *dwarf, Unit *unit, uint64_t pc, Dwarf_Die *ret_die)
{
    int r = unit->walked ? 0 : unit_walk(dwarf, unit, false);
    if (r < 0)
        return r;
    const Range *range = ranges_find(&unit->functions, pc);
    if (!range && !unit->walked_bodies) {
        r = unit_walk(dwarf, unit, true);
        if (r < 0)
            return r;
        range = ranges_find(&unit->functions, pc);
    }
    Dwarf *owner = dwarf_cu_getdwarf(unit->die.cu);
    if (!range || !owner || !dwarf_offdie(owner, range->die, ret_die))
        return -ENOENT;
    return 0;
}

/* ---- inline frames -------------------------------------------------------------------------- */

static bool has_no_pc(Dwarf_Die *die)
{
    return !dwarf_hasattr(die, DW_AT_low_pc) && !dwarf_hasattr(die, DW_AT_ranges);
}

/* Appends the inlined subroutines below PARENT that cover PC to CHAIN, outermost first. */
static size_t find_inlined(Dwarf_Die *parent, uint64_t pc, Dwarf_Die *chain, size_t count,
                           int depth)
{
    Dwarf_Die die;
    if (depth > 2 * DWARF_FRAMES_MAX || count == DWARF_FRAMES_MAX || dwarf_child(parent, &die) != 0)
        return count;
    do {
        int tag = dwarf_tag(&die);
        bool block = tag == DW_TAG_lexical_block || tag == DW_TAG_try_block ||
                     tag == DW_TAG_catch_block || tag == DW_TAG_with_stmt;
        if (!block && tag != DW_TAG_inlined_subroutine)
            continue;
        bool covers = dwarf_haspc(&die, pc) > 0;
        if (!covers && !(block && has_no_pc(&die)))
            continue;
        size_t before = count;
        if (tag == DW_TAG_inlined_subroutine)
            chain[count++] = die;
        count = find_inlined(&die, pc, chain, count, depth + 1);
        if (covers || count > before)
            return count;
    } while (dwarf_siblingof(&die, &die) == 0);
    return count;
}

/* ---- texts ---------------------------------------------------------------------------------- */

/* Scope index of the function DIE in its unit, NO_SCOPE: at the top; -ENOENT: not a function of it.
 * Functions of types inside functions (lambdas) are known only when bodies have been walked. */
static int64_t find_scope(SymbolDwarf *dwarf, Unit *unit, Dwarf_Die *die)
{
    for (int bodies = 0; bodies < 2; bodies++) {
        bool walked = bodies ? unit->walked_bodies : unit->walked;
        if (!walked && unit_walk(dwarf, unit, bodies) < 0)
            return -ENOMEM;
        uintptr_t found = (uintptr_t)symbol_map_find(&unit->scope_of, dwarf_dieoffset(die));
        if (found)
            return (int64_t)found - 1;
    }
    return -ENOENT;
}

static char *join_scopes(const Unit *unit, uint32_t scope)
{
    char *text = NULL;
    for (int depth = 0; scope != NO_SCOPE && depth < DEPTH_MAX; depth++) {
        char *longer = NULL;
        int r = asprintf(&longer, "%s%s%s", unit->scopes[scope].name, text ? "::" : "",
                         text ? text : "");
        free(text);
        if (r < 0)
            return NULL;
        text = longer;
        scope = unit->scopes[scope].parent;
    }
    return text;
}

/* Follows abstract origins and specifications to the DIE that was written inside its scope. */
static char *scope_text(SymbolDwarf *dwarf, const Dwarf_Die *start)
{
    Dwarf_Die die = *start;
    for (int i = 0; i < 16; i++) {
        Dwarf_Attribute memory;
        Dwarf_Attribute *up = dwarf_attr(&die, DW_AT_abstract_origin, &memory);
        if (!up)
            up = dwarf_attr(&die, DW_AT_specification, &memory);
        if (up && dwarf_formref_die(up, &die))
            continue;
        Dwarf_Die cu;
        Unit *unit = dwarf_diecu(&die, &cu, NULL, NULL) ? unit_get(dwarf, &cu) : NULL;
        int64_t scope = unit ? find_scope(dwarf, unit, &die) : -ENOENT;
        return scope >= 0 ? join_scopes(unit, (uint32_t)scope) : NULL;
    }
    return NULL;
}

static void fill_name(SymbolDwarf *dwarf, Dwarf_Die *die, DwarfFrame *frame)
{
    frame->name = attribute_text(die, DW_AT_name);
    frame->linkage_name = attribute_text(die, DW_AT_linkage_name);
    if (!frame->linkage_name)
        frame->linkage_name = attribute_text(die, DW_AT_MIPS_linkage_name);
    if (!frame->linkage_name)
        frame->scope = scope_text(dwarf, die);
}

/* Where INLINED was called from: file and line of the next outer frame. A split unit that has no
 * table of files uses that of its skeleton. */
static void fill_call(SymbolDwarf *dwarf, Dwarf_Die *inlined, DwarfFrame *frame)
{
    Dwarf_Attribute memory;
    Dwarf_Word value;
    Dwarf_Die cu;
    Dwarf_Files *files;
    size_t count;
    if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &memory), &value) == 0)
        frame->line = (uint32_t)value;
    if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &memory), &value) < 0 ||
        !dwarf_diecu(inlined, &cu, NULL, NULL))
        return;
    Unit *unit = unit_get(dwarf, &cu);
    if (dwarf_getsrcfiles(&cu, &files, &count) < 0 &&
        (!unit || dwarf_getsrcfiles(&unit->skeleton, &files, &count) < 0))
        return;
    if (value < count)
        frame->file = dwarf_filesrc(files, (size_t)value, NULL, NULL);
}

static bool fill_line(Unit *unit, uint64_t pc, DwarfFrame *frame)
{
    Dwarf_Line *line = dwarf_getsrc_die(&unit->skeleton, pc);
    int number = 0;
    if (!line)
        return false;
    frame->file = dwarf_linesrc(line, NULL, NULL);
    if (dwarf_lineno(line, &number) == 0 && number > 0)
        frame->line = (uint32_t)number;
    return frame->file;
}

static uint64_t entry_of(Dwarf_Die *function)
{
    Dwarf_Addr entry, base, end;
    if (dwarf_entrypc(function, &entry) == 0 || dwarf_ranges(function, 0, &base, &entry, &end) > 0)
        return entry;
    return 0;
}

/* ---- interface ------------------------------------------------------------------------------ */

int symbol_dwarf_find(SymbolDwarf *dwarf, uint64_t pc, DwarfFrame *ret_frames)
{
    const Range *range = ranges_find(&dwarf->units, pc);
    if (!range)
        return 0;
    Unit *unit = dwarf->all[range->die];
    Dwarf_Die chain[DWARF_FRAMES_MAX];
    memset(ret_frames, 0, DWARF_FRAMES_MAX * sizeof(*ret_frames));
    int r = unit_find_function(dwarf, unit, pc, &chain[0]);
    if (r == -ENOENT)
        return fill_line(unit, pc, &ret_frames[0]) ? 1 : 0;
    if (r < 0)
        return r;
    size_t count = find_inlined(&chain[0], pc, chain, 1, 0);
    for (size_t i = 0; i < count; i++) {
        DwarfFrame *frame = &ret_frames[i];
        Dwarf_Die *die = &chain[count - 1 - i];
        fill_name(dwarf, die, frame);
        frame->inlined = i + 1 < count;
        if (i == 0)
            fill_line(unit, pc, frame);
        else
            fill_call(dwarf, die + 1, frame);
    }
    ret_frames[count - 1].entry_pc = entry_of(&chain[0]);
    return (int)count;
}

bool symbol_dwarf_is_partial(const SymbolDwarf *dwarf)
{
    return dwarf->partial;
}

int symbol_dwarf_new(const SymbolFiles *files, SymbolDwarf **ret_dwarf)
{
    const SymbolFile *file = files->debug && files->debug->has_dwarf ? files->debug : files->main;
    if (!file || !file->has_dwarf)
        return -ENOENT;
    SymbolDwarf *dwarf = calloc(1, sizeof(*dwarf));
    if (!dwarf)
        return -ENOMEM;
    int r = -ENOENT;
    dwarf->file = file;
    dwarf->package = files->package;
    dwarf->dwarf = dwarf_begin_elf(file->elf, DWARF_C_READ, NULL);
    if (dwarf->dwarf) {
        if (files->alt)
            dwarf->alt = dwarf_begin_elf(files->alt->elf, DWARF_C_READ, NULL);
        if (dwarf->alt)
            dwarf_setalt(dwarf->dwarf, dwarf->alt);
        r = index_units(dwarf);
    }
    if (r < 0)
        symbol_dwarf_free(dwarf);
    else
        *ret_dwarf = dwarf;
    return r;
}

void symbol_dwarf_free(SymbolDwarf *dwarf)
{
    if (!dwarf)
        return;
    for (size_t i = 0; i < dwarf->count; i++) {
        free(dwarf->all[i]->functions.items);
        free(dwarf->all[i]->scopes);
        symbol_map_done(&dwarf->all[i]->scope_of);
        symbol_split_close(&dwarf->all[i]->split);
        free(dwarf->all[i]);
    }
    free(dwarf->all);
    free(dwarf->units.items);
    symbol_map_done(&dwarf->unit_of);
    if (dwarf->dwarf)
        dwarf_end(dwarf->dwarf);
    if (dwarf->alt)
        dwarf_end(dwarf->alt);
    free(dwarf);
}
