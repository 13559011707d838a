// SPDX-License-Identifier: Apache-2.0
/*
 * Purpose: find the ELF, debug and supplementary files of a module, and never a wrong one.
 *
 * Order: the path as the process saw it, below the sysroot (and, only if the build-id proves it,
 * below "/"); then, unless that has DWARF, build-id folders (--debug-dir, /usr/lib/debug),
 * .gnu_debuglink (beside the file, .debug/, the debug roots), and debuginfod when asked. A build-id
 * in the profile must match exactly; without one the loadable segments must match, and a file that
 * is known to be gone or replaced is not used at all. A debug link is proven by build-id if both
 * files have one, by its CRC-32 otherwise. The vDSO is our own if it has the same build-id.
 *
 * Cost: a few opens per module; reading the whole debug file only for a CRC.
 */
#include "symbol/symbol_find.h"

#include <dlfcn.h>
#include <elfutils/debuginfod.h>
#include <errno.h>
#include <gelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>
#include <zlib.h>

#define DEBUG_ROOT "/usr/lib/debug"

/* ---- the mapped file ------------------------------------------------------------------------ */

static uint64_t page_up(uint64_t value)
{
    return (value + 4095) & ~UINT64_C(4095);
}

static bool has_segment(Elf *elf, size_t count, const struct ProfileSegment *want)
{
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr p;
        if (!gelf_getphdr(elf, (int)i, &p) || p.p_type != PT_LOAD || p.p_vaddr != want->addr)
            continue;
        uint64_t size = page_up(want->size);
        if (size == page_up(p.p_memsz) || size == page_up(p.p_filesz) ||
            size == page_up((p.p_vaddr & 4095) + p.p_memsz))
            return true;
    }
    return false;
}

/* Without build-ids: a rebuilt file nearly always differs in the size of a segment. */
static bool segments_match(const SymbolFile *file, const SymbolModuleInfo *module)
{
    size_t count;
    if (elf_getphdrnum(file->elf, &count) < 0)
        return false;
    for (size_t i = 0; i < module->segment_count; i++)
        if (!has_segment(file->elf, count, &module->segments[i]))
            return false;
    return true;
}

static bool is_module(const SymbolFile *file, const SymbolModuleInfo *module)
{
    if (module->build_id_size)
        return symbol_file_is(file, module->build_id, module->build_id_size);
    return !module->deleted && segments_match(file, module);
}

static SymbolFile *open_main(const char *root, const SymbolModuleInfo *module)
{
    SymbolFile *file = NULL;
    if (symbol_file_open(root, module->path, &file) < 0)
        return NULL;
    if (is_module(file, module))
        return file;
    symbol_file_close(file);
    return NULL;
}

static SymbolFile *open_vdso(const SymbolModuleInfo *module)
{
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
    if (!header || !module->build_id_size)
        return NULL;
    size_t bytes = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
    void *copy = malloc(bytes);
    if (!copy)
        return NULL;
    memcpy(copy, header, bytes);
    SymbolFile *file = NULL;
    if (symbol_file_open_memory(copy, bytes, "[vdso]", &file) < 0)
        return NULL;
    if (is_module(file, module))
        return file;
    symbol_file_close(file);
    return NULL;
}

/* ---- debug files by build-id ---------------------------------------------------------------- */

typedef struct BuildId {
    const uint8_t *bytes;
    size_t size;
} BuildId;

/* WANT of size 0: nothing to compare with. */
static SymbolFile *open_with_id(const char *root, const char *path, BuildId want)
{
    SymbolFile *file = NULL;
    if (symbol_file_open(root, path, &file) < 0)
        return NULL;
    if (symbol_file_is(file, want.bytes, want.size))
        return file;
    symbol_file_close(file);
    return NULL;
}

