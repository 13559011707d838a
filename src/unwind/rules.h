// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "unwind/rule.h"

/*
 * Process-wide cache of rules, found by return address: direct-mapped, two words a cell, written
 * and read without a lock. The first word is pc ^ rule ^ key (epoch, kind of rule), so that a cell
 * torn between two writers never matches (the trick of lockless transposition tables, Hyatt and
 * Mann), and a cell of an older epoch does not either.
 *
 * A rule travels as its eight bytes with the kind xored by RULE_PLAIN: the common rule (rsp plus a
 * constant, generation 0) then has zeros under RULE_NOT_FAST, one test in the walk's loop. The
 * walker uses spare bits of a remembered frame's rule as marks; cached rules never carry them.
 */
typedef uint64_t RuleBits;

#define RULE_KIND_BITS  UINT64_C(0x03)
#define RULE_LIVE       UINT64_C(0x04) /* mark: this frame's rbp decides where an outer CFA is */
#define RULE_AUX        UINT64_C(0x08) /* mark: no frame, only a word that the walk depends on */
#define RULE_CFA_FP     UINT64_C(0x10)
#define RULE_SAVED_FP   UINT64_C(0x20)
#define RULE_BY_FP      UINT64_C(0x40) /* mark: stepped by frame pointer for want of a rule */
#define RULE_EXACT      UINT64_C(0x80) /* mark: pc is exact, below a signal frame */
#define RULE_UNSURE     RULE_AUX       /* from rule_fill(): the next look may find more */
#define RULE_GENERATION UINT64_C(0xff00)
#define RULE_NOT_FAST   (RULE_GENERATION | RULE_CFA_FP | RULE_KIND_BITS)

static inline RuleBits rule_encode(Rule rule)
{
    RuleBits bits;
    memcpy(&bits, &rule, sizeof bits);
    return bits ^ RULE_PLAIN;
}

static inline unsigned rule_kind(RuleBits bits)
{
    return (unsigned)(bits & RULE_KIND_BITS) ^ RULE_PLAIN;
}

static inline int64_t rule_cfa_offset(RuleBits bits)
{
    return (int64_t)bits >> 32;
}

static inline int64_t rule_fp_offset(RuleBits bits)
{
    return (int16_t)(bits >> 16);
}

enum { RULE_CELL_BITS = 16 };

typedef struct RuleCell {
    _Atomic uint64_t check;
    _Atomic uint64_t rule;
} RuleCell;

extern __attribute__((visibility("hidden"))) RuleCell rule_cells[1 << RULE_CELL_BITS];

#define RULE_KEY_EXACT (UINT64_C(1) << 63)

/* Never 0 above bit 47, so that an empty cell, whose rule would be fast, matches no pc, not even 0.
 */
static inline uint64_t rule_epoch_key(uint32_t epoch)
{
    return (uint64_t)(0x4000 | (epoch & 0x3fff)) << 48;
}

/* In the first word of a rule that is not fast: the walk's loop then needs one comparison to know
 * that a rule is the right one and fast. */
#define RULE_KEY_SLOW (UINT64_C(1) << 62)

/* What the two words of a cell, xored with the key, are for PC's rule. */
static inline uint64_t rule_name(RuleBits rule, uint64_t pc)
{
    return rule & RULE_NOT_FAST ? pc ^ RULE_KEY_SLOW : pc;
}

static inline bool rule_holds(RuleBits rule, uint64_t named, uint64_t pc)
{
    return rule_name(rule, pc) == named;
}

/* Its cell's number, times two. The lowest bits of an address are as good as random over a program,
 * and each further operation would lengthen the chain of loads that a walk's time consists of. Two
 * return addresses are never one byte apart. */
static inline size_t rule_at(uint64_t pc)
{
    return pc & (((1u << RULE_CELL_BITS) - 1) << 1);
}

static inline RuleCell *rule_cell(RuleCell *cells, uint64_t pc)
{
    return &cells[rule_at(pc) / 2];
}

/* The slow side: interprets the tables and fills the cell. Never fails: RULE_MISSING, perhaps with
 * RULE_UNSURE. KEY is the epoch key, with RULE_KEY_EXACT when PC is exact. */
RuleBits rule_fill(uint64_t pc, uint64_t key);
/* Epoch keys repeat every 16384 epochs; clears the cache then. */
void rule_epoch_changed(uint32_t epoch);
