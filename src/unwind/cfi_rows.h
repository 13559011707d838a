// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "unwind/cfi.h"
#include "unwind/cfi_tables.h"

/*
 * Inside cfi.c's parts only: the instructions of call frame information, run up to a pc. The result
 * is the row of that pc (DWARF 5, 6.4.1): how to compute the CFA and where the caller's registers
 * are.
 */

typedef enum CfiCellRule {
    CFI_CELL_UNSPECIFIED,
    CFI_CELL_UNDEFINED,
    CFI_CELL_SAME,
    CFI_CELL_OFFSET,
    CFI_CELL_VAL_OFFSET,
    CFI_CELL_REGISTER,
    CFI_CELL_EXPRESSION,
    CFI_CELL_VAL_EXPRESSION,
} CfiCellRule;

typedef struct CfiCell {
    CfiCellRule rule;
    int64_t value; /* offset, register, or length of the expression */
    const uint8_t *code;
} CfiCell;

typedef struct CfiRow {
    bool cfa_is_expression;
    uint64_t cfa_register;
    CfiCell cfa; /* value: offset, or length of code */
    CfiCell reg[CFI_REGISTERS];
} CfiRow;

/* False: an unknown instruction, too many of them, or a stack of saved rows that does not fit. */
bool cfi_fde_row(const CfiFde *fde, uint64_t pc, CfiRow *ret_row);
