// SPDX-License-Identifier: Apache-2.0
/*
 * Labels in the order in which they are first used. Costs a word per label of the process, and a
 * piece of JSON per label that is sent.
 */
#include "web/label_columns.h"

#include <errno.h>
#include <stdlib.h>

#include "export/json_piece.h"

int label_columns_init(LabelColumns *columns, const Labels *labels)
{
    size_t count = labels_count(labels);
    *columns = (LabelColumns){.labels = labels,
                              .position = calloc(count + 1, sizeof(*columns->position)),
                              .used = calloc(count + 1, sizeof(*columns->used))};
    return columns->position && columns->used ? 0 : -ENOMEM;
}

void label_columns_done(LabelColumns *columns)
{
    free(columns->position);
    free(columns->used);
    *columns = (LabelColumns){0};
}

uint32_t label_columns_put(LabelColumns *columns, uint32_t label)
{
    if (!columns->position[label]) {
        columns->used[columns->count++] = label;
        columns->position[label] = (uint32_t)columns->count;
    }
    return columns->position[label] - 1;
}

static const Label *label_at(const LabelColumns *columns, size_t i)
{
    return labels_get(columns->labels, columns->used[i]);
}

void label_columns_write(const LabelColumns *columns, JsonOut *out)
{
    size_t count = columns->count;
    json_out_open(out, "labels", '{');
    json_out_open(out, "id", '[');
    for (size_t i = 0; i < count; i++)
        json_out_integer(out, NULL, columns->used[i]);
    json_out_close(out, ']');
    json_out_open(out, "function", '[');
    for (size_t i = 0; i < count; i++)
        json_out_value(out, NULL, json_name(label_at(columns, i)->function));
    json_out_close(out, ']');
    json_out_open(out, "module", '[');
    for (size_t i = 0; i < count; i++)
        json_out_value(out, NULL, json_name(label_at(columns, i)->module));
    json_out_close(out, ']');
    json_out_open(out, "file", '[');
    for (size_t i = 0; i < count; i++)
        json_out_value(out, NULL, json_name(label_at(columns, i)->file));
    json_out_close(out, ']');
    json_out_open(out, "line", '[');
    for (size_t i = 0; i < count; i++)
        json_out_integer(out, NULL, label_at(columns, i)->line);
    json_out_close(out, ']');
    json_out_open(out, "inlined", '[');
    for (size_t i = 0; i < count; i++)
        json_out_integer(out, NULL, label_at(columns, i)->inlined);
    json_out_close(out, ']');
    json_out_open(out, "known", '[');
    for (size_t i = 0; i < count; i++)
        json_out_integer(out, NULL, label_at(columns, i)->known);
    json_out_close(out, ']');
    json_out_close(out, '}');
}
