// SPDX-License-Identifier: Apache-2.0
/*
 * See long_code.h. Functions come from the symbol tables of both files. Each has SLOTS call sites
 * at fixed places inside it; a hash of (function, site) says whom that site calls. A new stack
 * takes over the outer part of an earlier one, turns off at another call site and goes on by the
 * hash to a depth of its own: so outer parts are shared, as in a real tree of calls, and the same
 * function is met below many callers. A stack that is there already is made again.
 *
 * Load biases are made up: with the real ones two runs would write different files.
 */
#include "long_code.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bits.h"

enum { SLOTS = 8, CALLS = 6, SEGMENTS_MAX = 8, MIN_FUNCTION = 24, ROOT_FRAMES = 3 };

typedef struct Module {
    char path[4096];
    uint64_t bias;
    Elf64_Phdr loads[SEGMENTS_MAX];
    size_t load_count;
    uint8_t build_id[32];
    size_t build_id_bytes;
} Module;

typedef struct Function {
    uint64_t addr, size;
    uint8_t module;
} Function;

typedef struct Path {
    uint32_t frame[CODE_DEPTH_MAX]; /* function * SLOTS + site, outermost first */
    uint32_t depth;
} Path;

static Module modules[2] = {{.bias = 0x555555554000}, {.bias = 0x7ffff7c00000}};
static Function *functions;
static uint32_t function_count, root_functions[2][ROOT_FRAMES];
static uint64_t code_seed;
static Path *paths;
static uint64_t *known; /* hashes of paths, open addressing, 0: free */
static size_t known_mask, frames_defined;
static uint8_t *frame_is_defined;

static void die(const char *what)
{
    perror(what);
    exit(1);
}

uint64_t code_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state * UINT64_C(0x2545f4914f6cdd1d);
}

static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t x = (a ^ code_seed) + (b + 1) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 31) * UINT64_C(0xbf58476d1ce4e5b9);
    return x ^ x >> 29;
}

/* ---- the two files --------------------------------------------------------------------------- */

static void read_program_headers(Module *module, const uint8_t *file)
{
    const Elf64_Ehdr *head = (const void *)file;
    const Elf64_Phdr *headers = (const void *)(file + head->e_phoff);

    for (unsigned i = 0; i < head->e_phnum; i++) {
        const Elf64_Nhdr *note = (const void *)(file + headers[i].p_offset);
        if (headers[i].p_type == PT_LOAD && module->load_count < SEGMENTS_MAX)
            module->loads[module->load_count++] = headers[i];
        if (headers[i].p_type != PT_NOTE || note->n_type != NT_GNU_BUILD_ID ||
            note->n_descsz > sizeof module->build_id)
            continue;
        module->build_id_bytes = note->n_descsz;
        memcpy(module->build_id, (const uint8_t *)(note + 1) + 4, note->n_descsz); /* "GNU" */
    }
}

