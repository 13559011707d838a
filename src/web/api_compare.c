// SPDX-License-Identifier: Apache-2.0
/*
 * compare: two moments of one process or of two, their stacks paired by names (pair_stacks.h), as a
 * tree with two sides and as a list of what changed. A pair is drawn on the path that it has
 * afterwards; with a focus only pairs are that go through that function there, and of them what it
 * calls or what calls it. Pairing may take seconds where much differs, so both processes are held
 * only until their stacks are in the diff, which has copies; labels stay where they are for the
 * hub's life.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/json_piece.h"
#include "web/flame_json.h"
#include "web/pair_stacks.h"
#include "web/query.h"

enum { LIMIT_LEAST = 2, LIMIT_DEFAULT = 4000, LIMIT_MAX = 250000, ROWS_MAX = 200 };

typedef struct Moment {
    uint32_t id;
    bool peak;
    uint64_t time_ns;
} Moment;

typedef struct CompareRequest {
    Moment moments[DIFF_SIDES];
    Metric metric;
    bool inverted;
    uint64_t limit;
    bool focused;
    DiffSide focus_side; /* whose label it is */
    uint32_t focus;
} CompareRequest;

/* What is said of a side when its process is not held any more. */
typedef struct AnswerSide {
    uint32_t id, symbols_done, symbols_all;
    int64_t time_us; /* -1: before the first snapshot */
} AnswerSide;

typedef struct Answer {
    const CompareRequest *request;
    AnswerSide sides[DIFF_SIDES];
    PairStacks pairs;
    const DiffRow *rows;
    size_t changed, all;
    DiffSummary summary;
    uint32_t focus;    /* frame; ID_NONE: no stack has it */
    int64_t *position; /* per frame: in the labels of the answer, -1: not there yet */
    uint32_t *used;
    size_t used_count;
    JsonOut out;
} Answer;

static bool parse_moment(const ApiQuery *query, ApiReply *reply, const char *id, const char *at,
                         Moment *moment)
{
    return query_id(query, reply, id, &moment->id) &&
           query_moment(query, reply, at, &moment->peak, &moment->time_ns);
}

/* A label of either side, and the direction, which is then that of the tree. */
static bool parse_focus(const ApiQuery *query, ApiReply *reply, CompareRequest *request)
{
    bool after = api_query_get(query, "focus"), before = api_query_get(query, "focus_before");
    request->focused = after || before;
    request->focus_side = before ? DIFF_BEFORE : DIFF_AFTER;
    if (after && before) {
        api_fail(reply, 400, "bad-request", "focus, focus_before: give one of them");
        return false;
    }
    return !request->focused ||
           (query_id(query, reply, before ? "focus_before" : "focus", &request->focus) &&
            query_direction(query, reply, &request->inverted));
}

static bool parse(const ApiQuery *query, ApiReply *reply, CompareRequest *request)
{
    return parse_moment(query, reply, "id", "at", &request->moments[DIFF_BEFORE]) &&
           parse_moment(query, reply, "id2", "at2", &request->moments[DIFF_AFTER]) &&
           query_metric(query, reply, &request->metric) &&
           query_flag(query, reply, "inverted", &request->inverted) &&
           query_number(query, reply, "limit", LIMIT_LEAST, LIMIT_MAX, LIMIT_DEFAULT,
                        &request->limit) &&
           parse_focus(query, reply, request);
}

static int64_t snapshot_of(const Moment *moment, const Profile *profile)
{
    uint64_t time_ns = moment->time_ns, bytes;
    if (moment->peak)
        profile_peak_between(profile, TIME_FIRST, TIME_LAST, &time_ns, &bytes);
    return profile_snapshot_at(profile, time_ns);
}

/* ---- rows ----------------------------------------------------------------------------------- */

static const DiffGroup *group_of(const Answer *a, const DiffRow *row, DiffSide side)
{
    return row->group[side] == ID_NONE ? NULL
                                       : stack_diff_group(a->pairs.diff, side, row->group[side]);
}

static DiffSide drawn_side(const DiffRow *row)
{
    return row->group[DIFF_AFTER] == ID_NONE ? DIFF_BEFORE : DIFF_AFTER;
}

