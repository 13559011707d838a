// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Budgets of `memhawk check`: limits for the whole run and for windows, and the file that holds
 * them. The file is a subset of TOML, so that editors know it; docs/WINDOWS.md describes it:
 *
 *     max-peak = "64 MiB"            # before any section: the whole run
 *
 *     [parse]                        # a window; quote names that are not A-Z a-z 0-9 _ -
 *     max-allocations = 7            # in each iteration
 *     max-bytes = "4 KiB"
 *
 * Reads no more than 1 MiB. Everything is owned by the Budget.
 */

typedef enum BudgetLimit {
    BUDGET_ALLOCATIONS,
    BUDGET_BYTES,
    BUDGET_PEAK,
    BUDGET_LIVE_AT_END,
    BUDGET_TEMPORARY,
    BUDGET_LIMITS,
} BudgetLimit;

/* "max-allocations", "max-bytes", "max-peak", "max-live-at-end", "max-temporary". */
const char *budget_limit_name(BudgetLimit limit);
/* True: in bytes; false: a number of allocations. */
bool budget_limit_is_bytes(BudgetLimit limit);

typedef struct BudgetSection {
    char *window;  /* NULL: the whole run */
    unsigned line; /* where it begins; 0: from the command line */
    bool is_set[BUDGET_LIMITS];
    uint64_t max[BUDGET_LIMITS];
} BudgetSection;

typedef struct Budget {
    BudgetSection *sections;
    size_t section_count;
} Budget;

typedef struct BudgetError {
    unsigned line; /* 0: the file as a whole */
    char message[200];
} BudgetError;

/* -EINVAL with *ret_error filled; -ENOENT and the like when it cannot be read. */
int budget_read(const char *path, Budget **ret_budget, BudgetError *ret_error);
/* The same from memory; `text` needs no terminator. */
int budget_parse(const char *text, size_t length, Budget **ret_budget, BudgetError *ret_error);
void budget_free(Budget *budget);

/* A number as users write it: "4096", "10_000"; with `bytes` also "4 KiB", "1.5MiB", "2 GB", "64B".
 * -EINVAL, -ERANGE. */
int budget_amount(const char *text, bool bytes, uint64_t *ret_amount);
