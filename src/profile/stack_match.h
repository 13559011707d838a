// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Finds the best partners between two sets of stacks, each a sequence of integers, leaf first. The
 * inner part of stack_diff.c; knows no names. One thread; sequences stay the caller's and must live
 * until the run is over. side: 0 before, 1 after.
 */

typedef struct StackMatch StackMatch;

int stack_match_new(size_t before_count, size_t after_count, StackMatch **ret_match);
void stack_match_free(StackMatch *match);
/* `value` decides among equally good partners: the nearest wins. */
void stack_match_put(StackMatch *match, int side, uint32_t stack, const uint32_t *frames,
                     size_t depth, int64_t value);
/* Makes a pair that is certain. */
void stack_match_pair(StackMatch *match, uint32_t before, uint32_t after);
/* Pairs what is left. -ENOMEM. */
int stack_match_run(StackMatch *match);

/* ID_NONE: stays alone. */
uint32_t stack_match_partner(const StackMatch *match, int side, uint32_t stack);
/* An equally good partner was there for one of the two. Either may be ID_NONE. */
bool stack_match_is_ambiguous(const StackMatch *match, uint32_t before, uint32_t after);
