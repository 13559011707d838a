// SPDX-License-Identifier: Apache-2.0
/*
 * Call frame information: from a pc to its row of unwind rules.
 *
 * .eh_frame_hdr holds a sorted table {function start, FDE} (LSB 10.6.2), searched by halving; where
 * it has another shape, the FDEs are walked one after the other. The FDE's and its CIE's
 * instructions are then run up to the pc. A row that only says "CFA = rsp or rbp + n, rbp there" is
 * packed into a Rule that the walker caches; everything else is evaluated at each step.
 *
 * The tables are read in place, bounded by the PT_LOAD segment that holds them: a module with code
 * on a live stack is loaded in a correct program. No state, no locks; usable in signal handlers.
 */
#include "unwind/cfi.h"

#include <errno.h>
#include <string.h>

#include "unwind/cfi_expr.h"
#include "unwind/reader.h"

enum { REG_RBX = 3, REG_RBP = 6, REG_RSP = 7, REG_R12 = 12, REG_R15 = 15, REG_RA = 16 };
enum { REMEMBER_DEPTH = 8, MAX_INSTRUCTIONS = 20000 };

typedef enum RowRule {
    ROW_UNSPECIFIED,
    ROW_UNDEFINED,
    ROW_SAME,
    ROW_OFFSET,
    ROW_VAL_OFFSET,
    ROW_REGISTER,
    ROW_EXPRESSION,
    ROW_VAL_EXPRESSION,
} RowRule;

typedef struct RowCell {
    RowRule rule;
    int64_t value; /* offset, register, or length of the expression */
    const uint8_t *code;
} RowCell;

typedef struct Row {
    bool cfa_is_expression;
    uint64_t cfa_register;
    RowCell cfa; /* value: offset, or length of code */
    RowCell reg[CFI_REGISTERS];
} Row;

typedef struct Section { /* bytes of the segment around the tables */
    const uint8_t *data;
    size_t bytes;
    uint64_t address;
    uint64_t data_base; /* for DW_EH_PE_datarel: .eh_frame_hdr */
} Section;

typedef struct Cie {
    uint64_t code_align;
    int64_t data_align;
    uint64_t ra_register;
    uint8_t fde_encoding;
    bool signal;
    bool has_augmentation_data;
    Reader instructions;
} Cie;

typedef struct Fde {
    Cie cie;
    uint64_t start, end; /* pcs */
    Reader instructions;
} Fde;

static bool section_reader(const Section *section, uint64_t address, Reader *ret_reader)
{
    if (address < section->address || address - section->address >= section->bytes)
        return false;
    *ret_reader = (Reader){section->data + (address - section->address),
                           section->data + section->bytes, address, false};
    return true;
}

/* DW_EH_PE pointers (LSB 10.5.1). Indirect ones only occur for personalities: value unused. */
static uint64_t read_encoded(Reader *reader, uint8_t encoding, uint64_t data_base)
{
    if (encoding == 0xff)
        return 0;
    uint64_t base = 0, value;
    switch (encoding & 0x70) {
    case 0x10:
        base = reader->address;
        break;
    case 0x30:
        base = data_base;
        break;
    case 0x00:
        break;
    default:
        reader->bad = true;
    }
    switch (encoding & 0x0f) {
    case 0x00:
    case 0x04:
    case 0x0c:
        value = reader_u64(reader);
        break;
    case 0x01:
        value = reader_uleb(reader);
        break;
    case 0x02:
        value = reader_u16(reader);
        break;
    case 0x03:
        value = reader_u32(reader);
        break;
    case 0x09:
        value = (uint64_t)reader_sleb(reader);
        break;
    case 0x0a:
        value = (uint64_t)(int16_t)reader_u16(reader);
        break;
    case 0x0b:
        value = (uint64_t)(int32_t)reader_u32(reader);
        break;
    default:
        reader->bad = true;
        return 0;
    }
    return value + base;
}

