// SPDX-License-Identifier: Apache-2.0
/* See huge.h. What is mapped too much for the alignment is given back at once: two system calls. */
#include "runtime/huge.h"

#include <stdint.h>
#include <sys/mman.h>

#include "base/sys.h"

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
    sys_call(SYS_madvise, start, bytes, MADV_HUGEPAGE);
}

void huge_refuse(void *start, size_t bytes)
{
    sys_call(SYS_madvise, start, bytes, MADV_NOHUGEPAGE);
}
