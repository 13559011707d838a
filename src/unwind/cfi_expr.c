// SPDX-License-Identifier: Apache-2.0
/*
 * The stack machine of DWARF expressions: see cfi_expr.h. Bounded in stack depth and steps, so that
 * a broken table costs little; memory is read only through the caller's function.
 */
#include "unwind/cfi_expr.h"

#include "unwind/reader.h"

enum { STACK_WORDS = 32, MAX_STEPS = 1000 };

enum {
    OP_addr = 0x03,
    OP_deref = 0x06,
    OP_const1u = 0x08,
    OP_const1s,
    OP_const2u,
    OP_const2s,
    OP_const4u,
    OP_const4s,
    OP_const8u,
    OP_const8s,
    OP_constu,
    OP_consts,
    OP_dup,
    OP_drop,
    OP_over,
    OP_pick,
    OP_swap,
    OP_rot,
    OP_abs = 0x19,
    OP_and,
    OP_div,
    OP_minus,
    OP_mod,
    OP_mul,
    OP_neg,
    OP_not,
    OP_or,
    OP_plus,
    OP_plus_uconst,
    OP_shl,
    OP_shr,
    OP_shra,
    OP_xor,
    OP_bra,
    OP_eq,
    OP_ge,
    OP_gt,
    OP_le,
    OP_lt,
    OP_ne,
    OP_skip,
    OP_lit0 = 0x30,
    OP_lit31 = 0x4f,
    OP_breg0 = 0x70,
    OP_breg31 = 0x8f,
    OP_bregx = 0x92,
    OP_deref_size = 0x94,
    OP_nop = 0x96,
};

typedef struct Machine {
    Reader reader;
    const uint8_t *code;
    const CfiFrame *frame;
    CfiReadFn read;
    void *cookie;
    uint64_t stack[STACK_WORDS];
    unsigned depth;
    bool failed;
} Machine;

static void push(Machine *machine, uint64_t value)
{
    if (machine->depth == STACK_WORDS)
        machine->failed = true;
    else
        machine->stack[machine->depth++] = value;
}

static uint64_t pop(Machine *machine)
{
    if (!machine->depth) {
        machine->failed = true;
        return 0;
    }
    return machine->stack[--machine->depth];
}

static uint64_t peek(Machine *machine, unsigned down)
{
    if (down >= machine->depth) {
        machine->failed = true;
        return 0;
    }
    return machine->stack[machine->depth - 1 - down];
}

static uint64_t register_value(Machine *machine, uint64_t number)
{
    if (number >= CFI_REGISTERS || !(machine->frame->known & 1u << number)) {
        machine->failed = true;
        return 0;
    }
    return machine->frame->reg[number];
}

static void deref(Machine *machine, unsigned bytes)
{
    uint64_t word = 0;
    if (bytes == 0 || bytes > 8 || !machine->read(machine->cookie, pop(machine), &word))
        machine->failed = true;
    push(machine, bytes == 8 ? word : word & ((UINT64_C(1) << 8 * (bytes & 7)) - 1));
}

static uint64_t binary(Machine *machine, uint8_t op, uint64_t a, uint64_t b)
{
    int64_t sa = (int64_t)a, sb = (int64_t)b;
    switch (op) {
    case OP_and:
        return a & b;
    case OP_minus:
        return a - b;
    case OP_mul:
        return a * b;
    case OP_or:
        return a | b;
    case OP_plus:
        return a + b;
    case OP_xor:
        return a ^ b;
    case OP_shl:
        return b < 64 ? a << b : 0;
    case OP_shr:
        return b < 64 ? a >> b : 0;
    case OP_shra:
        return (uint64_t)(sa >> (b < 63 ? b : 63));
    case OP_eq:
        return a == b;
    case OP_ge:
        return sa >= sb;
    case OP_gt:
        return sa > sb;
    case OP_le:
        return sa <= sb;
    case OP_lt:
        return sa < sb;
    case OP_ne:
        return a != b;
    case OP_div:
        if (sb != 0 && sb != -1)
            return (uint64_t)(sa / sb);
        machine->failed |= sb == 0;
        return 0 - a;
    case OP_mod:
        if (b)
            return a % b;
        break;
    }
    machine->failed = true;
    return 0;
}

