// SPDX-License-Identifier: Apache-2.0
/*
 * The file format of heaptrack 1.4 (format version 3, as heaptrack_interpret writes it), so that
 * heaptrack_print and heaptrack_gui show our profile. That format is a log of single events; we
 * have sums per stack at the peak and at the end, and make up events that lead to the same sums:
 *
 *   c 0          every block that is neither live at the peak nor at the end: + and -, one at a
 * time c PEAK       every block live at the peak: +     (heaptrack finds its peak, composition
 * right) c END        those not live at the end: -, then those that came later: +
 *
 * Numbers of allocations, temporary allocations, peak and leak come out as ours; the order of
 * events inside and so the curves between those three moments are made up. Sizes are averages of a
 * stack. heaptrack counts a release as temporary if it follows the allocation of the same kind; "-
 * 0", a release of nothing, stands between where that must not be.
 *
 * The format has no multiplicity, each allocation is a line. Beyond MAX_EVENTS allocations of
 * blocks that are gone again their number is divided (bytes are kept) and the command line of the
 * file says by how much. The moment of the view is the end of the log; for the peak it is the end
 * of the run. Text, unless the output's name ends in .gz or .zst, for heaptrack goes by the name.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/call_tree.h"
#include "export/frames.h"
#include "export/heaptrack_plan.h"
#include "export/names.h"
#include "export/packed_out.h"
#include "export/string_table.h"
#include "export/text_head.h"
#include "export/view.h"

#define MAX_EVENTS UINT64_C(10000000)

typedef struct Heaptrack {
    const View *view;
    FILE *out;
    StringTable *strings;
    FrameReader reader;
    NameBuffer name;
    uint64_t *ips; /* per profile frame: number of its `i` line, 0: not written */
    uint64_t ip_count, info_count;
    uint64_t scale;      /* of blocks that are gone */
    uint64_t live_scale; /* of the others */
    bool fresh;          /* the last event was an allocation */
} Heaptrack;

/* ---- strings, instruction pointers, traces --------------------------------------------------- */

static int string_put(Heaptrack *h, const char *text, uint64_t *ret_number)
{
    *ret_number = 0;
    if (!text || !*text)
        return 0;
    name_buffer_clear(&h->name);
    if (!name_append_line(&h->name, text))
        return -ENOMEM;
    int r = string_table_put(h->strings, h->name.data, h->name.length, ret_number);
    if (r > 0)
        fprintf(h->out, "s %zx %s\n", h->name.length, h->name.data);
    ++*ret_number; /* numbers start at 1 */
    return r < 0 ? r : 0;
}

static int ip_put(Heaptrack *h, uint32_t frame)
{
    const ProfileFrame *f = profile_frame(h->view->profile, frame);
    const ExportFrame *frames;
    uint64_t module, numbers[2];
    if (h->ips[frame])
        return 0;
    int count = frame_reader_get(&h->reader, frame, &frames);
    int r = count < 0 ? count : string_put(h, frame_module_path(h->view, f), &module);
    char *line = NULL;
    size_t size = 0;
    FILE *text = r == 0 ? open_memstream(&line, &size) : NULL; /* strings come before their use */
    if (r == 0 && !text)
        return -ENOMEM;
    for (int i = 0; r == 0 && i < count && frames[0].known; i++) {
        r = string_put(h, frames[i].function, &numbers[0]);
        if (r == 0)
            r = string_put(h, frames[i].file, &numbers[1]);
        fprintf(text, " %" PRIx64 " %" PRIx64 " %x", numbers[0], numbers[1], frames[i].line);
    }
    if (text && fclose(text) != 0 && r == 0)
        r = -ENOMEM;
    if (r == 0) {
        fprintf(h->out, "i %" PRIx64 " %" PRIx64 "%s\n", f->address, module, line);
        h->ips[frame] = ++h->ip_count;
    }
    free(line);
    return r;
}

/* Node n of the tree becomes trace n. The labels of this tree are frames. */
static int traces_write(Heaptrack *h, const Tree *tree)
{
    for (size_t n = 1; n < tree->count; n++) {
        const TreeNode *node = &tree->nodes[n];
        int r = ip_put(h, node->label);
        if (r < 0)
            return r;
        fprintf(h->out, "t %" PRIx64 " %x\n", h->ips[node->label], node->parent);
    }
    return 0;
}

/* ---- events ---------------------------------------------------------------------------------- */

static void allocate(Heaptrack *h, uint64_t info)
{
    fprintf(h->out, "+ %" PRIx64 "\n", info);
    h->fresh = true;
}

static void release(Heaptrack *h, uint64_t info, bool temporary)
{
    if (h->fresh && !temporary)
        fputs("- 0\n", h->out);
    fprintf(h->out, "- %" PRIx64 "\n", info);
    h->fresh = false;
}

typedef enum Action { ALLOCATE, RELEASE, PASS_TEMPORARY, PASS_RELEASED } Action;