static int by_address(const void *a, const void *b)
{
    const Function *x = a, *y = b;

    return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static void read_symbols(unsigned module, const uint8_t *file, const Elf64_Shdr *table)
{
    const Elf64_Sym *symbols = (const void *)(file + table->sh_offset);
    size_t count = table->sh_size / sizeof *symbols, kept = function_count, first = function_count;

    functions = realloc(functions, (function_count + count) * sizeof *functions);
    if (!functions)
        die("long_code");
    for (size_t i = 0; i < count; i++) {
        if (ELF64_ST_TYPE(symbols[i].st_info) == STT_FUNC && symbols[i].st_shndx != SHN_UNDEF &&
            symbols[i].st_size >= MIN_FUNCTION)
            functions[function_count++] =
                (Function){symbols[i].st_value, symbols[i].st_size, (uint8_t)module};
    }
    /* Aliases: one address is one function. */
    qsort(functions + first, function_count - first, sizeof *functions, by_address);
    for (size_t i = first; i < function_count; i++) {
        if (kept == first || functions[kept - 1].addr != functions[i].addr)
            functions[kept++] = functions[i];
    }
    function_count = (uint32_t)kept;
}

/* The full table where there is one, else the exported names. */
static const Elf64_Shdr *symbol_section(const uint8_t *file)
{
    const Elf64_Ehdr *head = (const void *)file;
    const Elf64_Shdr *sections = (const void *)(file + head->e_shoff), *found = NULL;

    for (unsigned i = 0; i < head->e_shnum; i++) {
        if (sections[i].sh_type == SHT_SYMTAB)
            return &sections[i];
        if (sections[i].sh_type == SHT_DYNSYM)
            found = &sections[i];
    }
    return found;
}

static uint32_t function_named(const uint8_t *file, const Elf64_Shdr *table, unsigned module,
                               const char *name)
{
    const Elf64_Ehdr *head = (const void *)file;
    const Elf64_Shdr *sections = (const void *)(file + head->e_shoff);
    const char *names = (const char *)file + sections[table->sh_link].sh_offset;
    const Elf64_Sym *symbols = (const void *)(file + table->sh_offset);

    for (size_t i = 0; i < table->sh_size / sizeof *symbols; i++) {
        if (strcmp(names + symbols[i].st_name, name) != 0)
            continue;
        for (uint32_t k = 0; k < function_count; k++) {
            if (functions[k].module == module && functions[k].addr == symbols[i].st_value)
                return k;
        }
    }
    return module ? function_count - 1 : 0;
}

/* Outermost frames: the main thread's, and those of a thread of its own. */
static void load_module(unsigned index)
{
    static const char *const outer[2][2 * ROOT_FRAMES] = {
        {"_start", NULL, "main", NULL, NULL, "main"},
        {NULL, "__libc_start_main", NULL, "clone", "pthread_create", NULL}};
    Module *module = &modules[index];
    struct stat status;
    int fd = open(module->path, O_RDONLY | O_CLOEXEC);

    if (fd < 0 || fstat(fd, &status) < 0)
        die(module->path);
    const uint8_t *file = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    const Elf64_Shdr *table = file == MAP_FAILED ? NULL : symbol_section(file);
    if (!table)
        die(module->path);
    read_program_headers(module, file);
    read_symbols(index, file, table);
    for (unsigned i = 0; i < 2 * ROOT_FRAMES; i++) {
        if (outer[index][i])
            root_functions[i / ROOT_FRAMES][i % ROOT_FRAMES] =
                function_named(file, table, index, outer[index][i]);
    }
    munmap((void *)file, (size_t)status.st_size);
    close(fd);
}

static int find_libc(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    if (!strstr(info->dlpi_name, "/libc.so") && !strstr(info->dlpi_name, "/libc-"))
        return 0;
    if (!realpath(info->dlpi_name, context))
        die(info->dlpi_name);
    return 1;
}

void code_load(uint64_t seed)
{
    code_seed = seed;
    if (!realpath("/proc/self/exe", modules[0].path))
        die("/proc/self/exe");
    if (!dl_iterate_phdr(find_libc, modules[1].path)) {
        fputs("long_code: no libc among the loaded modules\n", stderr);
        exit(1);
    }
    load_module(0);
    load_module(1);
    frame_is_defined = calloc(function_count, SLOTS);
    if (!frame_is_defined)
        die("long_code");
}

/* ---- stacks ---------------------------------------------------------------------------------- */

/* Adds frames from FUNCTION on until DEPTH is reached; the last call site is one of those that
 * allocate. Callees lie near their callers in the table: modules call themselves mostly. */
static void extend(Path *path, uint32_t function, uint32_t depth, uint64_t *random)
{
    while (path->depth < depth) {
        bool leaf = path->depth + 1 == depth;
        uint32_t site = (uint32_t)(leaf ? CALLS + code_random(random) % (SLOTS - CALLS)
                                        : code_random(random) % CALLS);
        path->frame[path->depth++] = function * SLOTS + site;
        uint64_t next = mix(function, site);
        function = next % 4 ? (function + 1 + (uint32_t)(next >> 8) % 97) % function_count
                            : (uint32_t)(next >> 8) % function_count;
    }
}

static bool is_new(const Path *path)
{
    uint64_t hash = path->depth;

    for (uint32_t i = 0; i < path->depth; i++)
        hash = mix(hash, path->frame[i]);
    size_t at = (hash | 1) & known_mask;
    while (known[at] && known[at] != (hash | 1))
        at = (at + 1) & known_mask;
    if (known[at])
        return false;
    known[at] = hash | 1;
    return true;
}

static void make_path(uint32_t number, uint64_t *random)
{
    Path *path = &paths[number];
    uint32_t depth = 8 + (uint32_t)(code_random(random) % (CODE_DEPTH_MAX - 7));
    uint32_t kept = ROOT_FRAMES - 1, function = 0;

    if (number > 1) {
        const Path *other = &paths[code_random(random) % number];
        kept += (uint32_t)(code_random(random) % (other->depth - kept));
        memcpy(path->frame, other->frame, kept * sizeof *path->frame);
        function = other->frame[kept] / SLOTS;
    } else {
        const uint32_t *root = root_functions[number];
        for (kept = 0; kept < ROOT_FRAMES; kept++)
            path->frame[kept] = root[kept] * SLOTS;
        function = (uint32_t)(code_random(random) % function_count);
    }
    path->depth = kept;
    extend(path, function, depth > kept ? depth : kept + 1, random);
}

void code_make_stacks(uint32_t stacks)
{
    uint64_t random = mix(stacks, 1) | 1;
    size_t cells = 64;

    while (cells < stacks * (size_t)3)
        cells *= 2;
    paths = calloc(stacks, sizeof *paths);
    known = calloc(cells, sizeof *known);
    if (!paths || !known)
        die("long_code");
    known_mask = cells - 1;
    for (uint32_t i = 0; i < stacks; i++) {
        do
            make_path(i, &random);
        while (!is_new(&paths[i]));
    }
}

/* ---- encoding -------------------------------------------------------------------------------- */

void code_put_modules(WireBuffer *into, uint64_t time_ns)
{
    for (unsigned m = 0; m < 2; m++) {
        size_t at = wire_begin(into, 5);
        wire_string(into, 1, modules[m].path);
        wire_uint(into, 2, modules[m].bias);
        for (size_t i = 0; i < modules[m].load_count; i++) {
            size_t segment = wire_begin(into, 3);
            wire_uint(into, 1, modules[m].loads[i].p_vaddr);
            wire_uint(into, 2, modules[m].loads[i].p_memsz);
            wire_end(into, segment);
        }
        wire_uint(into, 100, m + 1);
        wire_bytes(into, 101, modules[m].build_id, modules[m].build_id_bytes);
        wire_uint(into, 102, time_ns);
        wire_end(into, at);
    }
}

static void put_frame(WireBuffer *into, uint32_t frame)
{
    const Function *function = &functions[frame / SLOTS];

    if (frame_is_defined[frame])
        return;
    frame_is_defined[frame] = 1;
    frames_defined++;
    /* A return address: behind a call of five bytes that lies inside. */
    uint64_t offset = 6 + mix(frame, 7) % (function->size - 8);
    size_t at = wire_begin(into, 3);
    wire_uint(into, 1, frame + 1);
    wire_uint(into, 2, modules[function->module].bias + function->addr + offset);
    wire_uint(into, 100, function->module + 1u);
    wire_end(into, at);
}

void code_put_stack(WireBuffer *into, uint32_t stack)
{
    const Path *path = &paths[stack];

    for (uint32_t i = 0; i < path->depth; i++)
        put_frame(into, path->frame[i]);
    size_t at = wire_begin(into, 4);
    wire_uint(into, 1, stack + 1);
    size_t list = wire_begin(into, 2);
    for (uint32_t i = path->depth; i > 0; i--)
        wire_varint(into, path->frame[i - 1] + 1);
    wire_end(into, list);
    wire_end(into, at);
}

size_t code_frame_count(void)
{
    return frames_defined;
}