static void jump(Machine *machine, bool taken)
{
    int16_t by = (int16_t)reader_u16(&machine->reader);
    if (!taken)
        return;
    ptrdiff_t target = machine->reader.at - machine->code + by;
    if (target < 0 || target > machine->reader.end - machine->code)
        machine->failed = true;
    else
        machine->reader.at = machine->code + target;
}

static bool constant(Machine *machine, uint8_t op)
{
    Reader *reader = &machine->reader;
    switch (op) {
    case OP_addr:
    case OP_const8u:
    case OP_const8s:
        push(machine, reader_u64(reader));
        return true;
    case OP_const1u:
        push(machine, reader_u8(reader));
        return true;
    case OP_const1s:
        push(machine, (uint64_t)(int8_t)reader_u8(reader));
        return true;
    case OP_const2u:
        push(machine, reader_u16(reader));
        return true;
    case OP_const2s:
        push(machine, (uint64_t)(int16_t)reader_u16(reader));
        return true;
    case OP_const4u:
        push(machine, reader_u32(reader));
        return true;
    case OP_const4s:
        push(machine, (uint64_t)(int32_t)reader_u32(reader));
        return true;
    case OP_constu:
        push(machine, reader_uleb(reader));
        return true;
    case OP_consts:
        push(machine, (uint64_t)reader_sleb(reader));
        return true;
    }
    return false;
}

static bool shuffle(Machine *machine, uint8_t op)
{
    uint64_t a, b, c;
    switch (op) {
    case OP_dup:
        push(machine, peek(machine, 0));
        return true;
    case OP_drop:
        pop(machine);
        return true;
    case OP_over:
        push(machine, peek(machine, 1));
        return true;
    case OP_pick:
        push(machine, peek(machine, reader_u8(&machine->reader)));
        return true;
    case OP_swap:
        a = pop(machine), b = pop(machine);
        push(machine, a), push(machine, b);
        return true;
    case OP_rot:
        a = pop(machine), b = pop(machine), c = pop(machine);
        push(machine, a), push(machine, c), push(machine, b);
        return true;
    }
    return false;
}

static void operate(Machine *machine, uint8_t op)
{
    uint64_t a, b;
    if (constant(machine, op) || shuffle(machine, op))
        return;
    if (op >= OP_lit0 && op <= OP_lit31) {
        push(machine, op - OP_lit0);
    } else if (op >= OP_breg0 && op <= OP_breg31) {
        a = register_value(machine, op - OP_breg0);
        push(machine, a + (uint64_t)reader_sleb(&machine->reader));
    } else if (op == OP_bregx) {
        a = register_value(machine, reader_uleb(&machine->reader));
        push(machine, a + (uint64_t)reader_sleb(&machine->reader));
    } else if (op == OP_deref || op == OP_deref_size) {
        deref(machine, op == OP_deref ? 8 : reader_u8(&machine->reader));
    } else if (op == OP_abs || op == OP_neg) {
        a = pop(machine);
        push(machine, op == OP_neg || (int64_t)a < 0 ? 0 - a : a);
    } else if (op == OP_not) {
        push(machine, ~pop(machine));
    } else if (op == OP_plus_uconst) {
        a = pop(machine);
        push(machine, a + reader_uleb(&machine->reader));
    } else if (op == OP_skip || op == OP_bra) {
        jump(machine, op == OP_skip || pop(machine) != 0);
    } else if (op != OP_nop) {
        b = pop(machine), a = pop(machine);
        push(machine, binary(machine, op, a, b));
    }
}

bool cfi_expression(const uint8_t *code, size_t bytes, const CfiFrame *frame, CfiReadFn read,
                    void *cookie, bool push_initial, uint64_t initial, uint64_t *ret_value)
{
    Machine machine = {.reader = {code, code + bytes, 0, false},
                       .code = code,
                       .frame = frame,
                       .read = read,
                       .cookie = cookie};
    if (push_initial)
        push(&machine, initial);
    for (int step = 0; machine.reader.at < machine.reader.end; step++) {
        if (step == MAX_STEPS || machine.failed || machine.reader.bad)
            return false;
        operate(&machine, reader_u8(&machine.reader));
    }
    uint64_t value = peek(&machine, 0);
    if (machine.failed || machine.reader.bad)
        return false;
    *ret_value = value;
    return true;
}
