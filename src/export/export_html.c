// SPDX-License-Identifier: Apache-2.0
/*
 * The report as one HTML file that needs no network: page, style and script are compiled in (made
 * from html/ by embed.py), the data stands in a script element of type application/json. Its
 * Content-Security-Policy lets exactly our script and style run and nothing be loaded. Names cannot
 * leave their place: no '<' is left in the JSON, and the script uses text nodes only.
 *
 * The data is the tree in preorder, one array [level, label, values...] per node with all six
 * metrics, values left out where they are 0. Sums are left to the page. Allocator plumbing at the
 * leaf is left out, as in the text report. One writer serves both the view and the difference.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/call_tree.h"
#include "export/html_page.h"
#include "export/json_piece.h"
#include "export/names.h"
#include "export/numbers.h"
#include "export/text_head.h"

typedef struct Page {
    const char *title;
    const char *subtitle;
    const char *mode;            /* "one", "interval", "diff" */
    const char *sets[TREE_SETS]; /* NULL: there is none */
    Metric metric;
    bool inverted;
    json_t *facts, *notes; /* consumed; NULL: no memory */
    const Tree *tree;      /* its labels are numbers for label_put */
    size_t label_count;
    json_t *(*label_put)(const void *context, uint32_t label); /* [function, place, module] */
    const void *context;
} Page;

static bool metric_has_value(const Tree *tree, Metric metric)
{
    for (size_t n = 0; n < tree->count; n++)
        for (size_t set = 0; set < TREE_SETS; set++)
            if (tree->nodes[n].values[set].v[metric] != 0)
                return true;
    return false;
}

/* Metrics that nothing has (a window has no live figures) are left out, but for the chosen one. */
static size_t metrics_choose(const Page *page, Metric *ret_metrics, size_t *ret_chosen)
{
    size_t count = 0;
    for (int m = 0; m < METRIC_MAX; m++) {
        if ((Metric)m == page->metric)
            *ret_chosen = count;
        if ((Metric)m == page->metric || metric_has_value(page->tree, (Metric)m))
            ret_metrics[count++] = (Metric)m;
    }
    return count;
}

static json_t *metrics_array(const Metric *metrics, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; array && i < count; i++)
        json_array_append_new(array, json_pack("{s:s, s:s, s:s}", "key", metric_name(metrics[i]),
                                               "name", metric_words(metrics[i]), "unit",
                                               metric_is_bytes(metrics[i]) ? "bytes" : "count"));
    return array;
}

static bool any_value(const Values *values)
{
    for (size_t m = 0; m < METRIC_MAX; m++)
        if (values->v[m] != 0)
            return true;
    return false;
}

static json_t *node_array(const TreeNode *node, uint32_t label, size_t sets, const Metric *metrics,
                          size_t metric_count)
{
    json_t *array = json_pack("[I, I]", (json_int_t)node->level, (json_int_t)label);
    bool some = any_value(&node->values[0]) || any_value(&node->values[1]);
    for (size_t set = 0; array && some && set < sets; set++) {
        json_t *values = json_array();
        for (size_t i = 0; values && i < metric_count; i++)
            json_array_append_new(values, json_integer(node->values[set].v[metrics[i]]));
        json_array_append_new(array, values);
    }
    return array;
}

/* Numbers the labels that occur, in order of occurrence; ID_NONE: does not occur. free(). */
static uint32_t *labels_number(const Page *page)
{
    uint32_t *numbers = malloc((page->label_count + 1) * sizeof(*numbers)), count = 0;
    if (!numbers)
        return NULL;
    memset(numbers, 0xff, (page->label_count + 1) * sizeof(*numbers));
    for (size_t n = 1; n < page->tree->count; n++) {
        uint32_t *number = &numbers[page->tree->nodes[n].label];
        if (*number == ID_NONE)
            *number = count++;
    }
    return numbers;
}

