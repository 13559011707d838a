// SPDX-License-Identifier: Apache-2.0
/*
 * Fuzzer of the unwind tables' reader, which runs inside other people's processes.
 *
 *   [FDE offset u16][pc as offset from the section i32][mode u8][bytes]
 *
 * Mode even: the bytes are an .eh_frame section, the rule of the pc is asked for, and must be one
 * that the walker may take. Mode odd: they are a DWARF expression; memory reads see the bytes
 * themselves.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/cfi.h"
#include "unwind/cfi_expr.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAD_BYTES = 7 };
#define SECTION_ADDRESS UINT64_C(0x7f0000100000)

typedef struct Bytes {
    const uint8_t *data;
    size_t size;
} Bytes;

static bool read_word(void *cookie, uint64_t address, uint64_t *ret_word)
{
    const Bytes *bytes = cookie;
    if (bytes->size < 8 || address % 3 == 0)
        return false;
    memcpy(ret_word, bytes->data + address % (bytes->size - 7), 8);
    return true;
}

static void check_rule(const Rule *rule)
{
    bool known = rule->kind == RULE_MISSING || rule->kind == RULE_PLAIN ||
                 rule->kind == RULE_OUTER || rule->kind == RULE_SLOW;
    if (!known || (rule->fp != RULE_FP_SAME && rule->fp != RULE_FP_SAVED)) {
        fprintf(stderr, "a rule of kind %d, fp %d\n", rule->kind, rule->fp);
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint16_t fde;
    int32_t pc;
    if (size < HEAD_BYTES)
        return 0;
    memcpy(&fde, data, 2);
    memcpy(&pc, data + 2, 4);
    Bytes bytes = {data + HEAD_BYTES, size - HEAD_BYTES};
    if (data[6] % 2 == 0) {
        Rule rule;
        cfi_rule_in(bytes.data, bytes.size, SECTION_ADDRESS, SECTION_ADDRESS + fde,
                    SECTION_ADDRESS + (uint64_t)(int64_t)pc, &rule);
        check_rule(&rule);
        return 0;
    }
    CfiFrame frame = {.known = (uint32_t)pc};
    for (unsigned i = 0; i < CFI_REGISTERS; i++)
        frame.reg[i] = UINT64_C(0x7ffc00000000) + fde * i;
    uint64_t value;
    cfi_expression(bytes.data, bytes.size, &frame, read_word, &bytes, data[6] & 2, fde, &value);
    return 0;
}
