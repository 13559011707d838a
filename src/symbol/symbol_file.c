// SPDX-License-Identifier: Apache-2.0
/*
 * Purpose: open one ELF file safely and say what it holds.
 *
 * Files come from a profile, thus from elsewhere: only regular files are opened (never a device or
 * a pipe, O_NONBLOCK guards the moment between), and with a sysroot the whole path, symbolic links
 * included, is resolved inside it by openat2(RESOLVE_IN_ROOT); kernels before 5.6 join the texts.
 * Reading maps the file; section contents are checked by libelf against the file's size.
 *
 * Cost: one open, one mapping, one pass over the section headers. One thread at a time.
 */
#include "symbol/symbol_file.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_plain(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    return fd < 0 ? -errno : fd;
}

static int open_below(const char *root, const char *path, const char *joined)
{
    int dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return -errno;
    struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
                           .resolve = RESOLVE_IN_ROOT};
    int fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
    int r = fd < 0 ? -errno : fd;
    close(dir);
    return r == -ENOSYS || r == -EPERM ? open_plain(joined) : r;
}

Elf_Scn *symbol_file_section(const SymbolFile *file, const char *name)
{
    size_t names;
    if (elf_getshdrstrndx(file->elf, &names) < 0)
        return NULL;
    for (Elf_Scn *scn = NULL; (scn = elf_nextscn(file->elf, scn));) {
        GElf_Shdr header;
        if (!gelf_getshdr(scn, &header) || header.sh_type == SHT_NOBITS || header.sh_size == 0)
            continue;
        const char *found = elf_strptr(file->elf, names, header.sh_name);
        if (found && strcmp(found, name) == 0)
            return scn;
    }
    return NULL;
}

int symbol_file_bytes(const SymbolFile *file, const char *name, const uint8_t **ret_bytes,
                      size_t *ret_size)
{
    Elf_Scn *scn = symbol_file_section(file, name);
    Elf_Data *data = scn ? elf_rawdata(scn, NULL) : NULL;
    if (!data || !data->d_buf || data->d_size == 0)
        return -ENOENT;
    *ret_bytes = data->d_buf;
    *ret_size = data->d_size;
    return 0;
}

bool symbol_file_is(const SymbolFile *file, const uint8_t *build_id, size_t build_id_size)
{
    return build_id_size > 0 && file->build_id_size == build_id_size &&
           memcmp(file->build_id, build_id, build_id_size) == 0;
}

static int look_inside(SymbolFile *file)
{
    if (!file->elf || elf_kind(file->elf) != ELF_K_ELF)
        return -ENOEXEC;
    const void *id;
    ssize_t size = dwelf_elf_gnu_build_id(file->elf, &id);
    if (size > 0 && size <= BUILD_ID_MAX) {
        memcpy(file->build_id, id, (size_t)size);
        file->build_id_size = (size_t)size;
    }
    file->has_dwarf =
        symbol_file_section(file, ".debug_info") || symbol_file_section(file, ".zdebug_info");
    file->has_symtab = symbol_file_section(file, ".symtab");
    file->has_debugdata = symbol_file_section(file, ".gnu_debugdata");
    file->has_dynsym = symbol_file_section(file, ".dynsym");
    return 0;
}

static SymbolFile *file_new(int fd, void *memory, const char *path)
{
    SymbolFile *file = calloc(1, sizeof(*file));
    char *copy = strdup(path);
    if (!file || !copy) {
        free(file);
        free(copy);
        free(memory);
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    elf_version(EV_CURRENT);
    file->fd = fd;
    file->memory = memory;
    file->path = copy;
    return file;
}

int symbol_file_open_fd(int fd, const char *path, SymbolFile **ret_file)
{
    SymbolFile *file = file_new(fd, NULL, path);
    if (!file)
        return -ENOMEM;
    int r;
    if (fstat(fd, &file->st) < 0)
        r = -errno;
    else if (!S_ISREG(file->st.st_mode))
        r = -EINVAL;
    else {
        file->elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
        r = look_inside(file);
    }
    if (r < 0)
        symbol_file_close(file);
    else
        *ret_file = file;
    return r;
}

int symbol_file_open(const char *root, const char *path, SymbolFile **ret_file)
{
    if (path[0] != '/')
        return -EINVAL;
    bool below = root && root[0] && strcmp(root, "/") != 0;
    char *joined = NULL;
    if (asprintf(&joined, "%s%s", below ? root : "", path) < 0)
        return -ENOMEM;
    int fd = below ? open_below(root, path, joined) : open_plain(joined);
    int r = fd < 0 ? fd : symbol_file_open_fd(fd, joined, ret_file);
    free(joined);
    return r;
}

int symbol_file_open_memory(void *memory, size_t bytes, const char *name, SymbolFile **ret_file)
{
    SymbolFile *file = file_new(-1, memory, name);
    if (!file)
        return -ENOMEM;
    file->elf = elf_memory(memory, bytes);
    int r = look_inside(file);
    if (r < 0)
        symbol_file_close(file);
    else
        *ret_file = file;
    return r;
}

void symbol_file_close(SymbolFile *file)
{
    if (!file)
        return;
    if (file->elf)
        elf_end(file->elf);
    if (file->fd >= 0)
        close(file->fd);
    free(file->memory);
    free(file->path);
    free(file);
}
