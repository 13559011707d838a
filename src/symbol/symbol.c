// SPDX-License-Identifier: Apache-2.0
/*
 * Purpose: the symbolizer itself: modules, answers in memory and on disk, and the choice between
 * DWARF and ELF symbols for each frame.
 *
 * A module is known by path and build-id. Its files are searched for when an answer is needed that
 * nobody has given yet (symbol_adopt());
 * DWARF and symbol tables are read only when an address is in neither cache. DWARF gives functions,
 * inline frames and lines; where it has no function, or a function without a linkage name whose
 * symbol is mangled, the ELF symbol gives the name. No name at all is an answer too.
 *
 * Answers live in an arena until symbol_close(), which also saves those of each module that got new
 * ones. One thread at a time.
 */
#include "symbol/symbol.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "symbol/demangle.h"
#include "symbol/symbol_arena.h"
#include "symbol/symbol_cache.h"
#include "symbol/symbol_dwarf.h"
#include "symbol/symbol_find.h"
#include "symbol/symbol_table.h"

typedef struct Module {
    struct Module *next;      /* all, newest first */
    struct Module *same_hash; /* in Symbolizer.modules */
    SymbolModuleInfo info;    /* texts and bytes in the arena */
    SymbolFiles files;
    SymbolCacheKey key;
    SymbolCache *cache; /* NULL: none on disk */
    SymbolTable *table;
    SymbolDwarf *dwarf;
    bool opened; /* files, key and cache are there */
    bool table_tried, dwarf_tried;
    bool source_known; /* source and source_path were given */
    SymbolSource source;
    const char *source_path;
    bool changed;      /* there are answers that the disk does not have */
    bool provisional;  /* answers that may get better by themselves: not for the disk */
    SymbolMap answers; /* pc -> SymbolAnswer */
} Module;

struct Symbolizer {
    SymbolOptions options;
    const char **debug_dirs;
    char *cache_folder; /* NULL: no disk cache */
    SymbolArena arena;
    SymbolMap modules; /* hash of path and build-id -> chain of Module */
    Module *all;
    SymbolFrame unknown;
};

/* ---- open and close ------------------------------------------------------------------------- */

static int copy_options(Symbolizer *s, const SymbolOptions *options)
{
    size_t count = 0;
    while (options->debug_dirs && options->debug_dirs[count])
        count++;
    s->options = *options;
    s->arena.shared = options->texts;
    s->debug_dirs = calloc(count + 1, sizeof(*s->debug_dirs));
    s->options.sysroot = symbol_arena_intern(&s->arena, options->sysroot);
    if (!s->debug_dirs || (options->sysroot && !s->options.sysroot))
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        if (!(s->debug_dirs[i] = symbol_arena_intern(&s->arena, options->debug_dirs[i])))
            return -ENOMEM;
    s->options.debug_dirs = s->debug_dirs;
    if (!options->no_disk_cache)
        s->cache_folder = symbol_cache_folder();
    return 0;
}

int symbol_open(const SymbolOptions *options, Symbolizer **ret_symbolizer)
{
    static const SymbolOptions defaults;
    Symbolizer *s = calloc(1, sizeof(*s));
    if (!s)
        return -ENOMEM;
    int r = copy_options(s, options ? options : &defaults);
    if (r < 0)
        symbol_close(s);
    else
        *ret_symbolizer = s;
    return r;
}

/* Answers that came from the disk and were not asked for this time stay in the file. */
static void keep_cached(Symbolizer *s, Module *m)
{
    for (size_t i = 0; i < symbol_cache_count(m->cache); i++) {
        uint64_t pc = symbol_cache_pc(m->cache, i);
        if (symbol_map_find(&m->answers, pc))
            continue;
        SymbolAnswer *answer = symbol_cache_find(m->cache, &s->arena, pc);
        if (answer && symbol_map_put(&m->answers, pc, answer) < 0)
            return;
    }
}

static bool module_save(Symbolizer *s, Module *m)
{
    if (!s->cache_folder || !m->changed || m->provisional || !m->key.fingerprint)
        return false;
    keep_cached(s, m);
    SymbolAnswer **answers = calloc(m->answers.count + 1, sizeof(*answers));
    size_t count = 0;
    for (size_t i = 0; answers && i < m->answers.capacity; i++)
        if (m->answers.slots[i].value)
            answers[count++] = m->answers.slots[i].value;
    bool saved = answers && symbol_cache_save(s->cache_folder, &m->key, answers, count) == 0;
    free(answers);
    return saved;
}

