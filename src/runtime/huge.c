// SPDX-License-Identifier: Apache-2.0
/* See huge.h. What is mapped too much for the alignment is given back at once: two system calls. */
#include "runtime/huge.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "base/sys.h"

/* Set at boot, before there is a second thread. */
static bool no_want, no_refuse;

void huge_know(const char *setting)
{
    no_refuse = !strstr(setting, "[always]");
    no_want = no_refuse && !strstr(setting, "[madvise]");
}

void huge_init(void)
{
    char text[64] = "";
    long fd = sys_call(SYS_openat, AT_FDCWD, "/sys/kernel/mm/transparent_hugepage/enabled",
                       O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        sys_read_all((int)fd, text, sizeof(text) - 1);
        sys_call(SYS_close, fd);
    }
    huge_know(text);
}

void *huge_map(size_t bytes)
{
    bytes = (bytes + 4095) & ~(size_t)4095;
    char *memory = sys_map(bytes + HUGE_BYTES);
    if (!memory)
        return sys_map(bytes);
    size_t before = -(uintptr_t)memory & (HUGE_BYTES - 1);
    if (before)
        sys_unmap(memory, before);
    sys_unmap(memory + before + bytes, HUGE_BYTES - before);
    return memory + before;
}

void huge_want(void *start, size_t bytes)
{
    if (!no_want)
        sys_call(SYS_madvise, start, bytes, MADV_HUGEPAGE);
}

void huge_refuse(void *start, size_t bytes)
{
    if (!no_refuse)
        sys_call(SYS_madvise, start, bytes, MADV_NOHUGEPAGE);
}
