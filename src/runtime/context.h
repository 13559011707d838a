// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "unwind/unwind.h"

/*
 * CONTEXT(): registers of the caller of the function it stands in. Only for sources that meson
 * compiles with hooks_args: rbp is then the caller's (gcc, -ffixed-rbp) or is found in the frame
 * (clang, -fno-omit-frame-pointer).
 */
#if defined(__clang__)
#define CONTEXT()                                                                                  \
    ((UnwindContext){.pc = ((uint64_t *)__builtin_frame_address(0))[1],                            \
                     .sp = (uint64_t)__builtin_frame_address(0) + 16,                              \
                     .fp = *(uint64_t *)__builtin_frame_address(0)})
#else
static inline __attribute__((always_inline)) uint64_t read_fp(void)
{
    uint64_t fp;
    __asm__ volatile("mov %%rbp, %0" : "=r"(fp));
    return fp;
}
#define CONTEXT()                                                                                  \
    ((UnwindContext){.pc = (uint64_t)__builtin_return_address(0),                                  \
                     .sp = (uint64_t)__builtin_dwarf_cfa(), .fp = read_fp()})
#endif

