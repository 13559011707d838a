// SPDX-License-Identifier: Apache-2.0
#pragma once

/*
 * The program that tests/unit/test_symbol.c builds in every shape of debug info. Each MARK() prints
 * the address of its own call (file address, inside the call), its line, and the function that the
 * source says it stands in: the truth, which no debug info takes part in.
 */
#ifdef __cplusplus
extern "C" {
#endif
__attribute__((noinline)) void mark(const char *function, const char *file, int line);
int c_side(int n);
void cxx_side(int n);
#ifdef __cplusplus
}
#endif

#define MARK(function)                                                                             \
    do {                                                                                           \
        mark(function, __FILE__, __LINE__);                                                        \
        __asm__ volatile("" ::: "memory");                                                         \
    } while (0)