/* One event, or an allocation with its release, for each of n equal blocks. */
static void blocks_emit(Heaptrack *h, uint32_t trace, uint64_t n, uint64_t size, Action action)
{
    if (n == 0)
        return;
    uint64_t info = ++h->info_count; /* info 0 is the nothing of "- 0" */
    fprintf(h->out, "a %" PRIx64 " %x\n", size, trace);
    for (uint64_t i = 0; i < n; i++) {
        if (action != RELEASE)
            allocate(h, info);
        if (action != ALLOCATE)
            release(h, info, action == PASS_TEMPORARY);
    }
}

/* Bytes shared out evenly: two sizes at most, their sum exact. */
static void group_emit(Heaptrack *h, uint32_t trace, BlockGroup group, uint64_t scale,
                       Action action)
{
    uint64_t n = heaptrack_scaled(group.blocks, scale);
    if (n == 0)
        return;
    blocks_emit(h, trace, group.bytes % n, group.bytes / n + 1, action);
    blocks_emit(h, trace, n - group.bytes % n, group.bytes / n, action);
}

static uint64_t positive(int64_t value)
{
    return value > 0 ? (uint64_t)value : 0;
}

static StackPlan node_plan(const TreeNode *node)
{
    const int64_t *end = node->values[0].v, *peak = node->values[1].v;
    return heaptrack_plan(
        &(StackSums){.total_blocks = positive(end[METRIC_TOTAL_COUNT]),
                     .total_bytes = positive(end[METRIC_TOTAL_BYTES]),
                     .temporary_blocks = positive(end[METRIC_TEMPORARY]),
                     .peak = {positive(peak[METRIC_LIVE_COUNT]), positive(peak[METRIC_LIVE_BYTES])},
                     .end = {positive(end[METRIC_LIVE_COUNT]), positive(end[METRIC_LIVE_BYTES])}});
}

static void scales_choose(Heaptrack *h, const Tree *tree)
{
    uint64_t gone = 0, live = 0;
    for (size_t n = 0; n < tree->count; n++) {
        StackPlan p = node_plan(&tree->nodes[n]);
        gone += p.temporary.blocks + p.released.blocks;
        live += p.peak_kept.blocks + p.peak_only.blocks + p.later.blocks;
    }
    h->scale = gone / MAX_EVENTS + 1;
    h->live_scale = live / MAX_EVENTS + 1;
}

static void time_write(Heaptrack *h, uint64_t time_ns)
{
    uint64_t first = profile_first_ns(h->view->profile);
    fprintf(h->out, "c %" PRIx64 "\n", time_ns > first ? (time_ns - first) / 1000000 : 0);
}

static void rss_write(Heaptrack *h, uint64_t until_ns)
{
    uint64_t highest = 0;
    for (size_t i = 0; i < profile_snapshot_count(h->view->profile); i++) {
        const ProfileSnapshot *s = profile_snapshot(h->view->profile, i);
        if (s->time_ns <= until_ns && s->rss_bytes > highest)
            highest = s->rss_bytes;
    }
    fprintf(h->out, "R %" PRIx64 "\n", highest / 4096); /* pages, as in the I line */
}

static void events_write(Heaptrack *h, const Tree *tree, uint64_t peak_ns)
{
    fputs("a 0 1\nc 0\n", h->out);
    for (size_t n = 1; n < tree->count; n++) {
        StackPlan p = node_plan(&tree->nodes[n]);
        group_emit(h, (uint32_t)n, p.temporary, h->scale, PASS_TEMPORARY);
        group_emit(h, (uint32_t)n, p.released, h->scale, PASS_RELEASED);
    }
    time_write(h, peak_ns);
    for (size_t n = 1; n < tree->count; n++) {
        StackPlan p = node_plan(&tree->nodes[n]);
        group_emit(h, (uint32_t)n, p.peak_kept, h->live_scale, ALLOCATE);
        group_emit(h, (uint32_t)n, p.peak_only, h->live_scale, ALLOCATE);
    }
    time_write(h, h->view->at_ns);
    for (size_t n = 1; n < tree->count; n++)
        group_emit(h, (uint32_t)n, node_plan(&tree->nodes[n]).peak_only, h->live_scale, RELEASE);
    for (size_t n = 1; n < tree->count; n++)
        group_emit(h, (uint32_t)n, node_plan(&tree->nodes[n]).later, h->live_scale, ALLOCATE);
    rss_write(h, h->view->at_ns);
}

/* ---- the file -------------------------------------------------------------------------------- */

/* Rows of frames, not labels: values at the end and at the peak. Stacks without frames are left to
 * the caller's `none` row, for heaptrack knows no trace of depth 0. */
