// SPDX-License-Identifier: Apache-2.0
// Functions without any unwind table. Each calls its argument.
    .text
    .globl nocfi_framed
    .type nocfi_framed, @function
nocfi_framed:
    push %rbp
    mov %rsp, %rbp
    sub $48, %rsp
    call *%rdi
    leave
    ret
    .size nocfi_framed, . - nocfi_framed

    .globl nocfi_unframed
    .type nocfi_unframed, @function
nocfi_unframed: // rbp holds no address
    push %rbp
    sub $32, %rsp
    mov $12345, %ebp
    call *%rdi
    add $32, %rsp
    pop %rbp
    ret
    .size nocfi_unframed, . - nocfi_unframed

    .globl nocfi_wild
    .type nocfi_wild, @function
nocfi_wild: // rbp points past the end of the stack: into its second argument
    push %rbp
    sub $32, %rsp
    mov %rsi, %rbp
    call *%rdi
    add $32, %rsp
    pop %rbp
    ret
    .size nocfi_wild, . - nocfi_wild
    .section .note.GNU-stack, "", @progbits
