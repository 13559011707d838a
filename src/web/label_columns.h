// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "symbol/labels.h"
#include "web/json_out.h"

/*
 * The object "labels" of answers: each label that is used once, as columns. Users see the position
 * in it. Zero-initialise.
 */
typedef struct LabelColumns {
    const Labels *labels;
    uint32_t *position; /* per label + 1; 0: not used yet */
    uint32_t *used;
    size_t count;
} LabelColumns;

/* Room for all labels there are. 0 or -ENOMEM. */
int label_columns_init(LabelColumns *columns, const Labels *labels);
void label_columns_done(LabelColumns *columns);
/* Position of a label, which must exist. */
uint32_t label_columns_put(LabelColumns *columns, uint32_t label);
void label_columns_write(const LabelColumns *columns, JsonOut *out);