/*
 * Which frames of a group are drawn: all, or with a focus from its outermost occurrence to the leaf
 * or from its innermost one to the root. False: the group does not go through it.
 */
static bool drawn_part(const Answer *a, const DiffGroup *group, size_t *ret_first, size_t *ret_end)
{
    bool found = !a->request->focused;
    *ret_first = 0;
    *ret_end = group->depth;
    for (size_t i = 0; a->request->focused && i < group->depth; i++) {
        if (group->frames[i] != a->focus)
            continue;
        if (a->request->inverted) {
            *ret_first = i;
            return true;
        }
        *ret_end = i + 1;
        found = true;
    }
    return found;
}

static int64_t position_of(Answer *a, uint32_t frame)
{
    if (a->position[frame] < 0) {
        a->position[frame] = (int64_t)a->used_count;
        a->used[a->used_count++] = frame;
    }
    return a->position[frame];
}

static void write_row(Answer *a, const DiffRow *row)
{
    JsonOut *out = &a->out;
    DiffSide drawn = drawn_side(row);
    const DiffGroup *group = group_of(a, row, drawn);
    Metric metric = a->request->metric;
    json_out_open(out, NULL, '{');
    json_out_text(out, "kind", diff_kind_name(row->kind));
    json_out_text(out, "match", diff_match_name(row->match));
    json_out_integer(out, "change", row->change);
    for (int s = 0; s < DIFF_SIDES; s++) {
        const DiffGroup *own = group_of(a, row, (DiffSide)s);
        json_out_integer(out, s == DIFF_BEFORE ? "before" : "after",
                         own ? own->values.v[metric] : 0);
    }
    json_out_open(out, "frames", '[');
    for (size_t i = 0; i < group->depth; i++)
        json_out_integer(out, NULL, position_of(a, group->frames[i]));
    json_out_close(out, ']');
    if (row->differs[drawn] == ID_NONE)
        json_out_value(out, "differs", json_null());
    else
        json_out_integer(out, "differs", row->differs[drawn]);
    json_out_close(out, '}');
}

static void write_rows(Answer *a)
{
    size_t count = 0, first, end;
    json_out_open(&a->out, "rows", '[');
    for (size_t i = 0; i < a->changed; i++)
        if (drawn_part(a, group_of(a, &a->rows[i], drawn_side(&a->rows[i])), &first, &end) &&
            ++count <= ROWS_MAX)
            write_row(a, &a->rows[i]);
    json_out_close(&a->out, ']');
    json_out_integer(&a->out, "row_count", (int64_t)count);
    json_out_integer(&a->out, "ambiguous", (int64_t)a->summary.ambiguous);
    json_out_value(&a->out, "nothing_in_common", json_boolean(a->summary.nothing_in_common));
}

/* ---- tree ----------------------------------------------------------------------------------- */

static int put_path(const Answer *a, const DiffGroup *group, uint32_t row, FlameIndex *index)
{
    size_t first, end;
    int r = 0;
    if (!drawn_part(a, group, &first, &end))
        return 0;
    for (size_t i = 0; r == 0 && i < end - first; i++)
        r = flame_index_step(index, group->frames[a->request->inverted ? first + i : end - 1 - i]);
    return r < 0 ? r : flame_index_path(index, row);
}

static int write_nodes(Answer *a, const FlameTree *tree)
{
    int64_t *position = malloc((tree->count + 1) * sizeof(*position));
    int r = position ? 0 : -ENOMEM;
    for (size_t i = 0; r == 0 && i < tree->count; i++)
        position[i] = tree->label[i] >= FLAME_LOST ? (int64_t)(int32_t)tree->label[i]
                                                   : position_of(a, tree->label[i]);
    if (r == 0)
        r = flame_json_nodes(&a->out, tree, DIFF_SIDES, a->request->metric, position);
    free(position);
    Values totals[DIFF_SIDES] = {tree->total[0][0], tree->total[1][0]};
    flame_json_totals(&a->out, totals, DIFF_SIDES);
    json_out_integer(&a->out, "stacks", (int64_t)tree->stack_count);
    json_out_integer(&a->out, "node_count", (int64_t)tree->all_count);
    return r;
}

