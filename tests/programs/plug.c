// SPDX-License-Identifier: Apache-2.0
/* A plugin, built twice with the same code and other names: PLUG_NAME is alpha
 * or beta. */
#include <stdlib.h>

#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)

void *JOIN(PLUG_NAME, _alloc)(size_t size);
void JOIN(PLUG_NAME, _free)(void *pointer);

__attribute__((noinline)) void *JOIN(PLUG_NAME, _alloc)(size_t size)
{
    void *pointer = malloc(size);

    __asm__ volatile("" : : "r"(pointer) : "memory");
    return pointer;
}

__attribute__((noinline)) void JOIN(PLUG_NAME, _free)(void *pointer)
{
    free(pointer);
    __asm__ volatile("");
}
