// SPDX-License-Identifier: Apache-2.0
/*
 * Creating and appending to the profile's file: see output.h. A record that cannot be written whole
 * (disk full) is taken back, so that the file always ends at a record boundary.
 */
#include "runtime/output.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/sys.h"

enum { TRIES = 10000 };

static uint64_t file_device, file_inode;
static uint64_t file_bytes;

void output_clean_name(const char *text, char *into, size_t capacity)
{
    size_t used = 0;
    for (; *text && used + 1 < capacity && used < 64; text++) {
        char c = *text;
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     c == '.' || c == '_' || c == '+' || c == '-';
        into[used++] = plain ? c : '_';
    }
    into[used] = 0;
}

static size_t put_text(char *path, size_t at, size_t capacity, const char *text)
{
    size_t length = strlen(text);
    if (at + length >= capacity)
        return capacity;
    memcpy(path + at, text, length + 1);
    return at + length;
}

static size_t put_number(char *path, size_t at, size_t capacity, uint64_t number)
{
    char digits[24], *digit = digits + sizeof(digits) - 1;
    *digit = 0;
    do
        *--digit = (char)('0' + number % 10);
    while (number /= 10);
    return put_text(path, at, capacity, digit);
}

static bool make_path(char *path, size_t capacity, const char *folder, const char *name,
                      uint32_t pid, int number)
{
    size_t at = put_text(path, 0, capacity, folder);
    at = put_text(path, at, capacity, "/memhawk_");
    at = put_text(path, at, capacity, name);
    at = put_text(path, at, capacity, "_");
    at = put_number(path, at, capacity, pid);
    if (number > 1) {
        at = put_text(path, at, capacity, "_");
        at = put_number(path, at, capacity, (uint64_t)number);
    }
    return put_text(path, at, capacity, "_protobuf.binpb") < capacity;
}

static bool identify(int fd, uint64_t *ret_device, uint64_t *ret_inode)
{
    struct stat info;
    if (sys_call(SYS_fstat, fd, &info) < 0)
        return false;
    *ret_device = info.st_dev;
    *ret_inode = info.st_ino;
    return true;
}

int output_create(const char *folder, const char *short_name, uint32_t pid)
{
    char path[4352];
    for (int number = 1; number < TRIES; number++) {
        if (!make_path(path, sizeof(path), folder, short_name, pid, number))
            return -ENAMETOOLONG;
        long fd = sys_call(SYS_openat, AT_FDCWD, path,
                           O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_APPEND, 0600);
        if (fd == -EEXIST || fd == -EINTR)
            continue;
        if (fd < 0)
            return (int)fd;
        file_bytes = 0;
        identify((int)fd, &file_device, &file_inode);
        return (int)fd;
    }
    return -EEXIST;
}

bool output_is_ours(int fd)
{
    uint64_t device, inode;
    return identify(fd, &device, &inode) && device == file_device && inode == file_inode;
}

int output_append(int fd, const void *data, size_t bytes)
{
    int ret = sys_write_all(fd, data, bytes);
    if (ret < 0)
        sys_call(SYS_ftruncate, fd, file_bytes);
    else
        file_bytes += bytes;
    return ret;
}