/* ---- CIE and FDE ----------------------------------------------------------------------------- */

/* Cuts READER to one entry and gives the address behind the length. False at a terminator. */
static bool entry_begin(Reader *reader, uint64_t *ret_id_address)
{
    uint64_t length = reader_u32(reader);
    if (length == 0xffffffff)
        length = reader_u64(reader);
    if (reader->bad || !length || length > (uint64_t)(reader->end - reader->at))
        return false;
    reader->end = reader->at + length;
    *ret_id_address = reader->address;
    return true;
}

static void parse_augmentation(Reader *reader, const char *letters, Cie *cie)
{
    for (; *letters; letters++) {
        switch (*letters) {
        case 'R':
            cie->fde_encoding = reader_u8(reader);
            break;
        case 'L':
            reader_u8(reader);
            break;
        case 'S':
            cie->signal = true;
            break;
        case 'P':
            read_encoded(reader, reader_u8(reader) & 0x7f, 0);
            break;
        case 'B':
            break;
        default:
            return; /* the rest is skipped by its length */
        }
    }
}

static bool parse_cie(Reader reader, Cie *ret_cie)
{
    uint64_t id_address;
    if (!entry_begin(&reader, &id_address) || reader_u32(&reader) != 0)
        return false;
    uint8_t cie_version = reader_u8(&reader);
    const char *letters = (const char *)reader.at;
    const void *zero = memchr(letters, 0, (size_t)(reader.end - reader.at));
    if (!zero || (cie_version != 1 && cie_version != 3))
        return false;
    reader_take(&reader, (size_t)((const char *)zero - letters) + 1);
    Cie cie = {0};
    cie.code_align = reader_uleb(&reader);
    cie.data_align = reader_sleb(&reader);
    cie.ra_register = cie_version == 1 ? reader_u8(&reader) : reader_uleb(&reader);
    if (letters[0] == 'z') {
        cie.has_augmentation_data = true;
        uint64_t length = reader_uleb(&reader);
        Reader inner = reader;
        if (!reader_take(&reader, length) && length)
            return false;
        inner.end = reader.at;
        parse_augmentation(&inner, letters + 1, &cie);
    } else if (letters[0]) {
        return false;
    }
    cie.instructions = reader;
    *ret_cie = cie;
    return !reader.bad && cie.ra_register == REG_RA;
}

static bool parse_fde(const Section *section, uint64_t address, Fde *ret_fde)
{
    Reader reader, cie_reader;
    uint64_t id_address;
    if (!section_reader(section, address, &reader) || !entry_begin(&reader, &id_address))
        return false;
    uint32_t back = reader_u32(&reader);
    Fde fde = {0};
    if (!back || !section_reader(section, id_address - back, &cie_reader) ||
        !parse_cie(cie_reader, &fde.cie))
        return false;
    fde.start = read_encoded(&reader, fde.cie.fde_encoding, section->data_base);
    fde.end = fde.start + read_encoded(&reader, fde.cie.fde_encoding & 0x0f, 0);
    if (fde.cie.has_augmentation_data)
        reader_take(&reader, reader_uleb(&reader));
    fde.instructions = reader;
    *ret_fde = fde;
    return !reader.bad;
}

/* ---- instructions ---------------------------------------------------------------------------- */

typedef struct Program {
    Reader reader;
    const Cie *cie;
    uint64_t pc, target;
    Row *row, initial;
    Row saved[REMEMBER_DEPTH];
    unsigned saved_count;
    bool failed;
} Program;

static void set_cell(Program *program, uint64_t number, RowRule rule, int64_t value)
{
    if (number < CFI_REGISTERS)
        program->row->reg[number] = (RowCell){rule, value, NULL};
}

