// SPDX-License-Identifier: Apache-2.0
#include "hand_stacks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "unwind/memo.h"
#include "walk_probe.h"

/* Never run; their tables tell how to step from the return addresses in them. */
__asm__(".text\n"
        ".globl memo_saver_return\n"
        ".globl memo_framed_return\n"
        ".globl memo_wide_return\n"
        ".globl memo_outer_return\n"
        ".cfi_startproc\n" /* CFA = rsp + 16, rbp saved at CFA - 16 */
        "push %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp, -16\n"
        "call *%rdi\nmemo_saver_return:\n"
        "pop %rbp\n.cfi_def_cfa_offset 8\nret\n"
        ".cfi_endproc\n"
        ".cfi_startproc\n" /* CFA = rbp + 16 */
        "push %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp, -16\n"
        "mov %rsp, %rbp\n.cfi_def_cfa_register %rbp\n"
        "call *%rdi\nmemo_framed_return:\n"
        "leave\n.cfi_def_cfa %rsp, 8\nret\n"
        ".cfi_endproc\n"
        ".cfi_startproc\n" /* CFA = rsp + 32 */
        "sub $24, %rsp\n.cfi_def_cfa_offset 32\n"
        "call *%rdi\nmemo_wide_return:\n"
        "add $24, %rsp\n.cfi_def_cfa_offset 8\nret\n"
        ".cfi_endproc\n"
        ".cfi_startproc\n.cfi_undefined %rip\n" /* the outermost frame */
        "call *%rdi\nmemo_outer_return:\nud2\n"
        ".cfi_endproc\n");

/* CFA = rsp + 16, rbx saved at CFA - 16, and CFA = rbx + 16. */
__asm__(".text\n"
        ".globl memo_rbx_saver_return\n"
        ".globl memo_by_rbx_return\n"
        ".cfi_startproc\n"
        "push %rbx\n.cfi_def_cfa_offset 16\n.cfi_offset %rbx, -16\n"
        "call *%rdi\nmemo_rbx_saver_return:\n"
        "pop %rbx\n.cfi_def_cfa_offset 8\nret\n"
        ".cfi_endproc\n"
        ".cfi_startproc\n"
        "push %rbx\n.cfi_def_cfa_offset 16\n.cfi_offset %rbx, -16\n"
        "mov %rsp, %rbx\n.cfi_def_cfa_register %rbx\n"
        "call *%rdi\nmemo_by_rbx_return:\n"
        "mov %rbx, %rsp\npop %rbx\n.cfi_def_cfa %rsp, 8\nret\n"
        ".cfi_endproc\n");

uint64_t random_next(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    return *seed ^= *seed << 17;
}

/* One walk by a thread that remembers, checked against one that does not. */
const UnwindWalk *walk_checked(const UnwindContext *context)
{
    FrameWord frames[2][PROBE_FRAMES];
    const UnwindWalk *remembered = unwind_remembered(probe_state->warm, context->pc, context->sp);
    UnwindWalk *walk = unwind_walk(probe_state->warm, context);
    assert_true(!remembered || remembered == walk);
    size_t depth = unwind_frames(probe_state->warm, walk, frames[0]);
    probe_forget(probe_state->anew);
    const UnwindWalk *anew = unwind_walk(probe_state->anew, context);
    assert_int_equal(walk->depth, anew->depth);
    assert_int_equal(walk->flags, anew->flags);
    assert_int_equal(walk->hash, anew->hash);
    assert_int_equal(unwind_frames(probe_state->anew, anew, frames[1]), depth);
    assert_memory_equal(frames[0], frames[1], depth * sizeof(**frames));
    assert_true(walk->tag == 0 || walk->tag == walk->hash);
    walk->tag = walk->hash;
    return walk;
}

uint64_t verified_walks(void)
{
    UnwindStats stats;
    unwind_thread_stats(probe_state->warm, &stats);
    return stats.verified;
}

/* A walk of eight frames; which of them are the wide ones tells NUMBER, below 128. */
UnwindContext numbered_stack(volatile uint64_t *stack, unsigned number)
{
    unsigned at = 1;
    for (unsigned frame = 0; frame < 7; frame++) {
        bool wide = number >> frame & 1;
        stack[at] = wide ? (uint64_t)memo_wide_return : (uint64_t)memo_saver_return;
        at += wide ? 4 : 2;
    }
    stack[at] = 0;
    return (UnwindContext){.pc = (uint64_t)memo_saver_return, .sp = (uint64_t)stack};
}

/* CALLERS walks from number FIRST at each of PLACES (pc, sp), in turn; returns how many of them
 * were remembered. */
uint64_t numbered_round(unsigned places, unsigned first, unsigned callers)
{
    volatile uint64_t stack[64];
    uint64_t before = verified_walks();
    for (unsigned caller = first; caller < first + callers; caller++) {
        for (unsigned place = 0; place < places; place++) {
            UnwindContext context = numbered_stack(&stack[place], caller);
            assert_int_equal(walk_checked(&context)->depth, 8);
        }
    }
    return verified_walks() - before;
}
