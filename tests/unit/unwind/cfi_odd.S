// SPDX-License-Identifier: Apache-2.0
// Call frame instructions that compilers seldom or never write, for test_cfi_readelf.py. Never run.
    .macro step bytes=1
    .fill \bytes, 1, 0x90
    .endm

    .text
    .globl cfi_odd_registers
    .type cfi_odd_registers, @function
cfi_odd_registers:
    .cfi_startproc
    step
    .cfi_offset %rbp, -400 // more than one byte holds
    step
    .cfi_same_value %rbp
    step
    .cfi_undefined %rbp
    step
    .cfi_register %rbp, %r12
    step
    .cfi_restore %rbp
    step
    .cfi_escape 0x14, 6, 5 // val_offset(rbp) -40
    step
    .cfi_escape 0x15, 6, 0x7d // val_offset_sf(rbp) +24
    step
    .cfi_escape 0x05, 6, 3 // offset_extended(rbp) -24
    step
    .cfi_escape 0x11, 6, 0x7c // offset_extended_sf(rbp) +32
    step
    .cfi_escape 0x2f, 6, 6 // GNU_negative_offset_extended(rbp) +48
    step
    .cfi_escape 0x10, 6, 2, 0x77, 8 // expression(rbp) rsp + 8
    step
    .cfi_escape 0x16, 6, 2, 0x77, 16 // val_expression(rbp) rsp + 16
    step
    .cfi_escape 0x06, 6 // restore_extended(rbp)
    step
    .cfi_escape 0x2e, 24 // GNU_args_size
    step
    .cfi_escape 0x00 // nop
    step
    .cfi_undefined %rip
    step
    .cfi_restore %rip
    step
    .cfi_escape 0x14, 16, 0 // val_offset(rip) 0
    step
    .cfi_register %rip, %rdx
    step
    .cfi_offset %rip, -16
    step
    .cfi_endproc
    .size cfi_odd_registers, . - cfi_odd_registers

    .globl cfi_odd_cfa
    .type cfi_odd_cfa, @function
cfi_odd_cfa:
    .cfi_startproc
    step 63 // the most that an opcode holds
    .cfi_def_cfa_offset 70000
    step 64
    .cfi_def_cfa %rbp, 16
    step 300 // advance_loc2
    .cfi_def_cfa_register %rsp
    step 70000 // advance_loc4
    .cfi_def_cfa %rbx, 24
    step
    .cfi_escape 0x12, 7, 0x7d // def_cfa_sf rsp +24
    step
    .cfi_escape 0x13, 0x7b // def_cfa_offset_sf +40
    step
    .cfi_escape 0x0f, 2, 0x77, 32 // def_cfa_expression rsp + 32
    step
    .cfi_def_cfa %rsp, 8
    step
    .cfi_endproc
    .size cfi_odd_cfa, . - cfi_odd_cfa

    .globl cfi_odd_nested // as deep as rows are kept
    .type cfi_odd_nested, @function
cfi_odd_nested:
    .cfi_startproc
    .set offset, 8
    .rept 8
    .cfi_remember_state
    .set offset, offset + 8
    .cfi_def_cfa_offset offset
    .cfi_offset %rbp, -16
    step
    .endr
    .rept 8
    .cfi_restore_state
    step
    .endr
    .cfi_endproc
    .size cfi_odd_nested, . - cfi_odd_nested

    .globl cfi_odd_signal // a signal frame though its row is plain
    .type cfi_odd_signal, @function
cfi_odd_signal:
    .cfi_startproc
    .cfi_signal_frame
    step
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    step
    .cfi_endproc
    .size cfi_odd_signal, . - cfi_odd_signal
    .section .note.GNU-stack, "", @progbits
