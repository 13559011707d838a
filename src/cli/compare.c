// SPDX-License-Identifier: Apache-2.0
/*
 * From two labelled profiles to one StackDiff.
 *
 * Each label becomes a frame of the diff once (the program itself is "[program]", so that renamed
 * binaries pair); each stack with a value becomes a path of them and joins the group of equal
 * paths. Values come from profile_state(), or for windows from window_stats() over the groups,
 * because the median of a sum is not the sum of medians. Places are looked up afterwards, for what
 * is shown. One thread.
 */
#include "cli/compare.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "export/alloc_site.h"
#include "export/names.h"

enum { SITES_MAX = 64 };

typedef struct CompareSide {
    CompareSource source;
    uint32_t *groups; /* per stack, ID_NONE: not part of it */
    Values *values;   /* per stack: the state, or the sum over all iterations */
    size_t stack_count;
    uint32_t *members; /* stacks in order of their groups */
    uint32_t *first;   /* per group: its first member; one more entry at the end */
    CompareTotals totals;
} CompareSide;

struct Compare {
    StackDiff *diff;
    CompareSide sides[DIFF_SIDES];
};

Values compare_window_values(const WindowFigures *figures)
{
    return (Values){.v = {
                        [METRIC_LIVE_BYTES] = figures->v[WINDOW_LIVE_BYTES],
                        [METRIC_LIVE_COUNT] = figures->v[WINDOW_LIVE_COUNT],
                        [METRIC_TOTAL_BYTES] = figures->v[WINDOW_BYTES],
                        [METRIC_TOTAL_COUNT] = figures->v[WINDOW_ALLOCATIONS],
                        [METRIC_TEMPORARY] = figures->v[WINDOW_TEMPORARY],
                    }};
}

/* ---- values ------------------------------------------------------------------------------- */

static bool is_zero(const Values *values)
{
    for (int m = 0; m < METRIC_MAX; m++)
        if (values->v[m] != 0)
            return false;
    return true;
}

/* Stacks that occur in a window count even when their figures are 0. */
static int read_window(CompareSide *side, bool *occurs)
{
    const ProfileWindow *window = side->source.window;
    WindowStats *stats = calloc(side->stack_count + 1, sizeof *stats);
    if (!stats)
        return -ENOMEM;
    int r = window_stats(window, NULL, side->stack_count, side->stack_count, stats);
    for (size_t i = 0; r == 0 && i < side->stack_count; i++) {
        side->values[i] = compare_window_values(&stats[i].total);
        occurs[i] = stats[i].iterations > 0;
    }
    WindowStats all;
    r = r < 0 ? r : window_stats_all(window, &all);
    if (r == 0)
        side->totals = (CompareTotals){compare_window_values(&all.median),
                                       compare_window_values(&all.max), window->iterations};
    free(stats);
    return r;
}

static int read_state(CompareSide *side, bool *occurs)
{
    int r = profile_state(side->source.session->profile, side->source.at_ns, side->values);
    if (r < 0)
        return r;
    for (size_t i = 0; i < side->stack_count; i++) {
        occurs[i] = !is_zero(&side->values[i]);
        for (int m = 0; m < METRIC_MAX; m++)
            side->totals.values.v[m] += side->values[i].v[m];
    }
    side->totals.worst = side->totals.values;
    return 0;
}

/* ---- frames and groups
 * --------------------------------------------------------------------------- */

static int add_label(Compare *compare, const CompareSide *side, uint32_t index, uint32_t *frames)
{
    if (frames[index] != ID_NONE)
        return 0;
    const Label *label = labels_get(side->source.session->labels, index);
    const char *program = profile_process(side->source.session->profile)->full_path;
    bool is_program = program && strcmp(label->module, program) == 0;
    return stack_diff_frame(compare->diff, label->known ? label->function : NULL,
                            is_program ? "[program]" : label->module, &frames[index]);
}

typedef struct PathBuffer {
    uint32_t *frames;
    size_t capacity;
} PathBuffer;

