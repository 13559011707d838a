// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * Keys to small numbers, in order of first appearance: the string tables of pprof and heaptrack.
 * Keys are bytes, copied. One thread.
 */
typedef struct StringTable StringTable;

StringTable *string_table_new(void);
void string_table_free(StringTable *table);
/* *ret_index counts from 0; returns 1 when the key is new, 0 when it was known, -ENOMEM. */
int string_table_put(StringTable *table, const void *key, size_t size, uint64_t *ret_index);