static void set_expression(Program *program, uint64_t number, RowRule rule)
{
    uint64_t length = reader_uleb(&program->reader);
    const uint8_t *code = reader_take(&program->reader, length);
    if (number < CFI_REGISTERS)
        program->row->reg[number] = (RowCell){rule, (int64_t)length, code};
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
        program->pc = read_encoded(&program->reader, program->cie->fde_encoding, 0);
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
        set_cell(program, number, ROW_OFFSET, (int64_t)reader_uleb(reader) * align);
        break;
    case 0x06:
        restore_cell(program, number);
        break;
    case 0x07:
        set_cell(program, number, ROW_UNDEFINED, 0);
        break;
    case 0x08:
        set_cell(program, number, ROW_SAME, 0);
        break;
    case 0x09:
        set_cell(program, number, ROW_REGISTER, (int64_t)reader_uleb(reader));
        break;
    case 0x10:
        set_expression(program, number, ROW_EXPRESSION);
        break;
    case 0x11:
        set_cell(program, number, ROW_OFFSET, reader_sleb(reader) * align);
        break;
    case 0x14:
        set_cell(program, number, ROW_VAL_OFFSET, (int64_t)reader_uleb(reader) * align);
        break;
    case 0x15:
        set_cell(program, number, ROW_VAL_OFFSET, reader_sleb(reader) * align);
        break;
    case 0x16:
        set_expression(program, number, ROW_VAL_EXPRESSION);
        break;
    case 0x2f:
        set_cell(program, number, ROW_OFFSET, -(int64_t)reader_uleb(reader) * align);
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
        set_cell(program, op & 0x3f, ROW_OFFSET,
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

static bool fde_row(const Fde *fde, uint64_t pc, Row *ret_row)
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

/* ---- look-up --------------------------------------------------------------------------------- */

static bool module_section(const UnwindModule *module, uint64_t address, Section *ret_section)
{
    for (uint32_t i = 0; i < module->segment_count; i++) {
        uint64_t start = module->bias + module->segments[i].addr;
        if (address < start || address - start >= module->segments[i].size)
            continue;
        *ret_section = (Section){(const uint8_t *)start, module->segments[i].size, start,
                                 module->eh_frame_hdr};
        return true;
    }
    return false;
}

/* Entries are {function start, FDE address}, two 4-byte numbers relative to the header's start. */
static bool search_table(const Section *section, const uint8_t *table, uint64_t count, uint64_t pc,
                         uint64_t *ret_fde)
{
    if (!count || (uint64_t)(section->data + section->bytes - table) / 8 < count)
        return false;
    int64_t wanted = (int64_t)(pc - section->data_base);
    uint64_t low = 0, high = count;
    int32_t entry[2];
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        memcpy(entry, table + middle * 8, 8);
        if (entry[0] <= wanted)
            low = middle;
        else
            high = middle;
    }
    memcpy(entry, table + low * 8, 8);
    *ret_fde = section->data_base + (uint64_t)(int64_t)entry[1];
    return entry[0] <= wanted;
}

static bool scan_frames(const Section *section, uint64_t eh_frame, uint64_t pc, Fde *ret_fde)
{
    Reader reader;
    if (!section_reader(section, eh_frame, &reader))
        return false;
    for (;;) {
        Reader entry = reader;
        uint64_t id_address, at = reader.address;
        if (!entry_begin(&entry, &id_address))
            return false;
        size_t bytes = (size_t)(entry.end - reader.at);
        if (reader_u32(&entry) != 0 && parse_fde(section, at, ret_fde) && pc >= ret_fde->start &&
            pc < ret_fde->end)
            return true;
        reader_take(&reader, bytes);
    }
}

static bool find_fde(const UnwindModule *module, uint64_t pc, Fde *ret_fde)
{
    Section section;
    Reader reader;
    if (!module->eh_frame_hdr || !module_section(module, module->eh_frame_hdr, &section) ||
        !section_reader(&section, module->eh_frame_hdr, &reader) || reader_u8(&reader) != 1)
        return false;
    uint8_t frame_encoding = reader_u8(&reader), count_encoding = reader_u8(&reader);
    uint8_t table_encoding = reader_u8(&reader);
    uint64_t eh_frame = read_encoded(&reader, frame_encoding, section.data_base), fde_address;
    if (table_encoding == 0x3b && count_encoding != 0xff) {
        uint64_t count = read_encoded(&reader, count_encoding, section.data_base);
        return !reader.bad && search_table(&section, reader.at, count, pc, &fde_address) &&
               parse_fde(&section, fde_address, ret_fde) && pc >= ret_fde->start &&
               pc < ret_fde->end;
    }
    return !reader.bad && scan_frames(&section, eh_frame, pc, ret_fde);
}

/* ---- rules ----------------------------------------------------------------------------------- */

/* The linker's expression for lazy PLT entries: rsp + 8 + (((pc & 15) >= n) << 3). */
static bool plt_offset(const Row *row, uint64_t pc, int64_t *ret_offset)
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

static bool pack_fp(const RowCell *cell, Rule *rule)
{
    switch (cell->rule) {
    case ROW_UNSPECIFIED:
    case ROW_SAME:
    case ROW_UNDEFINED:
        rule->fp = RULE_FP_SAME;
        return true;
    case ROW_OFFSET:
        rule->fp = RULE_FP_SAVED;
        rule->fp_offset = (int16_t)cell->value;
        return cell->value == rule->fp_offset;
    default:
        return false;
    }
}

static void pack_rule(const Fde *fde, const Row *row, uint64_t pc, Rule *ret_rule)
{
    Rule rule = {.kind = RULE_SLOW};
    *ret_rule = rule;
    const RowCell *ra = &row->reg[REG_RA];
    if (ra->rule == ROW_UNDEFINED) {
        ret_rule->kind = RULE_OUTER;
        return;
    }
    int64_t offset = row->cfa.value;
    bool plt = plt_offset(row, pc, &offset);
    bool plain_cfa = plt || (!row->cfa_is_expression &&
                             (row->cfa_register == REG_RSP || row->cfa_register == REG_RBP));
    if (fde->cie.signal || !plain_cfa || offset != (int32_t)offset || ra->rule != ROW_OFFSET ||
        ra->value != -8 || row->reg[REG_RSP].rule != ROW_UNSPECIFIED ||
        !pack_fp(&row->reg[REG_RBP], &rule))
        return;
    rule.kind = RULE_PLAIN;
    rule.cfa_is_fp = !plt && row->cfa_register == REG_RBP;
    rule.cfa_offset = (int32_t)offset;
    *ret_rule = rule;
}

static void rule_of(const Fde *fde, uint64_t pc, Rule *ret_rule)
{
    Row row;
    if (fde_row(fde, pc, &row))
        pack_rule(fde, &row, pc, ret_rule);
}

/* mov $15 (rt_sigreturn), %rax or %eax; syscall */
static bool is_trampoline(const UnwindModule *module, uint64_t pc)
{
    static const uint8_t wide[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05},
                         narrow[] = {0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05};
    Section section;
    Reader reader;
    if (!module_section(module, pc, &section) || !section_reader(&section, pc, &reader))
        return false;
    size_t left = (size_t)(reader.end - reader.at);
    return (left >= sizeof(wide) && memcmp(reader.at, wide, sizeof(wide)) == 0) ||
           (left >= sizeof(narrow) && memcmp(reader.at, narrow, sizeof(narrow)) == 0);
}

void cfi_rule(const UnwindModule *module, uint64_t lookup_pc, Rule *ret_rule)
{
    Fde fde;
    *ret_rule = (Rule){.kind = RULE_MISSING};
    if (find_fde(module, lookup_pc, &fde))
        rule_of(&fde, lookup_pc, ret_rule);
    else if (is_trampoline(module, lookup_pc + 1)) /* a return address points at its start */
        ret_rule->kind = RULE_SLOW;
    ret_rule->generation = (uint8_t)module->generation;
}

void cfi_rule_in(const uint8_t *eh_frame, size_t bytes, uint64_t section_address,
                 uint64_t fde_address, uint64_t lookup_pc, Rule *ret_rule)
{
    Section section = {eh_frame, bytes, section_address, section_address};
    Fde fde;
    *ret_rule = (Rule){.kind = RULE_MISSING};
    if (parse_fde(&section, fde_address, &fde) && lookup_pc >= fde.start && lookup_pc < fde.end)
        rule_of(&fde, lookup_pc, ret_rule);
}

/* ---- full steps ------------------------------------------------------------------------------ */

static bool cell_value(const RowCell *cell, unsigned number, uint64_t cfa, const CfiFrame *frame,
                       CfiReadFn read, void *cookie, uint64_t *ret_value)
{
    uint64_t address;
    bool callee_saved =
        number == REG_RBX || number == REG_RBP || (number >= REG_R12 && number <= REG_R15);
    switch (cell->rule) {
    case ROW_UNSPECIFIED:
    case ROW_SAME:
        *ret_value = frame->reg[number];
        return (cell->rule == ROW_SAME || callee_saved) && frame->known & 1u << number;
    case ROW_OFFSET:
        return read(cookie, cfa + (uint64_t)cell->value, ret_value);
    case ROW_VAL_OFFSET:
        *ret_value = cfa + (uint64_t)cell->value;
        return true;
    case ROW_REGISTER:
        if (cell->value < 0 || cell->value >= CFI_REGISTERS || !(frame->known & 1u << cell->value))
            return false;
        *ret_value = frame->reg[cell->value];
        return true;
    case ROW_EXPRESSION:
        return cfi_expression(cell->code, (size_t)cell->value, frame, read, cookie, true, cfa,
                              &address) &&
               read(cookie, address, ret_value);
    case ROW_VAL_EXPRESSION:
        return cfi_expression(cell->code, (size_t)cell->value, frame, read, cookie, true, cfa,
                              ret_value);
    default:
        return false;
    }
}

static bool row_cfa(const Row *row, const CfiFrame *frame, CfiReadFn read, void *cookie,
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

static int step_row(const Row *row, CfiFrame *frame, CfiReadFn read, void *cookie)
{
    uint64_t cfa;
    if (row->reg[REG_RA].rule == ROW_UNDEFINED)
        return -ENOENT;
    if (!row_cfa(row, frame, read, cookie, &cfa))
        return -EINVAL;
    CfiFrame caller = {0};
    for (unsigned number = 0; number < CFI_REGISTERS; number++) {
        const RowCell *cell = &row->reg[number];
        if (number == REG_RSP && cell->rule == ROW_UNSPECIFIED)
            caller.reg[number] = cfa;
        else if (!cell_value(cell, number, cfa, frame, read, cookie, &caller.reg[number]))
            continue;
        caller.known |= 1u << number;
    }
    if (!(caller.known & 1u << REG_RA) || !(caller.known & 1u << REG_RSP))
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
    if (!(frame->known & 1u << REG_RSP))
        return -EINVAL;
    for (unsigned i = 0; i < CFI_REGISTERS; i++)
        if (!read(cookie, frame->reg[REG_RSP] + 40 + 8 * i, &caller.reg[order[i]]))
            return -EINVAL;
    *frame = caller;
    return 0;
}

int cfi_step(const UnwindModule *module, uint64_t lookup_pc, CfiFrame *frame, CfiReadFn read,
             void *cookie, bool *ret_signal)
{
    Fde fde;
    Row row;
    *ret_signal = false;
    if (find_fde(module, lookup_pc, &fde)) {
        if (!fde_row(&fde, lookup_pc, &row))
            return -EINVAL;
        *ret_signal = fde.cie.signal;
        return step_row(&row, frame, read, cookie);
    }
    if (!is_trampoline(module, lookup_pc + 1))
        return -EINVAL;
    *ret_signal = true;
    return step_trampoline(frame, read, cookie);
}