/* FORMAT takes the first byte and the rest of the build-id in hex. */
static SymbolFile *open_id_path(const char *root, const char *folder, BuildId id)
{
    if (id.size < 2)
        return NULL;
    char hex[2 * BUILD_ID_MAX + 1];
    for (size_t i = 0; i < id.size && i < BUILD_ID_MAX; i++)
        snprintf(hex + 2 * i, 3, "%02x", id.bytes[i]);
    char path[PATH_MAX];
    int n = snprintf(path, sizeof(path), "%s/%.2s/%s.debug", folder, hex, hex + 2);
    return n > 0 && (size_t)n < sizeof(path) ? open_with_id(root, path, id) : NULL;
}

static const char *absolute(const char *folder, char resolved[PATH_MAX])
{
    return folder[0] == '/' ? folder : realpath(folder, resolved);
}

static SymbolFile *find_by_id(const SymbolOptions *options, BuildId id)
{
    SymbolFile *file = NULL;
    for (const char *const *dir = options->debug_dirs; dir && *dir && !file; dir++) {
        char resolved[PATH_MAX], folder[PATH_MAX];
        const char *base = absolute(*dir, resolved);
        if (!base ||
            (size_t)snprintf(folder, sizeof(folder), "%s/.build-id", base) >= sizeof(folder))
            continue;
        file = open_id_path(NULL, folder, id);
        if (!file)
            file = open_id_path(NULL, base, id);
    }
    if (!file)
        file = open_id_path(options->sysroot, DEBUG_ROOT "/.build-id", id);
    if (!file && options->sysroot)
        file = open_id_path(NULL, DEBUG_ROOT "/.build-id", id);
    return file;
}

/* ---- .gnu_debuglink ------------------------------------------------------------------------- */

typedef struct DebugLink {
    const char *name;
    uint32_t crc;
} DebugLink;

static int get_debuglink(const SymbolFile *file, DebugLink *ret_link)
{
    const uint8_t *bytes;
    size_t size;
    int r = symbol_file_bytes(file, ".gnu_debuglink", &bytes, &size);
    if (r < 0)
        return r;
    size_t length = strnlen((const char *)bytes, size);
    size_t at = (length + 4) & ~(size_t)3; /* name, NUL, padding to 4, CRC */
    if (length == 0 || length == size || at + 4 > size || memchr(bytes, '/', length))
        return -EBADMSG;
    const uint8_t *c = bytes + at;
    unsigned char encoding = (unsigned char)elf_getident(file->elf, NULL)[EI_DATA];
    ret_link->name = (const char *)bytes;
    ret_link->crc = encoding == ELFDATA2MSB
                        ? (uint32_t)c[0] << 24 | (uint32_t)c[1] << 16 | (uint32_t)c[2] << 8 | c[3]
                        : (uint32_t)c[3] << 24 | (uint32_t)c[2] << 16 | (uint32_t)c[1] << 8 | c[0];
    return 0;
}

static bool crc_matches(const SymbolFile *file, uint32_t want)
{
    size_t size;
    const char *image = elf_rawfile(file->elf, &size);
    return image && (uint32_t)crc32_z(0, (const Bytef *)image, size) == want;
}

static SymbolFile *open_link(const char *root, const char *folder, const DebugLink *link,
                             const SymbolFile *main)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof(path), "%s/%s", folder, link->name);
    SymbolFile *file = NULL;
    if (n <= 0 || (size_t)n >= sizeof(path) || symbol_file_open(root, path, &file) < 0)
        return NULL;
    bool same = file->st.st_ino == main->st.st_ino && file->st.st_dev == main->st.st_dev;
    bool right = main->build_id_size && file->build_id_size
                     ? symbol_file_is(file, main->build_id, main->build_id_size)
                     : crc_matches(file, link->crc);
    if (right && !same)
        return file;
    symbol_file_close(file);
    return NULL;
}