static int labels_write(const Page *page, const uint32_t *numbers, FILE *out)
{
    uint32_t next = 0;
    int r = 0;
    fputs(",\"labels\":[", out);
    for (size_t n = 1; r == 0 && n < page->tree->count; n++) {
        uint32_t label = page->tree->nodes[n].label;
        if (numbers[label] != next)
            continue; /* seen before: numbers are in order of occurrence */
        fputs(next ? ",\n" : "\n", out);
        r = json_piece_write_html(page->label_put(page->context, label), out);
        next++;
    }
    fputs("]", out);
    return r;
}

static int nodes_write(const Page *page, const uint32_t *numbers, const Metric *metrics,
                       size_t metric_count, FILE *out)
{
    size_t sets = page->sets[1] ? 2 : 1;
    int r = 0;
    fputs(",\"nodes\":[", out);
    for (size_t n = 1; r == 0 && n < page->tree->count; n++) {
        const TreeNode *node = &page->tree->nodes[n];
        fputs(n > 1 ? ",\n" : "\n", out);
        r = json_piece_write_html(
            node_array(node, numbers[node->label], sets, metrics, metric_count), out);
    }
    fputs("]", out);
    return r;
}

static json_t *head_object(const Page *page, const Metric *metrics, size_t count, size_t chosen)
{
    json_t *sets = json_array();
    for (size_t i = 0; sets && i < TREE_SETS && page->sets[i]; i++)
        json_array_append_new(sets, json_name(page->sets[i]));
    return json_pack("{s:i, s:o, s:o, s:s, s:o, s:o, s:I, s:b, s:O, s:O}", "version", 1, "title",
                     json_name(page->title), "subtitle", json_name(page->subtitle), "mode",
                     page->mode, "sets", sets, "metrics", metrics_array(metrics, count), "metric",
                     (json_int_t)chosen, "inverted", (int)page->inverted, "facts", page->facts,
                     "notes", page->notes);
}

/* One object: the head's members, then labels and nodes, which are written piece by piece. */
static int data_write(const Page *page, FILE *out)
{
    Metric metrics[METRIC_MAX];
    size_t chosen = 0, count = metrics_choose(page, metrics, &chosen);
    uint32_t *numbers = labels_number(page);
    if (!numbers)
        return -ENOMEM;
    fputs("{\"head\":", out);
    int r = json_piece_write_html(head_object(page, metrics, count, chosen), out);
    if (r == 0)
        r = labels_write(page, numbers, out);
    if (r == 0)
        r = nodes_write(page, numbers, metrics, count, out);
    fputs("}", out);
    free(numbers);
    return r;
}

static int page_write(Page *page, FILE *out)
{
    NameBuffer title = {0};
    int r = page->facts && page->notes && name_append_html(&title, page->title) ? 0 : -ENOMEM;
    if (r == 0) {
        fwrite(html_page_head, 1, html_page_head_bytes, out);
        fprintf(out, "%s - MemHawk", title.data);
        fwrite(html_page_middle, 1, html_page_middle_bytes, out);
        r = data_write(page, out);
        fwrite(html_page_tail, 1, html_page_tail_bytes, out);
    }
    json_decref(page->facts);
    json_decref(page->notes);
    name_buffer_done(&title);
    return r < 0 ? r : ferror(out) ? -EIO : 0;
}

static json_t *label_array(const char *function, const char *place, const char *module)
{
    return json_pack("[o, o, o]", json_name(function), json_name(place ? place : ""),
                     json_name(module ? module : ""));
}

/* ---- a view ---------------------------------------------------------------------------------- */

static json_t *view_label_put(const void *context, uint32_t index)
{
    const View *view = context;
    uint32_t known = (uint32_t)labels_count(view->labels);
    const Label *label = tree_label(view, index < known ? index : ID_NONE - 1 - (index - known));
    char *place = NULL;
    if (label->file && label->line && asprintf(&place, "%s:%u", label->file, label->line) < 0)
        return NULL;
    json_t *array =
        label_array(label->function, place ? place : label->file, name_base(label->module));
    free(place);
    return array;
}

static void fact_add(json_t *facts, const char *name, const char *value, const char *more)
{
    if (facts)
        json_array_append_new(facts, json_pack("[s, s, s]", name, value, more));
}

