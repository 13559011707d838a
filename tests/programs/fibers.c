// SPDX-License-Identifier: Apache-2.0
/*
 * Fibers on foreign stacks. "context": makecontext with 16 KiB stacks, switched
 * in turn. "own": a switch in assembly as boost.context has it, whose fibers
 * begin with a return address of 0. "moving": a fiber made in one thread and
 * continued in another. Each fiber's last block stays.
 *
 *   //! run context context
 *   //!   loss unwind_ended=<=500
 *   //!   stack site_fiber<fiber count=500 bytes=5000 live_count=50
 *   //!   stack site_main<main count=500
 *   //! run own own
 *   //!   stack site_fiber<own_fiber count=500 bytes=5000 live_count=50
 *   //!   stack site_main<main count=500
 *   //! run moving moving
 *   //!   stack site_fiber<own_fiber count=500 bytes=5000 live_count=50
 */
#include "trap.h"

#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { FIBERS = 50, ROUNDS = 10, STACK_BYTES = 16384 };

static ucontext_t main_context, contexts[FIBERS];
static void *main_sp, *fiber_sp[FIBERS];
static int current;

/* void switch_stack(void **save_sp, void *load_sp) */
void switch_stack(void **save_sp, void *load_sp);
__asm__(".text\n"
        ".type switch_stack,@function\n"
        "switch_stack:\n"
        "  .cfi_startproc\n"
        "  push %rbp\n"
        "  .cfi_adjust_cfa_offset 8\n"
        "  .cfi_rel_offset rbp, 0\n"
        "  push %rbx\n"
        "  .cfi_adjust_cfa_offset 8\n"
        "  push %r12\n"
        "  .cfi_adjust_cfa_offset 8\n"
        "  push %r13\n"
        "  .cfi_adjust_cfa_offset 8\n"
        "  push %r14\n"
        "  .cfi_adjust_cfa_offset 8\n"
        "  push %r15\n"
        "  .cfi_adjust_cfa_offset 8\n"
        "  mov %rsp, (%rdi)\n"
        "  mov %rsi, %rsp\n"
        "  pop %r15\n"
        "  .cfi_adjust_cfa_offset -8\n"
        "  pop %r14\n"
        "  .cfi_adjust_cfa_offset -8\n"
        "  pop %r13\n"
        "  .cfi_adjust_cfa_offset -8\n"
        "  pop %r12\n"
        "  .cfi_adjust_cfa_offset -8\n"
        "  pop %rbx\n"
        "  .cfi_adjust_cfa_offset -8\n"
        "  pop %rbp\n"
        "  .cfi_adjust_cfa_offset -8\n"
        "  ret\n"
        "  .cfi_endproc\n"
        ".size switch_stack, .-switch_stack\n");

SITE static void *site_fiber(void)
{
    return malloc(10);
}

SITE static void *site_main(void)
{
    return malloc(10);
}

static void fiber(void)
{
    int self = current;

    for (;;) {
        void *p = site_fiber();

        swapcontext(&contexts[self], &main_context);
        free(p); /* after other fibers have run */
    }
}

static void own_fiber(void)
{
    int self = current;

    for (;;) {
        void *p = site_fiber();

        switch_stack(&fiber_sp[self], main_sp);
        free(p);
    }
}

static char *new_stack(void)
{
    char *stack =
        mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CHECK(stack != MAP_FAILED);
    return stack;
}

static void make(int i, int own)
{
    char *stack = new_stack();

    if (own) {
        void **top = (void **)(stack + STACK_BYTES);

        *--top = NULL; /* return address of own_fiber */
        *--top = (void *)own_fiber;
        for (int j = 0; j < 6; j++)
            *--top = (void *)(uintptr_t)0x1111;
        fiber_sp[i] = top;
        return;
    }
    getcontext(&contexts[i]);
    contexts[i].uc_stack.ss_sp = stack;
    contexts[i].uc_stack.ss_size = STACK_BYTES;
    contexts[i].uc_link = NULL;
    makecontext(&contexts[i], fiber, 0);
}

static void enter(int i, int own)
{
    current = i;
    if (own)
        switch_stack(&main_sp, fiber_sp[i]);
    else
        swapcontext(&main_context, &contexts[i]);
}

static void *half(void *unused)
{
    (void)unused;
    for (int round = 0; round < ROUNDS / 2; round++)
        for (int i = 0; i < FIBERS; i++)
            enter(i, 1);
    return NULL;
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "context";
    int own = strcmp(kind, "context") != 0;

    for (int i = 0; i < FIBERS; i++)
        make(i, own);
    if (!strcmp(kind, "moving")) {
        pthread_t thread;

        half(NULL);
        pthread_create(&thread, NULL, half, NULL);
        pthread_join(thread, NULL);
    } else {
        for (int round = 0; round < ROUNDS; round++)
            for (int i = 0; i < FIBERS; i++) {
                void *p = site_main();

                enter(i, own);
                free(p);
            }
    }
    return 0;
}
