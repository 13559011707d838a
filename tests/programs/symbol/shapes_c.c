// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include <link.h>
#include <stdint.h>
#include <stdio.h>

#include "shapes.h"

static int take_bias(struct dl_phdr_info *info, size_t size, void *bias)
{
    (void)size;
    *(uintptr_t *)bias = info->dlpi_addr;
    return 1; /* the first is the program itself */
}

void mark(const char *function, const char *file, int line)
{
    uintptr_t bias = 0;
    dl_iterate_phdr(take_bias, &bias);
    printf("%lx\t%d\t%s\t%s\n", (unsigned long)((uintptr_t)__builtin_return_address(0) - bias - 1),
           line, file, function);
}

static inline __attribute__((always_inline)) int c_inner(int n)
{
    MARK("c_inner");
    return n * 3;
}

static inline __attribute__((always_inline)) int c_middle(int n)
{
    int sum = 0;
    {
        int twice = n * 2;
        sum += c_inner(twice);
    }
    MARK("c_middle");
    return sum;
}

static __attribute__((noinline)) int c_hidden(int n)
{
    MARK("c_hidden");
    return c_middle(n) + 1;
}

/* A hole in .dynsym lies between the exported functions around this one. */
int c_before(int n)
{
    MARK("c_before");
    return n + 1;
}

static __attribute__((noinline)) int c_between(int n)
{
    MARK("c_between");
    for (int i = 0; i < n; i++)
        __asm__ volatile("");
    return n + 2;
}

int c_after(int n)
{
    MARK("c_after");
    return n + 3;
}

int c_side(int n)
{
    MARK("c_side");
    return c_hidden(n) + c_before(n) + c_between(n) + c_after(n);
}

int main(int argc, char **argv)
{
    (void)argv;
    MARK("main");
    c_side(argc);
    cxx_side(argc);
    return 0;
}
