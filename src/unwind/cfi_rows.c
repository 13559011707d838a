// SPDX-License-Identifier: Apache-2.0
/*
 * Call frame instructions (DWARF 5, 6.4.2): those of the CIE give the first row, those of the FDE
 * change it from place to place. run() stops at the first place beyond the pc, so the cost is the
 * number of instructions before it, some ten for most functions. Rows saved by remember_state are
 * on our stack, eight at most: four KiB in all.
 */
#include "unwind/cfi_rows.h"

#include <string.h>

enum { REMEMBER_DEPTH = 8, MAX_INSTRUCTIONS = 20000 };

typedef struct Program {
    Reader reader;
    const CfiCie *cie;
    uint64_t pc, target;
    CfiRow *row, initial;
    CfiRow saved[REMEMBER_DEPTH];
    unsigned saved_count;
    bool failed;
} Program;

static void set_cell(Program *program, uint64_t number, CfiCellRule rule, int64_t value)
{
    if (number < CFI_REGISTERS)
        program->row->reg[number] = (CfiCell){rule, value, NULL};
}

static void set_expression(Program *program, uint64_t number, CfiCellRule rule)
{
    uint64_t length = reader_uleb(&program->reader);
    const uint8_t *code = reader_take(&program->reader, length);
    if (number < CFI_REGISTERS)
        program->row->reg[number] = (CfiCell){rule, (int64_t)length, code};
}

static void restore_cell(Program *program, uint64_t number)
{
    if (number < CFI_REGISTERS)
        program->row->reg[number] = program->initial.reg[number];
}

static void set_cfa(Program *program, uint64_t number, int64_t offset)
{
    program->row->cfa_is_expression = false;
    program->row->cfa_register = number;
    program->row->cfa.value = offset;
}

static void remember(Program *program, bool save)
{
    if (save ? program->saved_count == REMEMBER_DEPTH : program->saved_count == 0)
        program->failed = true;
    else if (save)
        program->saved[program->saved_count++] = *program->row;
    else
        *program->row = program->saved[--program->saved_count];
}

static bool run_advance(Program *program, uint8_t op)
{
    uint64_t delta;
    switch (op) {
    case 0x01: /* set_loc */
        program->pc = cfi_read_encoded(&program->reader, program->cie->fde_encoding, 0);
        return true;
    case 0x02:
        delta = reader_u8(&program->reader);
        break;
    case 0x03:
        delta = reader_u16(&program->reader);
        break;
    case 0x04:
        delta = reader_u32(&program->reader);
        break;
    default:
        return false;
    }
    program->pc += delta * program->cie->code_align;
    return true;
}

static bool run_cfa(Program *program, uint8_t op)
{
    Reader *reader = &program->reader;
    uint64_t number;
    switch (op) {
    case 0x0c: /* def_cfa */
        number = reader_uleb(reader);
        set_cfa(program, number, (int64_t)reader_uleb(reader));
        return true;
    case 0x0d: /* def_cfa_register */
        set_cfa(program, reader_uleb(reader), program->row->cfa.value);
        return true;
    case 0x0e: /* def_cfa_offset */
        program->row->cfa.value = (int64_t)reader_uleb(reader);
        return true;
    case 0x0f: /* def_cfa_expression */
        program->row->cfa_is_expression = true;
        program->row->cfa.value = (int64_t)reader_uleb(reader);
        program->row->cfa.code = reader_take(reader, (size_t)program->row->cfa.value);
        return true;
    case 0x12: /* def_cfa_sf */
        number = reader_uleb(reader);
        set_cfa(program, number, reader_sleb(reader) * program->cie->data_align);
        return true;
    case 0x13: /* def_cfa_offset_sf */
        program->row->cfa.value = reader_sleb(reader) * program->cie->data_align;
        return true;
    }
    return false;
}

static bool run_register(Program *program, uint8_t op)
{
    Reader *reader = &program->reader;
    int64_t align = program->cie->data_align;
    uint64_t number;
    switch (op) {
    case 0x05:
    case 0x06:
    case 0x07:
    case 0x08:
    case 0x09:
    case 0x10:
    case 0x11:
    case 0x14:
    case 0x15:
    case 0x16:
    case 0x2f:
        number = reader_uleb(reader);
        break;
    default:
        return false;
    }
    switch (op) {
    case 0x05:
        set_cell(program, number, CFI_CELL_OFFSET, (int64_t)reader_uleb(reader) * align);
        break;
    case 0x06:
        restore_cell(program, number);
        break;
    case 0x07:
        set_cell(program, number, CFI_CELL_UNDEFINED, 0);
        break;
    case 0x08:
        set_cell(program, number, CFI_CELL_SAME, 0);
        break;
    case 0x09:
        set_cell(program, number, CFI_CELL_REGISTER, (int64_t)reader_uleb(reader));
        break;
    case 0x10:
        set_expression(program, number, CFI_CELL_EXPRESSION);
        break;
    case 0x11:
        set_cell(program, number, CFI_CELL_OFFSET, reader_sleb(reader) * align);
        break;
    case 0x14:
        set_cell(program, number, CFI_CELL_VAL_OFFSET, (int64_t)reader_uleb(reader) * align);
        break;
    case 0x15:
        set_cell(program, number, CFI_CELL_VAL_OFFSET, reader_sleb(reader) * align);
        break;
    case 0x16:
        set_expression(program, number, CFI_CELL_VAL_EXPRESSION);
        break;
    case 0x2f:
        set_cell(program, number, CFI_CELL_OFFSET, -(int64_t)reader_uleb(reader) * align);
        break;
    }
    return true;
}

static void run_one(Program *program)
{
    uint8_t op = reader_u8(&program->reader);
    switch (op & 0xc0) {
    case 0x40:
        program->pc += (op & 0x3f) * program->cie->code_align;
        return;
    case 0x80:
        set_cell(program, op & 0x3f, CFI_CELL_OFFSET,
                 (int64_t)reader_uleb(&program->reader) * program->cie->data_align);
        return;
    case 0xc0:
        restore_cell(program, op & 0x3f);
        return;
    }
    if (run_advance(program, op) || run_cfa(program, op) || run_register(program, op))
        return;
    if (op == 0x0a || op == 0x0b)
        remember(program, op == 0x0a);
    else if (op == 0x2e) /* GNU_args_size */
        reader_uleb(&program->reader);
    else if (op != 0x00 && op != 0x2d) /* nop, GNU_window_save */
        program->failed = true;
}

static bool run(Program *program, Reader instructions)
{
    program->reader = instructions;
    for (int i = 0; program->reader.at < program->reader.end; i++) {
        run_one(program);
        if (program->failed || program->reader.bad || i == MAX_INSTRUCTIONS)
            return false;
        if (program->pc > program->target)
            break; /* the row ends where the pc moves beyond the target */
    }
    return true;
}

bool cfi_fde_row(const CfiFde *fde, uint64_t pc, CfiRow *ret_row)
{
    Program program;
    memset(ret_row, 0, sizeof(*ret_row));
    program = (Program){.cie = &fde->cie, .pc = 0, .target = 1, .row = ret_row};
    if (!run(&program, fde->cie.instructions))
        return false;
    program.initial = *ret_row;
    program.pc = fde->start;
    program.target = pc;
    return run(&program, fde->instructions);
}
