// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "unwind/cfi.h"

/*
 * DWARF expressions (DWARF 5, section 2.5), as far as call frame information uses them. INITIAL is
 * pushed first when PUSH (the CFA, for register rules). False: an unknown operation, register or
 * memory word, an empty stack, or more than a thousand steps.
 */
bool cfi_expression(const uint8_t *code, size_t bytes, const CfiFrame *frame, CfiReadFn read,
                    void *cookie, bool push, uint64_t initial, uint64_t *ret_value);
