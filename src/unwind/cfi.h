// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/rule.h"
#include "unwind/unwind.h"

/*
 * .eh_frame tables: finds the FDE of a pc by binary search in .eh_frame_hdr and runs its call frame
 * instructions (DWARF 5, section 6.4; System V ABI x86-64; LSB for .eh_frame). Reads the mapped
 * image of the module only, within its PT_LOAD spans. No allocation, no lock, async-signal-safe.
 */

/* DWARF numbers */
enum { CFI_REG_RBX = 3, CFI_REG_RBP = 6, CFI_REG_RSP = 7, CFI_REG_R12 = 12, CFI_REG_R15 = 15 };
enum { CFI_REG_RA = 16 }; /* the return address */
enum { CFI_REGISTERS = 17 };

/* By the ABI: a function leaves it as it found it. */
static inline bool cfi_callee_saves(unsigned reg)
{
    return reg == CFI_REG_RBX || reg == CFI_REG_RBP || (reg >= CFI_REG_R12 && reg <= CFI_REG_R15);
}

typedef struct CfiFrame {
    uint64_t reg[CFI_REGISTERS]; /* 6 rbp, 7 rsp, 16 pc */
    uint32_t known;              /* bit per register whose value is known */
} CfiFrame;

/* Reads 8 bytes of the target's memory if that is safe; false otherwise. */
typedef bool (*CfiReadFn)(void *cookie, uint64_t address, uint64_t *ret_word);

/*
 * Rule for PC in MODULE (`lookup_pc`: return address - 1, or the exact pc below a signal frame).
 * Always fills *ret_rule: kind RULE_MISSING when there is no FDE or the table is broken.
 */
void cfi_rule(const UnwindModule *module, uint64_t lookup_pc, Rule *ret_rule);

/* The number of the register that the CFA at LOOKUP_PC is a constant away from; CFI_REGISTERS: it
 * is not so simple, or unknown. */
unsigned cfi_cfa_register(const UnwindModule *module, uint64_t lookup_pc);

/* What the function at LOOKUP_PC did with a register that its callers want back. */
typedef enum CfiSaved {
    CFI_SAVED_KEPT, /* it is as it was */
    CFI_SAVED_AT,   /* saved at CFA + *ret_offset */
    CFI_SAVED_LOST, /* not to be told so simply, or unknown */
} CfiSaved;
CfiSaved cfi_saved(const UnwindModule *module, uint64_t lookup_pc, unsigned reg,
                   int64_t *ret_offset);

/*
 * One full step: FRAME becomes the caller's. *ret_signal: the frame was a signal trampoline
 * (augmentation 'S'), so that the new pc is exact. Returns 0, -ENOENT (outermost), -EINVAL.
 */
int cfi_step(const UnwindModule *module, uint64_t lookup_pc, CfiFrame *frame, CfiReadFn read,
             void *cookie, bool *ret_signal);

/* The interpreter on bare tables, for tests and the fuzzer: EH_FRAME points at a whole section
 * mapped at runtime address `section_address`. */
void cfi_rule_in(const uint8_t *eh_frame, size_t bytes, uint64_t section_address,
                 uint64_t fde_address, uint64_t lookup_pc, Rule *ret_rule);
