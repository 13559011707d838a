// SPDX-License-Identifier: Apache-2.0
/*
 * /proc/self/maps line by line, with raw system calls and a buffer of the caller. A line longer
 * than the buffer (a path of more than about 8,000 bytes) has its path cut. The list is not a
 * snapshot: mappings may change between two reads; the kernel guarantees whole lines in ascending
 * order.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/uio.h>

#include "base/sys.h"
#include "unwind/internal.h"

int maps_open(MapsIterator *iterator)
{
    iterator->have = iterator->at = 0;
    iterator->ended = false;
    iterator->fd = (int)sys_call(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
    return iterator->fd < 0 ? iterator->fd : 0;
}

void maps_close(MapsIterator *iterator)
{
    if (iterator->fd >= 0)
        sys_call(SYS_close, iterator->fd);
    iterator->fd = -1;
}

/* Start of the next line in the buffer, NUL in place of its newline; NULL at the end. */
static char *next_line(MapsIterator *iterator)
{
    for (;;) {
        char *start = iterator->buffer + iterator->at;
        size_t left = iterator->have - iterator->at;
        char *newline = memchr(start, '\n', left);
        if (newline) {
            *newline = 0;
            iterator->at = (size_t)(newline + 1 - iterator->buffer);
            return start;
        }
        if (left == MAPS_BUFFER - 1) { /* cut an endless line */
            iterator->buffer[MAPS_BUFFER - 1] = 0;
            iterator->at = iterator->have;
            return start;
        }
        if (iterator->ended)
            return NULL;
        memmove(iterator->buffer, start, left);
        iterator->have = left;
        iterator->at = 0;
        long got =
            sys_call(SYS_read, iterator->fd, iterator->buffer + left, MAPS_BUFFER - 1 - left);
        if (got > 0)
            iterator->have += (size_t)got;
        else if (got != -4 /* EINTR */)
            iterator->ended = true;
    }
}

static uint64_t parse(const char **text, unsigned base)
{
    uint64_t value = 0;
    for (;; (*text)++) {
        unsigned digit = (unsigned)(unsigned char)**text - '0';
        if (digit >= 10) /* ':' follows '9' */
            digit = **text >= 'a' ? (unsigned)**text - 'a' + 10 : base;
        if (digit >= base)
            return value;
        value = value * base + digit;
    }
}

/* "start-end perms offset major:minor inode      path" */
bool maps_next(MapsIterator *iterator, MapsLine *ret_line)
{
    const char *text = iterator->fd < 0 ? NULL : next_line(iterator);
    if (!text)
        return false;
    MapsLine line = {0};
    line.start = parse(&text, 16);
    text++;
    line.end = parse(&text, 16);
    line.readable = text[1] == 'r';
    line.writable = text[2] == 'w';
    line.executable = text[3] == 'x';
    text += 6;
    line.offset = parse(&text, 16);
    text++;
    uint64_t major = parse(&text, 16);
    text++;
    line.device = major << 32 | parse(&text, 16);
    text++;
    line.inode = parse(&text, 10);
    while (*text == ' ')
        text++;
    line.path = text;
    *ret_line = line;
    return true;
}

bool unwind_read_safely(uint64_t address, void *into, size_t bytes)
{
    struct iovec local = {.iov_base = into, .iov_len = bytes};
    struct iovec remote = {.iov_base = (void *)address, .iov_len = bytes};
    long pid = sys_call(SYS_getpid);
    long got = sys_call(SYS_process_vm_readv, pid, &local, 1, &remote, 1, 0);
    if (got == (long)bytes)
        return true;
    if (got >= 0 || got == -14 /* EFAULT */)
        return false;
    /* Forbidden or not there (seccomp, old kernels): through /proc. */
    long fd = sys_call(SYS_openat, AT_FDCWD, "/proc/self/mem", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    got = sys_call(SYS_pread64, fd, into, bytes, address);
    sys_call(SYS_close, fd);
    return got == (long)bytes;
}