/* FOLDER: where the file lies, in the sysroot's terms. */
static SymbolFile *find_by_link_in(const SymbolOptions *options, const char *root,
                                   const char *folder, const DebugLink *link,
                                   const SymbolFile *main)
{
    char path[PATH_MAX], resolved[PATH_MAX];
    SymbolFile *file = open_link(root, folder, link, main);
    if (!file && snprintf(path, sizeof(path), "%s/.debug", folder) < PATH_MAX)
        file = open_link(root, path, link, main);
    for (const char *const *dir = options->debug_dirs; dir && *dir && !file; dir++) {
        const char *base = absolute(*dir, resolved);
        if (base && snprintf(path, sizeof(path), "%s%s", base, folder) < PATH_MAX)
            file = open_link(NULL, path, link, main);
        if (base && !file)
            file = open_link(NULL, base, link, main);
    }
    if (!file && snprintf(path, sizeof(path), DEBUG_ROOT "%s", folder) < PATH_MAX)
        file = open_link(root, path, link, main);
    return file;
}

static bool folder_of(const char *path, char ret_folder[PATH_MAX])
{
    const char *slash = strrchr(path, '/');
    if (!slash || slash - path >= PATH_MAX)
        return false;
    memcpy(ret_folder, path, (size_t)(slash - path));
    ret_folder[slash - path] = '\0';
    return true;
}

static SymbolFile *find_by_link(const SymbolOptions *options, const SymbolModuleInfo *module,
                                const SymbolFile *main)
{
    DebugLink link;
    char folder[PATH_MAX], real[PATH_MAX];
    if (get_debuglink(main, &link) < 0 || !folder_of(module->path, folder))
        return NULL;
    SymbolFile *file = find_by_link_in(options, options->sysroot, folder, &link, main);
    /* The debug file lies beside the file itself, not beside a symbolic link to it. */
    if (!file && realpath(main->path, real) && strcmp(real, module->path) != 0 &&
        folder_of(real, folder))
        file = find_by_link_in(options, NULL, folder, &link, main);
    return file;
}

/* ---- debuginfod ----------------------------------------------------------------------------- */

static bool is_cancelled(const SymbolOptions *options)
{
    return options->is_cancelled && options->is_cancelled(options->cancel_context);
}

static _Thread_local const SymbolOptions *waiting; /* whose the download of this thread is */

static int on_progress(debuginfod_client *client, long done, long all)
{
    (void)client;
    (void)done;
    (void)all;
    return is_cancelled(waiting);
}

/* Loaded by dlopen only when asked for, so that nobody needs the library or the network. */
static SymbolFile *find_by_debuginfod(const SymbolOptions *options, BuildId id)
{
    void *lib = id.size && !is_cancelled(options)
                    ? dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL)
                    : NULL;
    if (!lib)
        return NULL;
    __typeof__(&debuginfod_begin) begin = (__typeof__(begin))dlsym(lib, "debuginfod_begin");
    __typeof__(&debuginfod_end) end = (__typeof__(end))dlsym(lib, "debuginfod_end");
    __typeof__(&debuginfod_find_debuginfo) find =
        (__typeof__(find))dlsym(lib, "debuginfod_find_debuginfo");
    __typeof__(&debuginfod_set_progressfn) set_progress =
        (__typeof__(set_progress))dlsym(lib, "debuginfod_set_progressfn");
    debuginfod_client *client = begin && end && find ? begin() : NULL;
    SymbolFile *file = NULL;
    if (client) {
        char *path = NULL;
        waiting = options;
        if (options->is_cancelled && set_progress)
            set_progress(client, on_progress);
        int fd = find(client, id.bytes, (int)id.size, &path);
        if (fd >= 0 && symbol_file_open_fd(fd, path ? path : "debuginfod", &file) == 0 &&
            !symbol_file_is(file, id.bytes, id.size)) {
            symbol_file_close(file);
            file = NULL;
        }
        free(path);
        end(client);
    }
    return file; /* the library stays loaded: it may have threads and handlers of its own */
}

/* ---- dwz ------------------------------------------------------------------------------------ */

