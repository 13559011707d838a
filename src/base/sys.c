// SPDX-License-Identifier: Apache-2.0
/*
 * The few system calls that need a loop or a structure around them. Thread- and signal-safe: no
 * state, no errno. See sys.h.
 */
#include "base/sys.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <time.h>

void *sys_map(size_t bytes)
{
    long ret = sys_call(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return ret < 0 && ret > -4096 ? NULL : (void *)ret;
}

void sys_unmap(void *memory, size_t bytes)
{
    if (memory)
        sys_call(SYS_munmap, memory, bytes);
}

int sys_write_all(int fd, const void *data, size_t bytes)
{
    const char *at = data;
    while (bytes) {
        long ret = sys_call(SYS_write, fd, at, bytes);
        if (ret == -EINTR)
            continue;
        if (ret < 0)
            return (int)ret;
        at += ret;
        bytes -= (size_t)ret;
    }
    return 0;
}

long sys_read_all(int fd, void *data, size_t bytes)
{
    size_t done = 0;
    while (done < bytes) {
        long ret = sys_call(SYS_read, fd, (char *)data + done, bytes - done);
        if (ret == -EINTR)
            continue;
        if (ret < 0)
            return ret;
        if (ret == 0)
            break;
        done += (size_t)ret;
    }
    return (long)done;
}

int sys_futex_wait(uint32_t *word, uint32_t value, uint64_t timeout_ns)
{
    struct timespec ts = {.tv_sec = (time_t)(timeout_ns / 1000000000),
                          .tv_nsec = (long)(timeout_ns % 1000000000)};
    return (int)sys_call(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, timeout_ns ? &ts : NULL);
}

int sys_futex_wake(uint32_t *word, int count)
{
    return (int)sys_call(SYS_futex, word, FUTEX_WAKE_PRIVATE, count);
}