/* Rows are the stacks of the tree. */
static int write_tree(Answer *a)
{
    FlameIndex index = {0};
    FlameTree tree;
    Values *sides[DIFF_SIDES] = {calloc(a->all + 1, sizeof(Values)),
                                 calloc(a->all + 1, sizeof(Values))};
    int r = sides[0] && sides[1] ? 0 : -ENOMEM;
    for (uint32_t i = 0; r == 0 && i < a->all; i++) {
        for (int s = 0; s < DIFF_SIDES; s++) {
            const DiffGroup *group = group_of(a, &a->rows[i], (DiffSide)s);
            if (group)
                sides[s][i] = group->values;
        }
        r = put_path(a, group_of(a, &a->rows[i], drawn_side(&a->rows[i])), i, &index);
    }
    if (r == 0)
        r = flame_index_build(&index);
    if (r == 0)
        r = flame_sum(&index, &(FlameValues){{sides[0], sides[1]}, NULL, DIFF_SIDES},
                      a->request->metric, a->request->limit, &tree);
    if (r == 0) {
        r = write_nodes(a, &tree);
        flame_tree_done(&tree);
    }
    flame_index_done(&index);
    free(sides[0]);
    free(sides[1]);
    return r;
}

/* ---- labels --------------------------------------------------------------------------------- */

static const Label *label_at(const Answer *a, size_t i)
{
    return a->pairs.frames[a->used[i]].label;
}

static void write_texts(Answer *a, const char *key, const char *(*of)(const Label *label))
{
    json_out_open(&a->out, key, '[');
    for (size_t i = 0; i < a->used_count; i++)
        json_out_value(&a->out, NULL, json_name(of(label_at(a, i))));
    json_out_close(&a->out, ']');
}

static void write_ids(Answer *a, const char *key, DiffSide side)
{
    json_out_open(&a->out, key, '[');
    for (size_t i = 0; i < a->used_count; i++)
        json_out_integer(&a->out, NULL, a->pairs.frames[a->used[i]].id[side]);
    json_out_close(&a->out, ']');
}

/* All frames of a module whose name is not known are one. */
static const char *function_of(const Label *label)
{
    return label->known ? label->function : "?";
}

static const char *module_of(const Label *label)
{
    return label->module;
}

static const char *file_of(const Label *label)
{
    return label->file;
}

static void write_labels(Answer *a)
{
    JsonOut *out = &a->out;
    json_out_open(out, "labels", '{');
    write_ids(a, "id", DIFF_AFTER);
    write_ids(a, "id_before", DIFF_BEFORE);
    write_texts(a, "function", function_of);
    write_texts(a, "module", module_of);
    write_texts(a, "file", file_of);
    json_out_open(out, "line", '[');
    for (size_t i = 0; i < a->used_count; i++)
        json_out_integer(out, NULL, 0);
    json_out_close(out, ']');
    json_out_open(out, "inlined", '[');
    for (size_t i = 0; i < a->used_count; i++)
        json_out_integer(out, NULL, label_at(a, i)->inlined);
    json_out_close(out, ']');
    json_out_open(out, "known", '[');
    for (size_t i = 0; i < a->used_count; i++)
        json_out_integer(out, NULL, label_at(a, i)->known);
    json_out_close(out, ']');
    json_out_close(out, '}');
}

/* ---- the answer ----------------------------------------------------------------------------- */

static void write_moment(Answer *a, DiffSide side, const char *id, const char *at)
{
    const AnswerSide *own = &a->sides[side];
    json_out_integer(&a->out, id, own->id);
    if (own->time_us < 0)
        json_out_value(&a->out, at, json_null());
    else
        json_out_integer(&a->out, at, own->time_us);
}