static int add_stack(Compare *compare, DiffSide which, uint32_t stack, uint32_t *by_label,
                     PathBuffer *buffer)
{
    CompareSide *side = &compare->sides[which];
    const Labels *labels = side->source.session->labels;
    const uint32_t *path;
    size_t depth = labels_path(labels, stack, &path);
    size_t skip = alloc_site_skip(labels, path, depth);
    if (depth > buffer->capacity) {
        uint32_t *grown = realloc(buffer->frames, depth * sizeof *grown);
        if (!grown)
            return -ENOMEM;
        buffer->frames = grown;
        buffer->capacity = depth;
    }
    for (size_t i = skip; i < depth; i++) {
        int r = add_label(compare, side, path[i], by_label);
        if (r < 0)
            return r;
        buffer->frames[i - skip] = by_label[path[i]];
    }
    return stack_diff_add(compare->diff, which, buffer->frames, depth - skip, &side->groups[stack]);
}

static int add_stacks(Compare *compare, DiffSide which, const bool *occurs)
{
    CompareSide *side = &compare->sides[which];
    size_t label_count = labels_count(side->source.session->labels);
    uint32_t *by_label = malloc((label_count + 1) * sizeof *by_label);
    PathBuffer buffer = {0};
    int r = by_label ? 0 : -ENOMEM;
    if (by_label)
        memset(by_label, 0xff, label_count * sizeof *by_label);
    for (uint32_t i = 0; r == 0 && i < side->stack_count; i++) {
        side->groups[i] = ID_NONE;
        if (occurs[i])
            r = add_stack(compare, which, i, by_label, &buffer);
    }
    free(buffer.frames);
    free(by_label);
    return r;
}

static int put_window(Compare *compare, DiffSide which)
{
    CompareSide *side = &compare->sides[which];
    size_t count = stack_diff_group_count(compare->diff, which);
    WindowStats *stats = calloc(count + 1, sizeof *stats);
    if (!stats)
        return -ENOMEM;
    int r = window_stats(side->source.window, side->groups, side->stack_count, count, stats);
    for (uint32_t i = 0; r == 0 && i < count; i++) {
        Values median = compare_window_values(&stats[i].median);
        Values worst = compare_window_values(&stats[i].max);
        stack_diff_put(compare->diff, which, i, &median, &worst);
    }
    free(stats);
    return r;
}

static void put_state(Compare *compare, DiffSide which)
{
    const CompareSide *side = &compare->sides[which];
    for (size_t i = 0; i < side->stack_count; i++)
        if (side->groups[i] != ID_NONE)
            stack_diff_put(compare->diff, which, side->groups[i], &side->values[i],
                           &side->values[i]);
}

/* Stacks of each group side by side, by counting. */
static int index_members(Compare *compare, DiffSide which)
{
    CompareSide *side = &compare->sides[which];
    size_t count = stack_diff_group_count(compare->diff, which);
    side->members = calloc(side->stack_count + 1, sizeof *side->members);
    side->first = calloc(count + 3, sizeof *side->first);
    if (!side->members || !side->first)
        return -ENOMEM;
    /* first[g + 2] counts group g; after the sums first[g + 1] is where its next stack goes, and
     * when all are placed that is its end, the first of g + 1 */
    for (size_t i = 0; i < side->stack_count; i++)
        if (side->groups[i] != ID_NONE)
            side->first[side->groups[i] + 2]++;
    for (size_t g = 2; g <= count + 1; g++)
        side->first[g] += side->first[g - 1];
    for (uint32_t i = 0; i < side->stack_count; i++)
        if (side->groups[i] != ID_NONE)
            side->members[side->first[side->groups[i] + 1]++] = i;
    return 0;
}

static int fill_side(Compare *compare, DiffSide which)
{
    CompareSide *side = &compare->sides[which];
    side->stack_count = profile_stack_count(side->source.session->profile);
    side->groups = calloc(side->stack_count + 1, sizeof *side->groups);
    side->values = calloc(side->stack_count + 1, sizeof *side->values);
    bool *occurs = calloc(side->stack_count + 1, sizeof *occurs);
    int r = side->groups && side->values && occurs ? 0 : -ENOMEM;
    if (r == 0)
        r = side->source.window ? read_window(side, occurs) : read_state(side, occurs);
    if (r == 0)
        r = add_stacks(compare, which, occurs);
    if (r == 0 && side->source.window)
        r = put_window(compare, which);
    else if (r == 0)
        put_state(compare, which);
    free(occurs);
    return r < 0 ? r : index_members(compare, which);
}

