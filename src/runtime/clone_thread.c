// SPDX-License-Identifier: Apache-2.0
/*
 * The one place where a thread begins without libc, x86-64. rdi flags, rsi stack, rdx parent_tid,
 * r10 child_tid, r8 tls; r9 (entry) is kept by the kernel over the call. rbp is cleared and rip of
 * the outermost frame marked undefined, so that debuggers end the stack here.
 */
#include "runtime/clone_thread.h"

#if !defined(__x86_64__)
#error "clone_thread: not written for this architecture yet"
#endif

/* The parameters are used where the calling convention puts them. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

__attribute__((naked)) long clone_thread(unsigned long flags, void *stack_top, uint32_t *parent_tid,
                                         uint32_t *child_tid, void *tls, void (*entry)(void))
{
    __asm__ volatile("mov %%rcx, %%r10\n\t"
                     "mov $56, %%eax\n\t" /* clone */
                     "syscall\n\t"
                     "test %%rax, %%rax\n\t"
                     "jz 1f\n\t"
                     "ret\n"
                     "1:\n\t"
                     ".cfi_undefined rip\n\t"
                     "xor %%ebp, %%ebp\n\t"
                     "and $-16, %%rsp\n\t"
                     "call *%%r9\n\t"
                     "xor %%edi, %%edi\n\t"
                     "mov $60, %%eax\n\t" /* exit */
                     "syscall\n\t"
                     "hlt"
                     :
                     :
                     : "memory");
}
