// SPDX-License-Identifier: Apache-2.0
/*
 * functions: what each label allocated itself, and with all it called. One walk over the paths of
 * the chosen stacks; a stamp per label makes recursion count once.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/alloc_site.h"
#include "profile/series.h"
#include "web/label_columns.h"
#include "web/query.h"
#include "web/selection_values.h"

enum { LIMIT_DEFAULT = 200, LIMIT_MAX = 100000 };

enum { SELF, TOTAL, SELF_COUNT, TOTAL_COUNT, FIGURES };
static const char *const figure_names[FIGURES] = {"self", "total", "self_count", "total_count"};

typedef struct FunctionRow {
    int64_t v[FIGURES][FLAME_SIDES];
    uint32_t label;
    uint32_t stamp; /* the last stack + 1 that counted in total */
} FunctionRow;

typedef struct Functions {
    FunctionRow *rows; /* first one per label, then only those that occur */
    uint8_t *plumbing; /* per label, a Plumbing: a label stands in many stacks */
    size_t count;
    Metric metric, counted;
} Functions;

typedef enum Plumbing { PLUMBING_UNKNOWN, PLUMBING_NO, PLUMBING_YES } Plumbing;

/* The metric that counts blocks where METRIC has bytes. */
static Metric count_of(Metric metric)
{
    switch (metric) {
    case METRIC_LIVE_BYTES:
    case METRIC_OVERHEAD:
        return METRIC_LIVE_COUNT;
    case METRIC_TOTAL_BYTES:
        return METRIC_TOTAL_COUNT;
    default:
        return metric;
    }
}

static void add(Functions *f, FunctionRow *row, const FlameValues *values, uint32_t stack,
                int figure)
{
    for (unsigned s = 0; s < values->sides; s++) {
        const int64_t *v = values->stacks[s][stack].v;
        row->v[figure][s] = wrap_add(row->v[figure][s], v[f->metric]);
        row->v[figure + SELF_COUNT][s] = wrap_add(row->v[figure + SELF_COUNT][s], v[f->counted]);
    }
}

static bool is_chosen(const FlameValues *values, uint32_t stack)
{
    int64_t any = 0;
    for (unsigned s = 0; s < values->sides; s++)
        for (int m = 0; m < METRIC_MAX; m++)
            any |= values->stacks[s][stack].v[m];
    return any && (!values->chosen || values->chosen[stack]);
}

/* alloc_site_skip(), which compares names, with a memory. */
static size_t skip_plumbing(Functions *f, const Labels *labels, const uint32_t *path, size_t depth)
{
    size_t skip = 0;
    for (; skip + 1 < depth; skip++) {
        uint8_t *known = &f->plumbing[path[skip]];
        if (*known == PLUMBING_UNKNOWN)
            *known = alloc_site_is_plumbing(labels_get(labels, path[skip])->function) ? PLUMBING_YES
                                                                                      : PLUMBING_NO;
        if (*known == PLUMBING_NO)
            break;
    }
    return skip;
}

static void count_stack(Functions *f, const Labels *labels, const FlameValues *values,
                        uint32_t stack)
{
    const uint32_t *path;
    size_t depth = labels_path(labels, stack, &path);
    size_t first = skip_plumbing(f, labels, path, depth);
    if (first < depth)
        add(f, &f->rows[path[first]], values, stack, SELF);
    for (size_t i = first; i < depth; i++) {
        FunctionRow *row = &f->rows[path[i]];
        if (row->stamp == stack + 1)
            continue;
        row->stamp = stack + 1;
        add(f, row, values, stack, TOTAL);
    }
}

/* Nothing of the metric, nor blocks of it: other metrics of its stacks are not asked for. */
static bool is_empty(const FunctionRow *row)
{
    int64_t any = 0;
    for (int k = 0; k < FIGURES; k++)
        for (int s = 0; s < FLAME_SIDES; s++)
            any |= row->v[k][s];
    return any == 0;
}

static int64_t size_of(const FunctionRow *row)
{
    return wrap_add(row->v[TOTAL][0], row->v[TOTAL][1]);
}

