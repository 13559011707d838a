// SPDX-License-Identifier: Apache-2.0
/*
 * Call frame information: from a pc to its rule. cfi_tables.c finds the FDE, cfi_rows.c runs its
 * instructions. A row that only says "CFA = rsp or rbp + n, rbp there" is packed into a Rule that
 * the walker caches; everything else is evaluated at each step, cfi_expr.c doing the expressions.
 *
 * Code without tables that is the kernel's signal trampoline is known by its bytes. No state, no
 * locks; usable in signal handlers.
 */
#include "unwind/cfi.h"

#include <errno.h>
#include <string.h>

#include "unwind/cfi_expr.h"
#include "unwind/cfi_rows.h"
#include "unwind/cfi_tables.h"

/* ---- rules ----------------------------------------------------------------------------------- */

/* The linker's expression for lazy PLT entries: rsp + 8 + (((pc & 15) >= n) << 3). */
static bool plt_offset(const CfiRow *row, uint64_t pc, int64_t *ret_offset)
{
    static const uint8_t head[] = {0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a},
                         tail[] = {0x2a, 0x33, 0x24, 0x22};
    const uint8_t *code = row->cfa.code;
    if (!row->cfa_is_expression || row->cfa.value != 11 || !code || memcmp(code, head, 6) != 0 ||
        code[6] < 0x30 || code[6] > 0x3f || memcmp(code + 7, tail, 4) != 0)
        return false;
    *ret_offset = 8 + ((pc & 15) >= (uint64_t)(code[6] - 0x30) ? 8 : 0);
    return true;
}

static bool pack_fp(const CfiCell *cell, Rule *rule)
{
    switch (cell->rule) {
    case CFI_CELL_UNSPECIFIED:
    case CFI_CELL_SAME:
    case CFI_CELL_UNDEFINED:
        rule->fp = RULE_FP_SAME;
        return true;
    case CFI_CELL_OFFSET:
        rule->fp = RULE_FP_SAVED;
        rule->fp_offset = (int16_t)cell->value;
        return cell->value == rule->fp_offset;
    default:
        return false;
    }
}

static void pack_rule(const CfiFde *fde, const CfiRow *row, uint64_t pc, Rule *ret_rule)
{
    Rule rule = {.kind = RULE_SLOW};
    *ret_rule = rule;
    const CfiCell *ra = &row->reg[CFI_REG_RA];
    if (ra->rule == CFI_CELL_UNDEFINED) {
        ret_rule->kind = RULE_OUTER;
        return;
    }
    int64_t offset = row->cfa.value;
    bool plt = plt_offset(row, pc, &offset);
    bool plain_cfa = plt || (!row->cfa_is_expression && (row->cfa_register == CFI_REG_RSP ||
                                                         row->cfa_register == CFI_REG_RBP));
    if (fde->cie.signal || !plain_cfa || offset != (int32_t)offset || ra->rule != CFI_CELL_OFFSET ||
        ra->value != -8 || row->reg[CFI_REG_RSP].rule != CFI_CELL_UNSPECIFIED ||
        !pack_fp(&row->reg[CFI_REG_RBP], &rule))
        return;
    rule.kind = RULE_PLAIN;
    rule.cfa_is_fp = !plt && row->cfa_register == CFI_REG_RBP;
    rule.cfa_offset = (int32_t)offset;
    *ret_rule = rule;
}

static void rule_of(const CfiFde *fde, uint64_t pc, Rule *ret_rule)
{
    CfiRow row;
    if (cfi_fde_row(fde, pc, &row))
        pack_rule(fde, &row, pc, ret_rule);
}

/* mov $15 (rt_sigreturn), %rax or %eax; syscall */
static bool is_trampoline(const UnwindModule *module, uint64_t pc)
{
    static const uint8_t wide[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05},
                         narrow[] = {0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05};
    CfiSection section;
    Reader reader;
    if (!cfi_module_section(module, pc, &section) || !cfi_section_reader(&section, pc, &reader))
        return false;
    size_t left = (size_t)(reader.end - reader.at);
    return (left >= sizeof(wide) && memcmp(reader.at, wide, sizeof(wide)) == 0) ||
           (left >= sizeof(narrow) && memcmp(reader.at, narrow, sizeof(narrow)) == 0);
}

void cfi_rule(const UnwindModule *module, uint64_t lookup_pc, Rule *ret_rule)
{
    CfiFde fde;
    *ret_rule = (Rule){.kind = RULE_MISSING};
    if (cfi_find_fde(module, lookup_pc, &fde))
        rule_of(&fde, lookup_pc, ret_rule);
    else if (is_trampoline(module, lookup_pc + 1)) /* a return address points at its start */
        ret_rule->kind = RULE_SLOW;
    ret_rule->generation = (uint8_t)module->generation;
}

void cfi_rule_in(const uint8_t *eh_frame, size_t bytes, uint64_t section_address,
                 uint64_t fde_address, uint64_t lookup_pc, Rule *ret_rule)
{
    CfiSection section = {eh_frame, bytes, section_address, section_address};
    CfiFde fde;
    *ret_rule = (Rule){.kind = RULE_MISSING};
    if (cfi_parse_fde(&section, fde_address, &fde) && lookup_pc >= fde.start && lookup_pc < fde.end)
        rule_of(&fde, lookup_pc, ret_rule);
}

static bool find_row(const UnwindModule *module, uint64_t lookup_pc, CfiRow *ret_row)
{
    CfiFde fde;
    return cfi_find_fde(module, lookup_pc, &fde) && cfi_fde_row(&fde, lookup_pc, ret_row);
}

