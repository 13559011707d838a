// SPDX-License-Identifier: Apache-2.0
/*
 * base/sys.h by way of libc, in place of base/sys.c under ThreadSanitizer: it must see where
 * memory is mapped and unmapped, or takes two lives of one address for a race.
 */
#include "base/sys.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

void *sys_map(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void sys_unmap(void *memory, size_t bytes)
{
    if (memory)
        munmap(memory, bytes);
}

int sys_write_all(int fd, const void *data, size_t bytes)
{
    return write(fd, data, bytes) == (ssize_t)bytes ? 0 : -EIO;
}

long sys_read_all(int fd, void *data, size_t bytes)
{
    return read(fd, data, bytes);
}

int sys_futex_wait(uint32_t *word, uint32_t value, uint64_t timeout_ns)
{
    struct timespec ts = {.tv_sec = (time_t)(timeout_ns / 1000000000),
                          .tv_nsec = (long)(timeout_ns % 1000000000)};
    return (int)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, timeout_ns ? &ts : NULL);
}

int sys_futex_wake(uint32_t *word, int count)
{
    return (int)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count);
}
