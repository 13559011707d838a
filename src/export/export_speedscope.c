// SPDX-License-Identifier: Apache-2.0
/*
 * The file format of speedscope (https://www.speedscope.app): a table of the frames that occur, in
 * the order in which they do (a session that lives may know others), then one profile
 * of type "sampled" per metric, its unit "bytes" or "none", each sample a stack (root first) with
 * its weight. An interval has two profiles per metric, added and removed. The profile of the
 * view's metric comes up first. Stacks with a weight of 0 or below are left out of a profile; one
 * with no sample at all is left out of the file but for the chosen one. Memory: one stack.
 */
#include <errno.h>
#include <stdlib.h>

#include "export/call_tree.h"
#include "export/json_piece.h"
#include "export/text_head.h"

typedef struct Series {
    Metric metric;
    bool removed;
} Series;

static int64_t weight_of(const ViewStack *stack, Series series)
{
    return (series.removed ? &stack->removed : &stack->values)->v[series.metric];
}

static json_t *frame_object(const View *view, uint32_t index)
{
    uint32_t known = (uint32_t)labels_count(view->labels);
    const Label *label = tree_label(view, index < known ? index : ID_NONE - 1 - (index - known));
    json_t *o = json_pack("{s:o}", "name", json_name(label->function));
    const char *file = label->file ? label->file : label->module;
    if (o && file && *file)
        json_object_set_new(o, "file", json_name(file));
    if (o && label->line)
        json_object_set_new(o, "line", json_integer((json_int_t)label->line));
    return o;
}

/* The table of frames. Both by malloc. */
typedef struct Frames {
    uint32_t *place; /* by label index: in the table, from 1; 0: does not occur */
    uint32_t *label; /* by place, from 0: label index */
    uint32_t count;
} Frames;

static void frames_done(Frames *frames)
{
    free(frames->place);
    free(frames->label);
}

static int frames_find(const View *view, const TreeRow *rows, Frames *frames)
{
    size_t labels = tree_label_count(view);
    frames->place = calloc(labels + 1, sizeof(*frames->place));
    frames->label = calloc(labels + 1, sizeof(*frames->label));
    if (!frames->place || !frames->label)
        return -ENOMEM;
    for (size_t s = 0; s < view->stack_count; s++) {
        for (size_t i = rows[s].depth; i-- > 0;) {
            uint32_t label = tree_label_index(view, rows[s].path[i]);
            if (frames->place[label])
                continue;
            frames->label[frames->count++] = label;
            frames->place[label] = frames->count;
        }
    }
    return 0;
}

static json_t *sample_array(const View *view, const TreeRow *row, const Frames *frames)
{
    json_t *array = json_array();
    for (size_t i = row->depth; array && i-- > 0;) {
        uint32_t label = tree_label_index(view, row->path[i]);
        json_array_append_new(array, json_integer((json_int_t)frames->place[label] - 1));
    }
    return array;
}

static json_t *name_string(const View *view, Series series)
{
    return json_sprintf("%s%s", metric_name(series.metric),
                        !view->interval  ? ""
                        : series.removed ? " removed"
                                         : " added");
}

static int profile_write(const View *view, const TreeRow *rows, const Frames *frames, Series series,
                         FILE *out)
{
    bool bytes = series.metric == METRIC_LIVE_BYTES || series.metric == METRIC_TOTAL_BYTES ||
                 series.metric == METRIC_OVERHEAD;
    json_int_t sum = 0;
    for (size_t i = 0; i < view->stack_count; i++)
        sum += weight_of(&view->stacks[i], series) > 0 ? weight_of(&view->stacks[i], series) : 0;
    fputs("{\"type\":\"sampled\",\"name\":", out);
    int r = json_piece_write(name_string(view, series), out);
    if (r == 0)
        fprintf(out, ",\"unit\":\"%s\",\"startValue\":0,\"endValue\":%lld,\"samples\":[",
                bytes ? "bytes" : "none", (long long)sum);
    const char *comma = "";
    for (size_t i = 0; r == 0 && i < view->stack_count; i++) {
        if (weight_of(&view->stacks[i], series) <= 0)
            continue;
        fputs(comma, out);
        comma = ",\n";
        r = json_piece_write(sample_array(view, &rows[i], frames), out);
    }
    fputs("],\"weights\":[", out);
    comma = "";
    for (size_t i = 0; r == 0 && i < view->stack_count; i++) {
        if (weight_of(&view->stacks[i], series) <= 0)
            continue;
        fputs(comma, out);
        comma = ",";
        r = json_piece_write(json_integer(weight_of(&view->stacks[i], series)), out);
    }
    fputs("]}", out);
    return r;
}

/* What goes into the file; returns how many, *ret_active the place of the view's metric. */
static size_t series_choose(const View *view, Series *ret_series, size_t *ret_active)
{
    size_t count = 0;
    for (int m = 0; m < METRIC_MAX; m++) {
        for (int removed = 0; removed <= (view->interval ? 1 : 0); removed++) {
            Series series = {(Metric)m, removed};
            const Values *total = removed ? &view->total_removed : &view->total;
            bool chosen = series.metric == view->metric && !removed;
            if (chosen)
                *ret_active = count;
            if (chosen || total->v[m] > 0)
                ret_series[count++] = series;
        }
    }
    return count;
}

static int frames_write(const View *view, const Frames *frames, FILE *out)
{
    int r = 0;
    fputs("\"shared\":{\"frames\":[", out);
    for (uint32_t i = 0; r == 0 && i < frames->count; i++) {
        fputs(i ? ",\n" : "\n", out);
        r = json_piece_write(frame_object(view, frames->label[i]), out);
    }
    fputs("]},\n", out);
    return r;
}

static int write_speedscope(const View *view, FILE *out)
{
    Series series[2 * METRIC_MAX];
    size_t active = 0, count = series_choose(view, series, &active);
    Frames frames = {0};
    TreeRows made;
    int r = tree_rows_of_view(view, false, &made);
    if (r < 0)
        return r;
    r = frames_find(view, made.rows, &frames);
    char *command = command_text(view->profile);
    fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n\"name\":", out);
    if (r == 0)
        r = json_piece_write(command ? json_name(view->title ? view->title : command) : NULL, out);
    free(command);
    fprintf(out, ",\n\"exporter\":\"memhawk " MEMHAWK_VERSION "\",\n\"activeProfileIndex\":%zu,\n",
            active);
    if (r == 0)
        r = frames_write(view, &frames, out);
    fputs("\"profiles\":[", out);
    for (size_t i = 0; r == 0 && i < count; i++) {
        fputs(i ? ",\n" : "\n", out);
        r = profile_write(view, made.rows, &frames, series[i], out);
    }
    fputs("\n]}\n", out);
    frames_done(&frames);
    tree_rows_done(&made);
    return r < 0 ? r : ferror(out) ? -EIO : 0;
}

const Exporter export_speedscope = {
    .name = "speedscope",
    .extension = "speedscope.json",
    .what = "for https://www.speedscope.app and its offline copies",
    .write = write_speedscope,
};