/* .gnu_debugaltlink: path, NUL, build-id of the file that dwz moved common parts to. */
static SymbolFile *find_alt(const SymbolOptions *options, const SymbolFile *file)
{
    const uint8_t *bytes;
    size_t size;
    if (symbol_file_bytes(file, ".gnu_debugaltlink", &bytes, &size) < 0)
        return NULL;
    const char *name = (const char *)bytes;
    size_t length = strnlen(name, size);
    if (length == 0 || length == size)
        return NULL;
    BuildId id = {bytes + length + 1, size - length - 1};
    if (id.size == 0 || id.size > BUILD_ID_MAX)
        return NULL;
    SymbolFile *alt = find_by_id(options, id);
    if (alt)
        return alt;
    if (name[0] == '/') {
        alt = open_with_id(options->sysroot, name, id);
        return alt || !options->sysroot ? alt : open_with_id(NULL, name, id);
    }
    char folder[PATH_MAX], path[2 * PATH_MAX], real[PATH_MAX];
    if (!realpath(file->path, real) || !folder_of(real, folder))
        return NULL;
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return open_with_id(NULL, path, id);
}

/* ---- split DWARF in one package ---------------------------------------------------------------
 */

static SymbolFile *find_package(const SymbolFile *file)
{
    char path[PATH_MAX];
    SymbolFile *package = NULL;
    int n = snprintf(path, sizeof(path), "%s.dwp", file->path);
    if (n > 0 && (size_t)n < sizeof(path) && symbol_file_open(NULL, path, &package) == 0)
        return package;
    return NULL;
}

/* ---- all of it ------------------------------------------------------------------------------ */

static SymbolFile *find_main(const SymbolOptions *options, const SymbolModuleInfo *module)
{
    if (strcmp(module->path, "[vdso]") == 0)
        return open_vdso(module);
    SymbolFile *file = open_main(options->sysroot, module);
    if (!file && options->sysroot && module->build_id_size)
        file = open_main(NULL, module);
    return file;
}

void symbol_find_files(const SymbolOptions *options, const SymbolModuleInfo *module,
                       SymbolFiles *ret_files)
{
    SymbolFiles files = {.main = find_main(options, module)};
    BuildId id = {module->build_id, module->build_id_size};
    if (id.size == 0 && files.main)
        id = (BuildId){files.main->build_id, files.main->build_id_size};
    if (!files.main || !files.main->has_dwarf) {
        files.debug = find_by_id(options, id);
        if (!files.debug && files.main && files.main->fd >= 0)
            files.debug = find_by_link(options, module, files.main);
        if (!files.debug && options->debuginfod)
            files.debug = find_by_debuginfod(options, id);
    }
    const SymbolFile *dwarf = files.debug ? files.debug : files.main;
    if (dwarf && dwarf->has_dwarf) {
        files.alt = find_alt(options, dwarf);
        files.package = find_package(dwarf);
        if (!files.package && files.debug && files.main)
            files.package = find_package(files.main);
    }
    *ret_files = files;
}

void symbol_find_done(SymbolFiles *files)
{
    symbol_file_close(files->main);
    symbol_file_close(files->debug);
    symbol_file_close(files->alt);
    symbol_file_close(files->package);
    *files = (SymbolFiles){0};
}

static SymbolSource source_of(const SymbolFile *file)
{
    if (!file)
        return SYMBOL_NONE;
    return file->has_dwarf       ? SYMBOL_DWARF
           : file->has_symtab    ? SYMBOL_SYMTAB
           : file->has_debugdata ? SYMBOL_DEBUGDATA
           : file->has_dynsym    ? SYMBOL_DYNSYM
                                 : SYMBOL_NONE;
}

SymbolSource symbol_find_source(const SymbolFiles *files, const char **ret_path)
{
    SymbolSource main = source_of(files->main), debug = source_of(files->debug);
    const SymbolFile *best = debug > main ? files->debug : files->main;
    if (ret_path)
        *ret_path = best ? best->path : NULL;
    return debug > main ? debug : main;
}
