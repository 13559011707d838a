// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "unwind/unwind.h"

/*
 * CALLER_PC(), _SP(), _FP() and CONTEXT(): registers of the caller of the function it stands in.
 * Only for sources that meson compiles with hooks_args: rbp is then the caller's (gcc, -ffixed-rbp)
 * or is found in the frame (clang, -fno-omit-frame-pointer).
 */
#if defined(__clang__)
#define CALLER_PC() (((uint64_t *)__builtin_frame_address(0))[1])
#define CALLER_SP() ((uint64_t)__builtin_frame_address(0) + 16)
#define CALLER_FP() (*(uint64_t *)__builtin_frame_address(0))
#else
static inline __attribute__((always_inline)) uint64_t caller_fp(void)
{
    uint64_t fp;
    __asm__ volatile("mov %%rbp, %0" : "=r"(fp));
    return fp;
}
#define CALLER_PC() ((uint64_t)__builtin_return_address(0))
#define CALLER_SP() ((uint64_t)__builtin_dwarf_cfa())
#define CALLER_FP() caller_fp()
#endif

#define CONTEXT() ((UnwindContext){.pc = CALLER_PC(), .sp = CALLER_SP(), .fp = CALLER_FP()})