static int tree_make(const View *view, const Values *peak, Tree *ret_tree)
{
    TreeRow *rows = malloc((view->stack_count + 1) * sizeof(*rows));
    if (!rows)
        return -ENOMEM;
    for (size_t i = 0; i < view->stack_count; i++) {
        uint32_t index = view->stacks[i].stack;
        const ProfileStack *stack = profile_stack(view->profile, index);
        rows[i] = (TreeRow){stack->frames,
                            stack->depth,
                            {&view->stacks[i].values, view->interval ? NULL : &peak[index]}};
    }
    int r = tree_build(rows, view->stack_count, &(TreeOptions){0}, ret_tree);
    free(rows);
    return r;
}

/* Moves what stacks without frames allocated to a node of its own, trace count. */
static int nothing_write(Heaptrack *h, Tree *tree)
{
    uint64_t number;
    int r = string_put(h, "[stack not recorded]", &number);
    TreeNode *nodes = r == 0 ? realloc(tree->nodes, (tree->count + 1) * sizeof(*nodes)) : NULL;
    if (!nodes)
        return r < 0 ? r : -ENOMEM;
    fprintf(h->out, "i 0 0 %" PRIx64 " 0 0\nt %" PRIx64 " 0\n", number, ++h->ip_count);
    tree->nodes = nodes;
    nodes[tree->count] = (TreeNode){.values = {nodes[0].values[0], nodes[0].values[1]}};
    tree->capacity = ++tree->count;
    nodes[0].values[0] = nodes[0].values[1] = (Values){0};
    return 0;
}

static int head_write(Heaptrack *h)
{
    char *command = command_text(h->view->profile);
    if (!command)
        return -ENOMEM;
    name_buffer_clear(&h->name);
    const char *line = name_append_line(&h->name, command);
    free(command);
    if (!line)
        return -ENOMEM;
    fprintf(h->out, "v 10400 3\nX %s", line);
    if (h->scale > 1 || h->live_scale > 1)
        fprintf(h->out,
                " [memhawk: allocation counts of released blocks / %" PRIu64
                ", of live blocks / %" PRIu64 "]",
                h->scale, h->live_scale);
    fputs("\nI 1000 0\n", h->out);
    return 0;
}

static int log_write(Heaptrack *h, const Values *peak, uint64_t peak_ns)
{
    Tree tree = {0};
    int r = tree_make(h->view, peak, &tree);
    if (r < 0)
        return r;
    scales_choose(h, &tree);
    r = head_write(h);
    if (r == 0)
        r = traces_write(h, &tree);
    if (r == 0)
        r = nothing_write(h, &tree);
    if (r == 0)
        events_write(h, &tree, peak_ns);
    tree_done(&tree);
    return r;
}

static int view_write(const View *view, FILE *out)
{
    uint64_t peak_ns = view->at_ns, bytes;
    Heaptrack h = {.view = view, .out = out, .strings = string_table_new()};
    frame_reader_init(&h.reader, view);
    h.ips = calloc(profile_frame_count(view->profile) + 1, sizeof(*h.ips));
    Values *peak = calloc(profile_stack_count(view->profile) + 1, sizeof(*peak));
    int r = h.strings && h.ips && peak ? 0 : -ENOMEM;
    if (r == 0 && !view->interval)
        r = profile_peak_between(view->profile, TIME_FIRST, view->at_ns, &peak_ns, &bytes);
    if (r >= 0 && !view->interval)
        r = profile_state(view->profile, peak_ns, peak);
    if (r >= 0)
        r = log_write(&h, peak, peak_ns);
    free(peak);
    free(h.ips);
    string_table_free(h.strings);
    name_buffer_done(&h.name);
    frame_reader_done(&h.reader);
    return r;
}

/* heaptrack shows the peak by itself: asked for it, the log still goes to the end of the run. */
static int whole_write(const View *view, FILE *out)
{
    if (!view->at_peak)
        return view_write(view, out);
    View whole;
    int r = view_build(view->profile, view->labels,
                       &(ViewOptions){.symbolizer = view->symbolizer,
                                      .metric = view->metric,
                                      .at_ns = TIME_LAST,
                                      .filter = view->filter,
                                      .granularity = view->granularity,
                                      .title = view->title},
                       &whole);
    if (r < 0)
        return r;
    r = view_write(&whole, out);
    view_done(&whole);
    return r;
}

static int write_heaptrack(const View *view, FILE *out)
{
    Packing packing = packed_by_name(out);
    if (packing == PACKING_NONE) {
        int r = whole_write(view, out);
        return r < 0 ? r : ferror(out) ? -EIO : 0;
    }
    FILE *packed = packed_open(out, packing);
    if (!packed)
        return -ENOMEM;
    int r = whole_write(view, packed);
    if (fclose(packed) != 0 && r >= 0)
        r = -EIO;
    return r < 0 ? r : ferror(out) ? -EIO : 0;
}

const Exporter export_heaptrack = {
    .name = "heaptrack",
    .extension = "heaptrack.zst",
    .what = "for heaptrack_print and heaptrack_gui",
    .write = write_heaptrack,
};