static void module_done(Module *m)
{
    symbol_dwarf_free(m->dwarf);
    symbol_table_free(m->table);
    symbol_cache_free(m->cache);
    symbol_find_done(&m->files);
    symbol_map_done(&m->answers);
}

void symbol_close(Symbolizer *s)
{
    if (!s)
        return;
    bool saved = false;
    for (Module *m = s->all; m; m = m->next) {
        saved |= module_save(s, m);
        module_done(m);
    }
    if (saved)
        symbol_cache_trim(s->cache_folder, SYMBOL_CACHE_FOLDER_BYTES);
    symbol_map_done(&s->modules);
    symbol_arena_done(&s->arena);
    free(s->debug_dirs);
    free(s->cache_folder);
    free(s);
}

const char *symbol_intern(Symbolizer *s, const char *text)
{
    return symbol_arena_intern(&s->arena, text);
}

/* ---- modules -------------------------------------------------------------------------------- */

static uint64_t module_hash(const char *path, const SymbolModuleInfo *info)
{
    uint64_t hash = hash_mix((uintptr_t)path, info->build_id_size + info->deleted);
    for (size_t i = 0; i < info->build_id_size; i++)
        hash = hash_mix(hash, info->build_id[i]);
    for (size_t i = 0; !info->build_id_size && i < info->segment_count; i++)
        hash = hash_mix(hash_mix(hash, info->segments[i].addr), info->segments[i].size);
    return hash;
}

static bool module_is(const Module *m, const char *path, const SymbolModuleInfo *info)
{
    const SymbolModuleInfo *own = &m->info;
    if (own->path != path || own->build_id_size != info->build_id_size ||
        own->deleted != info->deleted)
        return false;
    if (info->build_id_size)
        return memcmp(own->build_id, info->build_id, info->build_id_size) == 0;
    return own->segment_count == info->segment_count &&
           (!info->segment_count || memcmp(own->segments, info->segments,
                                           info->segment_count * sizeof(*info->segments)) == 0);
}

static void *arena_copy(SymbolArena *arena, const void *data, size_t bytes)
{
    void *copy = symbol_arena_take(arena, bytes);
    return copy && bytes ? memcpy(copy, data, bytes) : copy;
}

static Module *module_new(Symbolizer *s, const char *path, const SymbolModuleInfo *info)
{
    Module *m = symbol_arena_take(&s->arena, sizeof(*m));
    if (!m)
        return NULL;
    m->info = *info;
    m->info.path = path;
    m->info.build_id = arena_copy(&s->arena, info->build_id, info->build_id_size);
    m->info.segments =
        arena_copy(&s->arena, info->segments, info->segment_count * sizeof(*info->segments));
    if (!m->info.build_id || !m->info.segments)
        return NULL;
    m->next = s->all;
    s->all = m;
    return m;
}

static void module_open(Symbolizer *s, Module *m)
{
    if (m->opened)
        return;
    m->opened = true;
    symbol_find_files(&s->options, &m->info, &m->files);
    symbol_cache_key(&m->files, &m->key);
    if (s->options.is_cancelled && s->options.is_cancelled(s->options.cancel_context))
        m->provisional = true; /* a file may be missing that could have been had */
    if (s->cache_folder)
        symbol_cache_load(s->cache_folder, &m->key, &m->cache);
}

static int module_get(Symbolizer *s, const SymbolModuleInfo *given, Module **ret_module)
{
    SymbolModuleInfo info = *given;
    if (!info.build_id || info.build_id_size > BUILD_ID_MAX)
        info.build_id_size = 0;
    if (!info.segments)
        info.segment_count = 0;
    const char *path = symbol_arena_intern(&s->arena, info.path ? info.path : "");
    if (!path)
        return -ENOMEM;
    uint64_t hash = module_hash(path, &info);
    Module *first = symbol_map_find(&s->modules, hash);
    Module *m = first;
    while (m && !module_is(m, path, &info))
        m = m->same_hash;
    if (!m) {
        m = module_new(s, path, &info);
        if (!m)
            return -ENOMEM;
        m->same_hash = first;
        int r = symbol_map_put(&s->modules, hash, m);
        if (r < 0)
            return r;
    }
    *ret_module = m;
    return 0;
}

