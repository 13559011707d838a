// SPDX-License-Identifier: Apache-2.0
/*
 * The slow side of the rule cache (rules.h): what a pc is looked up by, and when an answer may be
 * remembered. 64 Ki cells of 16 bytes in .bss; a page of them is touched when a pc falls into it.
 * An address in no module is never remembered: code may be mapped there later without an epoch.
 * Any thread may read and write any cell at any time; async-signal-safe.
 */
#include "unwind/rules.h"

#include <elf.h>
#include <sys/auxv.h>

#include "base/bits.h"
#include "unwind/cfi.h"
#include "unwind/internal.h"
#include "unwind/unwind.h"

RuleCell rule_cells[1 << RULE_CELL_BITS];
static _Atomic uint32_t rule_lap; /* epoch / 16384 that the cells belong to */

/* What the walk's loop relies on without testing: a plain step from rsp goes up, by whole words. */
static RuleBits rule_checked(Rule rule)
{
    bool plain = rule.kind == RULE_PLAIN;
    if (plain && !rule.cfa_is_fp && (rule.cfa_offset < 8 || rule.cfa_offset % 8 != 0))
        rule.kind = RULE_MISSING;
    if (plain && rule.fp == RULE_FP_SAVED && rule.fp_offset % 8 != 0)
        rule.kind = RULE_MISSING;
    if (rule.kind != RULE_PLAIN)
        rule = (Rule){.kind = rule.kind, .generation = rule.generation};
    return rule_encode(rule);
}

/* The loader's entry code has no tables in glibc: constructors are called from it, and nothing
 * calls it. Where it begins stands in its ELF header; it is some hundred bytes long. */
static bool loader_entry(const UnwindModule *module, uint64_t pc)
{
    uint64_t base = getauxval(AT_BASE);
    Elf64_Ehdr ehdr;
    if (!base || module->bias != base || !unwind_read_safely(base, &ehdr, sizeof(ehdr)))
        return false;
    return pc - (base + ehdr.e_entry) < 256;
}

COLD RuleBits rule_fill(uint64_t pc, uint64_t key)
{
    uint64_t lookup_pc = key & RULE_KEY_EXACT ? pc : pc - 1;
    const UnwindModule *module = unwind_module_at(lookup_pc);
    int found = module ? 0 : unwind_modules_unknown(lookup_pc);
    if (found > 0)
        module = unwind_module_at(lookup_pc);
    if (!module)
        return rule_encode((Rule){.kind = RULE_MISSING}) | (found < 0 ? RULE_UNSURE : 0);
    Rule rule = {.kind = RULE_MISSING};
    cfi_rule(module, lookup_pc, &rule);
    if (rule.kind == RULE_MISSING && loader_entry(module, lookup_pc))
        rule.kind = RULE_OUTER;
    rule.generation = (uint8_t)module->generation;
    RuleBits bits = rule_checked(rule);
    RuleCell *cell = rule_cell(rule_cells, pc);
    atomic_store_explicit(&cell->check, rule_name(bits, pc) ^ bits ^ key, memory_order_relaxed);
    atomic_store_explicit(&cell->rule, bits, memory_order_relaxed);
    return bits;
}

COLD void rule_epoch_changed(uint32_t epoch)
{
    uint32_t lap = epoch >> 14;
    if (atomic_load_explicit(&rule_lap, memory_order_relaxed) == lap)
        return;
    for (size_t i = 0; i < ARRAY_SIZE(rule_cells); i++) {
        atomic_store_explicit(&rule_cells[i].check, 0, memory_order_relaxed);
        atomic_store_explicit(&rule_cells[i].rule, 0, memory_order_relaxed);
    }
    atomic_store_explicit(&rule_lap, lap, memory_order_relaxed);
}
