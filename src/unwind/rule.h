// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "unwind/unwind.h"

/*
 * How to step from one x86-64 frame to its caller, small enough that a cache line holds four cached
 * ones. Everything that does not fit is RULE_SLOW: cfi_step() evaluates the tables anew each time.
 */
typedef enum RuleKind {
    RULE_MISSING, /* no unwind information for this pc: try frame pointers */
    RULE_PLAIN,   /* CFA = rsp or rbp + offset, return address at CFA - 8 */
    RULE_OUTER,   /* return address undefined: the outermost frame */
    RULE_SLOW,    /* expressions, signal frames, other registers: cfi_step() */
} RuleKind;

typedef enum RuleFp {
    RULE_FP_SAME,  /* caller's rbp == rbp */
    RULE_FP_SAVED, /* caller's rbp at CFA + fp_offset */
} RuleFp;

typedef struct Rule {
    uint8_t kind : 4;      /* RuleKind */
    uint8_t cfa_is_fp : 1; /* CFA register: 0 rsp, 1 rbp */
    uint8_t fp : 3;        /* RuleFp */
    uint8_t generation;    /* of the address, see FrameWord */
    int16_t fp_offset;     /* bytes from the CFA, negative multiple of 8 */
    int32_t cfa_offset;
} Rule;
_Static_assert(sizeof(Rule) == 8, "two words a cache entry");