/* ---- names ---------------------------------------------------------------------------------- */

static bool is_mangled(const char *raw)
{
    return strncmp(raw, "_Z", 2) == 0 || strncmp(raw, "_R", 2) == 0 || strncmp(raw, "_D", 2) == 0 ||
           demangle_swift_is(raw);
}

/* Sets raw and function of FRAME from a symbol. */
static int name_frame(Symbolizer *s, Module *m, const char *raw, SymbolFrame *frame)
{
    frame->raw = frame->function = symbol_arena_intern(&s->arena, raw);
    if (!frame->raw)
        return -ENOMEM;
    if (!is_mangled(raw))
        return 0;
    char *demangled = symbol_demangle(raw);
    if (demangled)
        frame->function = symbol_arena_intern(&s->arena, demangled);
    else if (demangle_swift_is(raw))
        m->provisional = true; /* its demangler may be installed later */
    free(demangled);
    return frame->function ? 0 : -ENOMEM;
}

static int name_in_scope(Symbolizer *s, const DwarfFrame *from, SymbolFrame *frame)
{
    char *full = NULL;
    if (asprintf(&full, "%s::%s", from->scope, from->name) < 0)
        return -ENOMEM;
    frame->raw = symbol_arena_intern(&s->arena, from->name);
    frame->function = symbol_arena_intern(&s->arena, full);
    free(full);
    return frame->raw && frame->function ? 0 : -ENOMEM;
}

static const SymbolTable *module_table(Symbolizer *s, Module *m)
{
    if (!m->table_tried && symbol_table_new(&m->files, &s->arena, &m->table) < 0)
        m->provisional = true;
    m->table_tried = true;
    return m->table;
}

static int fill_frame(Symbolizer *s, Module *m, uint64_t pc, const DwarfFrame *from,
                      SymbolFrame *frame)
{
    const char *linked = from->linkage_name, *symbol = NULL;
    const SymbolTable *table = NULL;
    frame->file = symbol_arena_intern(&s->arena, from->file);
    frame->line = from->line;
    frame->inlined = from->inlined;
    if (linked && (is_mangled(linked) || !from->name))
        return name_frame(s, m, linked, frame);
    if (linked) { /* C with an alias, e.g. fopen as __GI_fopen */
        frame->function = symbol_arena_intern(&s->arena, from->name);
        frame->raw = symbol_arena_intern(&s->arena, linked);
        return frame->function && frame->raw ? 0 : -ENOMEM;
    }
    if (!from->inlined && (table = module_table(s, m)))
        symbol = from->name ? symbol_table_find_start(table, from->entry_pc)
                            : symbol_table_find(table, pc);
    if (symbol && (!from->name || is_mangled(symbol)))
        return name_frame(s, m, symbol, frame);
    if (from->name && from->scope)
        return name_in_scope(s, from, frame);
    return from->name ? name_frame(s, m, from->name, frame) : 0;
}

static const SymbolDwarf *module_dwarf(Module *m)
{
    if (!m->dwarf_tried)
        symbol_dwarf_new(&m->files, &m->dwarf);
    m->dwarf_tried = true;
    return m->dwarf;
}

static int resolve_fresh(Symbolizer *s, Module *m, uint64_t pc, SymbolAnswer **ret_answer)
{
    DwarfFrame found[DWARF_FRAMES_MAX];
    int count = module_dwarf(m) ? symbol_dwarf_find(m->dwarf, pc, found) : 0;
    if (count < 0)
        return count;
    if (count == 0) {
        found[0] = (DwarfFrame){0};
        count = 1;
    }
    size_t bytes = sizeof(SymbolAnswer) + (size_t)count * sizeof(SymbolFrame);
    SymbolAnswer *answer = symbol_arena_take(&s->arena, bytes);
    int r = answer ? 0 : -ENOMEM;
    for (int i = 0; i < count; i++) {
        if (r == 0)
            r = fill_frame(s, m, pc, &found[i], &answer->frames[i]);
        free(found[i].scope);
    }
    if (r < 0)
        return r;
    if (m->dwarf && symbol_dwarf_is_partial(m->dwarf))
        m->provisional = true;
    answer->pc = pc;
    answer->count = (uint32_t)count;
    m->changed = true;
    *ret_answer = answer;
    return 0;
}