unsigned cfi_cfa_register(const UnwindModule *module, uint64_t lookup_pc)
{
    CfiRow row;
    bool simple = find_row(module, lookup_pc, &row) && !row.cfa_is_expression &&
                  row.cfa_register < CFI_REGISTERS;
    return simple ? (unsigned)row.cfa_register : CFI_REGISTERS;
}

CfiSaved cfi_saved(const UnwindModule *module, uint64_t lookup_pc, unsigned reg,
                   int64_t *ret_offset)
{
    CfiRow row;
    if (!find_row(module, lookup_pc, &row))
        return CFI_SAVED_LOST;
    const CfiCell *cell = &row.reg[reg];
    if (cell->rule == CFI_CELL_UNSPECIFIED || cell->rule == CFI_CELL_SAME)
        return CFI_SAVED_KEPT;
    if (cell->rule != CFI_CELL_OFFSET)
        return CFI_SAVED_LOST;
    *ret_offset = cell->value;
    return CFI_SAVED_AT;
}

/* ---- full steps ------------------------------------------------------------------------------ */

static bool cell_value(const CfiCell *cell, unsigned number, uint64_t cfa, const CfiFrame *frame,
                       CfiReadFn read, void *cookie, uint64_t *ret_value)
{
    uint64_t address;
    switch (cell->rule) {
    case CFI_CELL_UNSPECIFIED:
    case CFI_CELL_SAME:
        *ret_value = frame->reg[number];
        return (cell->rule == CFI_CELL_SAME || cfi_callee_saves(number)) &&
               frame->known & 1u << number;
    case CFI_CELL_OFFSET:
        return read(cookie, cfa + (uint64_t)cell->value, ret_value);
    case CFI_CELL_VAL_OFFSET:
        *ret_value = cfa + (uint64_t)cell->value;
        return true;
    case CFI_CELL_REGISTER:
        if (cell->value < 0 || cell->value >= CFI_REGISTERS || !(frame->known & 1u << cell->value))
            return false;
        *ret_value = frame->reg[cell->value];
        return true;
    case CFI_CELL_EXPRESSION:
        return cfi_expression(cell->code, (size_t)cell->value, frame, read, cookie, true, cfa,
                              &address) &&
               read(cookie, address, ret_value);
    case CFI_CELL_VAL_EXPRESSION:
        return cfi_expression(cell->code, (size_t)cell->value, frame, read, cookie, true, cfa,
                              ret_value);
    default:
        return false;
    }
}

static bool row_cfa(const CfiRow *row, const CfiFrame *frame, CfiReadFn read, void *cookie,
                    uint64_t *ret_cfa)
{
    if (row->cfa_is_expression)
        return cfi_expression(row->cfa.code, (size_t)row->cfa.value, frame, read, cookie, false, 0,
                              ret_cfa);
    if (row->cfa_register >= CFI_REGISTERS || !(frame->known & 1u << row->cfa_register))
        return false;
    *ret_cfa = frame->reg[row->cfa_register] + (uint64_t)row->cfa.value;
    return true;
}

static int step_row(const CfiRow *row, CfiFrame *frame, CfiReadFn read, void *cookie)
{
    uint64_t cfa;
    if (row->reg[CFI_REG_RA].rule == CFI_CELL_UNDEFINED)
        return -ENOENT;
    if (!row_cfa(row, frame, read, cookie, &cfa))
        return -EINVAL;
    CfiFrame caller = {0};
    for (unsigned number = 0; number < CFI_REGISTERS; number++) {
        const CfiCell *cell = &row->reg[number];
        if (number == CFI_REG_RSP && cell->rule == CFI_CELL_UNSPECIFIED)
            caller.reg[number] = cfa;
        else if (!cell_value(cell, number, cfa, frame, read, cookie, &caller.reg[number]))
            continue;
        caller.known |= 1u << number;
    }
    if (!(caller.known & 1u << CFI_REG_RA) || !(caller.known & 1u << CFI_REG_RSP))
        return -EINVAL;
    *frame = caller;
    return 0;
}

/* The kernel's signal frame without tables: struct ucontext at rsp, gregs from byte 40 on in the
 * order r8..r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip (asm/sigcontext.h). */
static int step_trampoline(CfiFrame *frame, CfiReadFn read, void *cookie)
{
    static const uint8_t order[CFI_REGISTERS] = {8, 9, 10, 11, 12, 13, 14, 15, 5,
                                                 4, 6, 3,  1,  0,  2,  7,  16};
    CfiFrame caller = {.known = (1u << CFI_REGISTERS) - 1};
    if (!(frame->known & 1u << CFI_REG_RSP))
        return -EINVAL;
    for (unsigned i = 0; i < CFI_REGISTERS; i++)
        if (!read(cookie, frame->reg[CFI_REG_RSP] + 40 + 8 * i, &caller.reg[order[i]]))
            return -EINVAL;
    *frame = caller;
    return 0;
}

int cfi_step(const UnwindModule *module, uint64_t lookup_pc, CfiFrame *frame, CfiReadFn read,
             void *cookie, bool *ret_signal)
{
    CfiFde fde;
    CfiRow row;
    *ret_signal = false;
    if (cfi_find_fde(module, lookup_pc, &fde)) {
        if (!cfi_fde_row(&fde, lookup_pc, &row))
            return -EINVAL;
        *ret_signal = fde.cie.signal;
        return step_row(&row, frame, read, cookie);
    }
    if (!is_trampoline(module, lookup_pc + 1))
        return -EINVAL;
    *ret_signal = true;
    return step_trampoline(frame, read, cookie);
}