int compare_new(const CompareSource sources[DIFF_SIDES], Compare **ret_compare)
{
    Compare *compare = calloc(1, sizeof *compare);
    int r = compare ? stack_diff_new(&compare->diff) : -ENOMEM;
    for (int s = 0; r == 0 && s < DIFF_SIDES; s++) {
        compare->sides[s].source = sources[s];
        r = fill_side(compare, (DiffSide)s);
    }
    if (r < 0) {
        compare_free(compare);
        return r;
    }
    *ret_compare = compare;
    return 0;
}

void compare_free(Compare *compare)
{
    if (!compare)
        return;
    for (int s = 0; s < DIFF_SIDES; s++) {
        free(compare->sides[s].groups);
        free(compare->sides[s].values);
        free(compare->sides[s].members);
        free(compare->sides[s].first);
    }
    stack_diff_free(compare->diff);
    free(compare);
}

StackDiff *compare_diff(Compare *compare)
{
    return compare->diff;
}

const CompareSource *compare_source(const Compare *compare, DiffSide side)
{
    return &compare->sides[side].source;
}

const CompareTotals *compare_totals(const Compare *compare, DiffSide side)
{
    return &compare->sides[side].totals;
}

/* ---- places
 * ---------------------------------------------------------------------------------------- */

/* The place of the INDEX-th inline-expanded frame of a stack; false: no line known. */
static bool find_place(const CompareSource *source, uint32_t stack, size_t index,
                       CompareSite *ret_site)
{
    const ProfileStack *frames = profile_stack(source->session->profile, stack);
    for (size_t i = 0; i < frames->depth; i++) {
        const SymbolFrame *symbols;
        int n = symbol_resolve(source->session->symbolizer, source->session->profile,
                               frames->frames[i], &symbols);
        if (n <= 0)
            return false;
        if (index >= (size_t)n) {
            index -= (size_t)n;
            continue;
        }
        if (!symbols[index].file || symbols[index].line == 0)
            return false;
        snprintf(ret_site->place, sizeof ret_site->place, "%s:%u", name_base(symbols[index].file),
                 symbols[index].line);
        ret_site->path = symbols[index].file;
        return true;
    }
    return false;
}

static int compare_by_value(const void *a, const void *b)
{
    const CompareSite *x = a, *y = b;
    if (x->value != y->value)
        return x->value > y->value ? -1 : 1;
    return strcmp(x->place, y->place);
}

static void add_site(CompareSite *sites, size_t *count, const CompareSite *site)
{
    for (size_t i = 0; i < *count; i++)
        if (strcmp(sites[i].place, site->place) == 0) {
            sites[i].value += site->value;
            return;
        }
    if (*count < SITES_MAX)
        sites[(*count)++] = *site;
}

size_t compare_sites(const Compare *compare, DiffSide which, uint32_t group, size_t index,
                     Metric metric, CompareSite *ret_sites, size_t capacity)
{
    const CompareSide *side = &compare->sides[which];
    const Labels *labels = side->source.session->labels;
    CompareSite sites[SITES_MAX];
    size_t count = 0;
    for (uint32_t m = side->first[group]; m < side->first[group + 1]; m++) {
        const uint32_t *path;
        uint32_t i = side->members[m];
        CompareSite site = {.value = side->values[i].v[metric]};
        size_t depth = labels_path(labels, i, &path);
        size_t skip = alloc_site_skip(labels, path, depth);
        if (find_place(&side->source, i, skip + index, &site))
            add_site(sites, &count, &site);
    }
    qsort(sites, count, sizeof *sites, compare_by_value);
    memcpy(ret_sites, sites, (count < capacity ? count : capacity) * sizeof *sites);
    return count;
}

uint32_t compare_flags(const Compare *compare, DiffSide which, uint32_t group)
{
    const CompareSide *side = &compare->sides[which];
    uint32_t flags = 0;
    for (uint32_t m = side->first[group]; m < side->first[group + 1]; m++)
        flags |= profile_stack(side->source.session->profile, side->members[m])->flags;
    return flags;
}