static int compare_rows(const void *a, const void *b)
{
    const FunctionRow *x = a, *y = b;
    if (size_of(x) != size_of(y))
        return size_of(x) > size_of(y) ? -1 : 1;
    int64_t p = wrap_add(x->v[SELF][0], x->v[SELF][1]), q = wrap_add(y->v[SELF][0], y->v[SELF][1]);
    if (p != q)
        return p > q ? -1 : 1;
    return x->label < y->label ? -1 : x->label > y->label;
}

static int count_all(Functions *f, const HubProcess *process, const Labels *labels,
                     const FlameValues *values)
{
    size_t label_count = labels_count(labels);
    f->rows = calloc(label_count + 1, sizeof(*f->rows));
    f->plumbing = calloc(label_count + 1, sizeof(*f->plumbing));
    if (!f->rows || !f->plumbing)
        return -ENOMEM;
    for (uint32_t i = 0; i < profile_stack_count(process->profile); i++)
        if (is_chosen(values, i))
            count_stack(f, labels, values, i);
    for (uint32_t i = 0; i < label_count; i++) {
        if (is_empty(&f->rows[i]))
            continue;
        f->rows[i].label = i;
        f->rows[f->count++] = f->rows[i];
    }
    qsort(f->rows, f->count, sizeof(*f->rows), compare_rows);
    return 0;
}

static int write_rows(const Functions *f, const Labels *labels, unsigned sides, size_t shown,
                      JsonOut *out)
{
    LabelColumns columns;
    int64_t *column = malloc((shown + 1) * sizeof(*column));
    int r = label_columns_init(&columns, labels);
    if (!column)
        r = -ENOMEM;
    if (r == 0) {
        for (size_t i = 0; i < shown; i++)
            column[i] = label_columns_put(&columns, f->rows[i].label);
        label_columns_write(&columns, out);
        json_out_open(out, "rows", '{');
        json_out_integers(out, "label", column, shown);
        for (int k = 0; k < FIGURES; k++) {
            json_out_open(out, figure_names[k], '[');
            for (unsigned s = 0; s < sides; s++) {
                for (size_t i = 0; i < shown; i++)
                    column[i] = f->rows[i].v[k][s];
                json_out_integers(out, NULL, column, shown);
            }
            json_out_close(out, ']');
        }
        json_out_close(out, '}');
    }
    label_columns_done(&columns);
    free(column);
    return r;
}

static int answer(HubProcess *process, const Selection *selection, size_t limit, ApiReply *reply)
{
    const Labels *labels = process->labels[selection->granularity];
    Functions f = {.metric = selection->metric, .counted = count_of(selection->metric)};
    SelectionValues v;
    JsonOut out = {0};
    if (!selection_values(selection, process, reply, &v))
        return 0;
    json_out_open(&out, NULL, '{');
    json_out_integer(&out, "id", process->id);
    json_out_open(&out, "sides", '[');
    for (unsigned s = 0; s < v.values.sides; s++)
        json_out_text(&out, NULL, selection_side_name(&v, s));
    json_out_close(&out, ']');
    int r = count_all(&f, process, labels, &v.values);
    if (r == 0)
        r = write_rows(&f, labels, v.values.sides, f.count < limit ? f.count : limit, &out);
    json_out_integer(&out, "row_count", (int64_t)f.count);
    json_out_close(&out, '}');
    out.failed |= r < 0;
    free(f.rows);
    free(f.plumbing);
    selection_values_done(&v);
    return json_out_reply(&out, reply);
}

int api_functions(Hub *hub, const ApiQuery *query, ApiReply *ret_reply)
{
    Selection selection;
    uint64_t limit;
    if (!selection_parse(query, ret_reply, &selection) ||
        !query_number(query, ret_reply, "limit", 1, LIMIT_MAX, LIMIT_DEFAULT, &limit))
        return 0;
    HubProcess *process = query_acquire(hub, query, ret_reply, "id");
    if (!process)
        return 0;
    int r = answer(process, &selection, limit, ret_reply);
    hub_release(hub, process);
    return r;
}