static json_t *view_facts(const View *view)
{
    char a[NUMBER_BYTES], b[NUMBER_BYTES], more[2 * NUMBER_BYTES + 32];
    const Profile *profile = view->profile;
    json_t *facts = json_array();
    uint64_t when = 0, first = profile_first_ns(profile), peak = profile_peak(profile, &when);
    size_t snapshots = profile_snapshot_count(profile);
    const Values *v = snapshots ? &profile_snapshot(profile, snapshots - 1)->total : &(Values){0};
    snprintf(more, sizeof(more), "at %s", number_duration(b, when > first ? when - first : 0));
    fact_add(facts, "Peak", number_bytes(a, (int64_t)peak), more);
    snprintf(more, sizeof(more), "%s", number_bytes(b, v->v[METRIC_TOTAL_BYTES]));
    fact_add(facts, "Allocations", number_count(a, v->v[METRIC_TOTAL_COUNT]), more);
    number_percent(b, v->v[METRIC_TEMPORARY], v->v[METRIC_TOTAL_COUNT]);
    fact_add(facts, "Temporary", number_count(a, v->v[METRIC_TEMPORARY]), b);
    snprintf(more, sizeof(more), "%s blocks", number_count(b, v->v[METRIC_LIVE_COUNT]));
    fact_add(facts, "Live at end", number_bytes(a, v->v[METRIC_LIVE_BYTES]), more);
    return facts;
}

static json_t *view_notes(const View *view)
{
    json_t *notes = json_array();
    const ProfileError *damage = profile_damage(view->profile);
    const char *warning = profile_process(view->profile)->warning;
    char *losses = losses_text(view->profile);
    if (losses && *losses)
        json_array_append_new(notes, json_sprintf("Losses: %s", losses));
    free(losses);
    if (damage)
        json_array_append_new(
            notes, json_sprintf("The file is damaged at byte %lld", (long long)damage->offset));
    if (warning && *warning)
        json_array_append_new(notes, json_name(warning));
    return notes;
}

static char *view_subtitle(const View *view)
{
    const ProfileProcess *p = profile_process(view->profile);
    char span[NUMBER_BYTES], from[NUMBER_BYTES], to[NUMBER_BYTES], end[64], *text = NULL;
    uint64_t first = profile_first_ns(view->profile), last = profile_last_ns(view->profile);
    number_duration(to, view->at_ns > first ? view->at_ns - first : 0);
    number_duration(from, view->from_ns > first ? view->from_ns - first : 0);
    char *moment = NULL, *as_of = as_of_text(view);
    char *window = view->window ? window_text(view->window) : NULL;
    int n = view->window     ? asprintf(&moment, "%s", window ? window : "the window")
            : view->interval ? asprintf(&moment, "from %s to %s", from, to)
                             : asprintf(&moment, "at %s%s", moment_words(view), to);
    free(window);
    if (n >= 0 &&
        asprintf(&text, "%s%s%s%s%s \xc2\xb7 pid %u%s%s \xc2\xb7 ran %s, %s", moment,
                 as_of ? " " : "", as_of ? as_of : "", view->filter ? " \xc2\xb7 filter " : "",
                 view->filter ? view->filter : "", p->pid,
                 p->host_name && *p->host_name ? " on " : "", p->host_name ? p->host_name : "",
                 number_duration(span, last > first ? last - first : 0),
                 end_text(view->profile, end, sizeof(end))) < 0)
        text = NULL;
    free(as_of);
    if (n >= 0)
        free(moment);
    return text;
}

static int view_tree(const View *view, Tree *ret_tree)
{
    TreeRows rows;
    int r = tree_rows_of_view(view, true, &rows);
    if (r < 0)
        return r;
    r = tree_build(rows.rows, view->stack_count, &(TreeOptions){.collapse = view->collapse},
                   ret_tree);
    tree_rows_done(&rows);
    for (size_t n = 1; r == 0 && n < ret_tree->count; n++)
        ret_tree->nodes[n].label = tree_label_index(view, ret_tree->nodes[n].label);
    return r;
}