/* ---- interface ------------------------------------------------------------------------------ */

int symbol_resolve_address(Symbolizer *symbolizer, const SymbolModuleInfo *info, uint64_t file_pc,
                           const SymbolFrame **ret_frames)
{
    *ret_frames = &symbolizer->unknown;
    if (!info)
        return 1;
    Module *m;
    int r = module_get(symbolizer, info, &m);
    if (r < 0)
        return r;
    SymbolAnswer *answer = symbol_map_find(&m->answers, file_pc);
    if (!answer) {
        module_open(symbolizer, m);
        if (m->cache)
            answer = symbol_cache_find(m->cache, &symbolizer->arena, file_pc);
        if (!answer)
            r = resolve_fresh(symbolizer, m, file_pc, &answer);
        if (r == 0)
            r = symbol_map_put(&m->answers, file_pc, answer);
        if (r < 0)
            return r;
    }
    *ret_frames = answer->frames;
    return (int)answer->count;
}

int symbol_find_known(Symbolizer *symbolizer, const SymbolModuleInfo *info, uint64_t file_pc,
                      const SymbolFrame **ret_frames)
{
    Module *m;
    *ret_frames = &symbolizer->unknown;
    if (!info)
        return 1;
    if (module_get(symbolizer, info, &m) < 0)
        return 0;
    SymbolAnswer *answer = symbol_map_find(&m->answers, file_pc);
    if (!answer)
        return 0;
    *ret_frames = answer->frames;
    return (int)answer->count;
}

static int adopt_frame(Symbolizer *s, const SymbolFrame *from, SymbolFrame *to)
{
    to->function = symbol_arena_intern(&s->arena, from->function);
    to->raw = symbol_arena_intern(&s->arena, from->raw);
    to->file = symbol_arena_intern(&s->arena, from->file);
    to->line = from->line;
    to->inlined = from->inlined;
    return (from->function && !to->function) || (from->raw && !to->raw) || (from->file && !to->file)
               ? -ENOMEM
               : 0;
}

int symbol_adopt(Symbolizer *symbolizer, const SymbolModuleInfo *info, uint64_t file_pc,
                 const SymbolFrame *frames, size_t count)
{
    Module *m;
    int r = info ? module_get(symbolizer, info, &m) : 0;
    if (r < 0 || !info || symbol_map_find(&m->answers, file_pc))
        return r;
    SymbolAnswer *answer =
        symbol_arena_take(&symbolizer->arena, sizeof(*answer) + count * sizeof(*answer->frames));
    if (!answer)
        return -ENOMEM;
    for (size_t i = 0; r == 0 && i < count; i++)
        r = adopt_frame(symbolizer, &frames[i], &answer->frames[i]);
    answer->pc = file_pc;
    answer->count = (uint32_t)count;
    return r < 0 ? r : symbol_map_put(&m->answers, file_pc, answer);
}

int symbol_adopt_source(Symbolizer *symbolizer, const SymbolModuleInfo *info, SymbolSource source,
                        const char *path)
{
    Module *m;
    int r = module_get(symbolizer, info, &m);
    if (r < 0)
        return r;
    m->source = source;
    m->source_path = symbol_arena_intern(&symbolizer->arena, path);
    m->source_known = true;
    return 0;
}

SymbolSource symbol_source_of(Symbolizer *symbolizer, const SymbolModuleInfo *info,
                              const char **ret_path)
{
    Module *m;
    if (ret_path)
        *ret_path = NULL;
    if (module_get(symbolizer, info, &m) < 0)
        return SYMBOL_NONE;
    if (!m->source_known) {
        module_open(symbolizer, m);
        return symbol_find_source(&m->files, ret_path);
    }
    if (ret_path)
        *ret_path = m->source_path;
    return m->source;
}

const char *symbol_source_name(SymbolSource source)
{
    static const char *const names[] = {[SYMBOL_NONE] = "none",
                                        [SYMBOL_DYNSYM] = "dynsym",
                                        [SYMBOL_DEBUGDATA] = "debugdata",
                                        [SYMBOL_SYMTAB] = "symtab",
                                        [SYMBOL_DWARF] = "dwarf"};
    return (size_t)source < ARRAY_SIZE(names) ? names[source] : "none";
}
