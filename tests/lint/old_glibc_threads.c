// SPDX-License-Identifier: Apache-2.0
/*
 * A program with threads that starts on glibc 2.31 although it is linked on a newer system: it asks
 * for the old versions of the two functions that glibc 2.34 renamed, and brings its own _start
 * (the system's crt1.o asks for the new one). tests/lint/old-glibc runs it in a Debian 11 root with
 * libpthread.so.0 preloaded, where pthread_create lived then.
 *
 * THREADS threads allocate and free BLOCKS blocks each, so the least number of allocations that a
 * profile of it must show is their product. Prints it.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 8, BLOCKS = 50000, RING = 64 };

__asm__(".symver pthread_create, pthread_create@GLIBC_2.2.5");
__asm__(".symver pthread_join, pthread_join@GLIBC_2.2.5");
__asm__(".symver __libc_start_main, __libc_start_main@GLIBC_2.2.5");

__asm__(".globl _start\n"
        "_start:\n"
        "    .cfi_startproc\n"
        "    .cfi_undefined rip\n"
        "    xor %ebp, %ebp\n"
        "    mov %rdx, %r9\n"
        "    pop %rsi\n"
        "    mov %rsp, %rdx\n"
        "    and $-16, %rsp\n"
        "    push %rax\n"
        "    push %rsp\n"
        "    xor %r8d, %r8d\n"
        "    xor %ecx, %ecx\n"
        "    lea main(%rip), %rdi\n"
        "    call *__libc_start_main@GOTPCREL(%rip)\n"
        "    hlt\n"
        "    .cfi_endproc\n");

static void *churn(void *argument)
{
    void *ring[RING] = {NULL};
    for (int i = 0; i < BLOCKS; i++) {
        free(ring[i % RING]);
        ring[i % RING] = malloc((size_t)(16 + i % 200));
    }
    for (int i = 0; i < RING; i++)
        free(ring[i]);
    return argument;
}

int main(void)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, churn, NULL) != 0)
            return 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%d\n", THREADS * BLOCKS);
    return 0;
}