static int write_html(const View *view, FILE *out)
{
    Tree tree = {0};
    int r = view_tree(view, &tree);
    if (r < 0)
        return r;
    char *command = command_text(view->profile), *subtitle = view_subtitle(view);
    Page page = {.title = view->title ? view->title : command,
                 .subtitle = subtitle,
                 .mode = view->interval ? "interval" : "one",
                 .sets = {view->interval ? "added" : "values", view->interval ? "removed" : NULL},
                 .metric = view->metric,
                 .inverted = view->inverted,
                 .facts = view_facts(view),
                 .notes = view_notes(view),
                 .tree = &tree,
                 .label_count = tree_label_count(view),
                 .label_put = view_label_put,
                 .context = view};
    r = page_write(&page, out);
    free(command);
    free(subtitle);
    tree_done(&tree);
    return r;
}

/* ---- a difference ---------------------------------------------------------------------------- */

static json_t *diff_label_put(const void *context, uint32_t index)
{
    const ExportDiff *diff = context;
    const ExportDiffFrame *f = &diff->frames[index];
    return label_array(f->function, f->place, name_base(f->module));
}

static json_t *diff_facts(const ExportDiff *diff, const Tree *tree)
{
    json_t *facts = json_array();
    Values before = {0}, after = {0};
    for (size_t n = 0; n < tree->count; n++)
        for (size_t m = 0; m < METRIC_MAX; m++) {
            before.v[m] += tree->nodes[n].values[0].v[m];
            after.v[m] += tree->nodes[n].values[1].v[m];
        }
    for (int m = 0; m < METRIC_MAX; m++) {
        char a[NUMBER_BYTES], b[NUMBER_BYTES], c[NUMBER_BYTES], value[NUMBER_BYTES + 2],
            *more = NULL;
        int64_t change = after.v[m] - before.v[m];
        if (before.v[m] == 0 && after.v[m] == 0 && (Metric)m != diff->metric)
            continue;
        snprintf(value, sizeof(value), "%s%s", change > 0 ? "+" : "",
                 number_metric(a, (Metric)m, change));
        if (asprintf(&more, "%s \xe2\x86\x92 %s", number_metric(b, (Metric)m, before.v[m]),
                     number_metric(c, (Metric)m, after.v[m])) < 0)
            continue;
        fact_add(facts, metric_words((Metric)m), value, more);
        free(more);
    }
    return facts;
}

static int diff_tree(const ExportDiff *diff, Tree *ret_tree)
{
    TreeRow *rows = malloc((diff->row_count + 1) * sizeof(*rows));
    if (!rows)
        return -ENOMEM;
    for (size_t i = 0; i < diff->row_count; i++) {
        const ExportDiffRow *r = &diff->rows[i];
        rows[i] = (TreeRow){r->path, r->depth, {&r->before, &r->after}};
    }
    int r = tree_build(rows, diff->row_count, &(TreeOptions){0}, ret_tree);
    free(rows);
    return r;
}

int export_html_diff(const ExportDiff *diff, FILE *out)
{
    Tree tree = {0};
    char *subtitle = NULL;
    int r = diff_tree(diff, &tree);
    if (r < 0)
        return r;
    if (asprintf(&subtitle, "before: %s \xc2\xb7 after: %s",
                 diff->before_title ? diff->before_title : "",
                 diff->after_title ? diff->after_title : "") < 0)
        subtitle = NULL;
    Page page = {.title = diff->title ? diff->title : "Difference",
                 .subtitle = subtitle,
                 .mode = "diff",
                 .sets = {"before", "after"},
                 .metric = diff->metric,
                 .inverted = diff->inverted,
                 .facts = diff_facts(diff, &tree),
                 .notes = json_array(),
                 .tree = &tree,
                 .label_count = diff->frame_count,
                 .label_put = diff_label_put,
                 .context = diff};
    r = page_write(&page, out);
    free(subtitle);
    tree_done(&tree);
    return r;
}

const Exporter export_html = {
    .name = "html",
    .extension = "html",
    .what = "one self-contained page with a flame graph",
    .write = write_html,
};
