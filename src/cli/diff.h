// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdio.h>

#include "cli/compare.h"

/* A comparison that has been made, as the writers of `memhawk diff` see it. */
typedef struct DiffView {
    Compare *compare;
    Metric metric;
    const DiffRow *rows; /* the changed ones first */
    size_t changed, row_count;
    DiffSummary summary;
    const char *title[DIFF_SIDES]; /* file, and the moment if one was given */
    size_t top;                    /* text: rows shown, 0: 20 */
    bool full;                     /* text: paths are not cut */
    bool color, ascii;
    unsigned width;
} DiffView;

/* Each writes the whole result; 0 or negative errno. */
int diff_write_text(const DiffView *view, FILE *out);
int diff_write_json(const DiffView *view, FILE *out);
int diff_write_html(const DiffView *view, FILE *out);
/* "root;...;leaf before after" a line, as Brendan Gregg's difffolded.pl writes it. */
int diff_write_folded(const DiffView *view, FILE *out);

/* Rows as readable text: the first `most` changed rows whose kind is in the set (bit 1 << kind). */
int diff_write_rows(const DiffView *view, size_t most, unsigned kinds, FILE *out);