static void write_head(Answer *a)
{
    Metric metric = a->request->metric;
    bool bytes =
        metric == METRIC_LIVE_BYTES || metric == METRIC_TOTAL_BYTES || metric == METRIC_OVERHEAD;
    write_moment(a, DIFF_BEFORE, "id", "at");
    write_moment(a, DIFF_AFTER, "id2", "at2");
    json_out_text(&a->out, "mode", "compare");
    json_out_text(&a->out, "metric", metric_name(metric));
    json_out_text(&a->out, "unit", bytes ? "bytes" : "count");
    json_out_open(&a->out, "sides", '[');
    json_out_text(&a->out, NULL, "before");
    json_out_text(&a->out, NULL, "after");
    json_out_close(&a->out, ']');
}

static int run(Answer *a)
{
    int r = stack_diff_run(a->pairs.diff, a->request->metric, &a->rows, &a->summary);
    if (r < 0)
        return r;
    a->changed = (size_t)r;
    a->all = a->changed + a->summary.count[DIFF_SAME];
    if (a->request->focused)
        a->focus = pair_stacks_frame(&a->pairs, a->request->focus_side, a->request->focus);
    a->position = malloc((a->pairs.frame_count + 1) * sizeof(*a->position));
    a->used = malloc((a->pairs.frame_count + 1) * sizeof(*a->used));
    if (!a->position || !a->used)
        return -ENOMEM;
    for (size_t i = 0; i < a->pairs.frame_count; i++)
        a->position[i] = -1;
    json_out_open(&a->out, NULL, '{');
    write_head(a);
    r = write_tree(a);
    write_rows(a);
    write_labels(a);
    json_out_open(&a->out, "symbols", '{');
    json_out_integer(&a->out, "done", a->sides[DIFF_AFTER].symbols_done);
    json_out_integer(&a->out, "total", a->sides[DIFF_AFTER].symbols_all);
    json_out_close(&a->out, '}');
    json_out_close(&a->out, '}');
    return r;
}

/* 1: done, 0: the reply was made an error. */
static int take_sides(Answer *a, HubProcess *const processes[DIFF_SIDES], ApiReply *reply)
{
    const CompareRequest *request = a->request;
    PairSide pair[DIFF_SIDES];
    for (int s = 0; s < DIFF_SIDES; s++) {
        const HubProcess *process = processes[s];
        const Profile *profile = process->profile;
        if (!profile || profile_snapshot_count(profile) == 0) {
            api_fail(reply, 404, profile ? "no-snapshot" : "not-found", "process %u: %s",
                     process->id, profile ? "has no snapshot yet" : "cannot be read");
            return 0;
        }
        if (request->focused && request->focus_side == (DiffSide)s &&
            request->focus >= labels_count(process->labels[GRANULARITY_FUNCTION])) {
            api_fail(reply, 404, "not-found", "%s: no label %u",
                     s == DIFF_BEFORE ? "focus_before" : "focus", request->focus);
            return 0;
        }
        int64_t snapshot = snapshot_of(&request->moments[s], profile);
        pair[s] = (PairSide){processes[s], snapshot};
        a->sides[s] = (AnswerSide){process->id, process->symbols_done, process->symbols_all, -1};
        if (snapshot >= 0)
            a->sides[s].time_us =
                (int64_t)(profile_snapshot(profile, (size_t)snapshot)->time_ns / 1000);
    }
    int r = pair_stacks_make(pair, &a->pairs);
    return r < 0 ? r : 1;
}

int api_compare(Hub *hub, const ApiQuery *query, ApiReply *ret_reply)
{
    CompareRequest request = {0};
    Answer a = {.request = &request};
    HubProcess *processes[DIFF_SIDES];
    if (!parse(query, ret_reply, &request))
        return 0;
    if (!hub_acquire_two(hub, request.moments[DIFF_BEFORE].id, request.moments[DIFF_AFTER].id,
                         &processes[DIFF_BEFORE], &processes[DIFF_AFTER]))
        return api_fail(ret_reply, 404, "not-found", "id, id2: no such process");
    int r = take_sides(&a, processes, ret_reply);
    hub_release_two(hub, processes[DIFF_BEFORE], processes[DIFF_AFTER]);
    bool ready = r > 0;
    if (ready)
        r = run(&a);
    pair_stacks_done(&a.pairs);
    free(a.position);
    free(a.used);
    if (ready && r == 0)
        return json_out_reply(&a.out, ret_reply);
    json_out_done(&a.out);
    return r;
}
