// SPDX-License-Identifier: Apache-2.0
/*
 * pprof's profile.proto, gzipped. Sample types are those of Go's heap profiles, in their order, and
 * two of ours behind them. nanopb encodes; as serialized messages may be concatenated and their
 * repeated fields then add up, each sample, location, function and string is written as soon as it
 * is known, as a Profile of its own, and memory holds only the tables of what was written. An
 * interval gives added less removed, as pprof's own differences do.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <pb_encode.h>

#include "export/call_tree.h"
#include "export/frames.h"
#include "export/names.h"
#include "export/packed_out.h"
#include "export/string_table.h"
#include "export/text_head.h"
#include "pprof.pb.h"

typedef memhawk_pprof_Profile Part; /* a Profile with some fields set */

typedef struct Pprof {
    const View *view;
    FILE *out;
    FrameReader reader;
    StringTable *strings, *functions, *marks;
    bool *written;                   /* per profile frame: its location */
    memhawk_pprof_Mapping *mappings; /* per module */
    NameBuffer name;
} Pprof;

static const struct {
    const char *type, *unit;
    Metric metric;
} sample_types[] = {
    {"alloc_objects", "count", METRIC_TOTAL_COUNT},   {"alloc_space", "bytes", METRIC_TOTAL_BYTES},
    {"inuse_objects", "count", METRIC_LIVE_COUNT},    {"inuse_space", "bytes", METRIC_LIVE_BYTES},
    {"temporary_objects", "count", METRIC_TEMPORARY}, {"overhead_space", "bytes", METRIC_OVERHEAD},
};
enum { SAMPLE_TYPES = sizeof(sample_types) / sizeof(sample_types[0]) };

static bool stream_put(pb_ostream_t *stream, const pb_byte_t *data, size_t size)
{
    return fwrite(data, 1, size, stream->state) == size;
}

static int part_write(Pprof *p, const Part *part)
{
    pb_ostream_t stream = {.callback = stream_put, .state = p->out, .max_size = SIZE_MAX};
    return pb_encode(&stream, memhawk_pprof_Profile_fields, part) ? 0 : -EIO;
}

static int string_put(Pprof *p, const char *text, int64_t *ret_index)
{
    uint64_t index;
    name_buffer_clear(&p->name);
    if (!name_append_utf8(&p->name, text)) /* proto3 strings are UTF-8 */
        return -ENOMEM;
    int r = string_table_put(p->strings, p->name.data, p->name.length, &index);
    if (r > 0)
        r = part_write(p, &(Part){.stringTable_count = 1, .stringTable = &p->name.data});
    *ret_index = (int64_t)index;
    return r;
}

static int function_put(Pprof *p, const ExportFrame *frame, uint64_t *ret_id)
{
    memhawk_pprof_Function f = {0};
    int r = string_put(p, frame->function, &f.name);
    if (r == 0)
        r = string_put(p, frame->raw ? frame->raw : frame->function, &f.systemName);
    if (r == 0)
        r = string_put(p, frame->file, &f.filename);
    if (r < 0)
        return r;
    const int64_t key[3] = {f.name, f.systemName, f.filename};
    r = string_table_put(p->functions, key, sizeof(key), &f.id);
    if (r < 0)
        return r;
    *ret_id = ++f.id;
    return r > 0 ? part_write(p, &(Part){.function_count = 1, .function = &f}) : 0;
}

static int lines_put(Pprof *p, memhawk_pprof_Mapping *mapping, const ExportFrame *frames,
                     size_t count, memhawk_pprof_Line *lines)
{
    for (size_t i = 0; i < count; i++) {
        int r = function_put(p, &frames[i], &lines[i].functionId);
        if (r < 0)
            return r;
        lines[i].line = frames[i].line;
        if (mapping) {
            mapping->hasFunctions = true;
            mapping->hasFilenames |= frames[i].file != NULL;
            mapping->hasLineNumbers |= frames[i].line != 0;
            mapping->hasInlineFrames |= frames[i].inlined;
        }
    }
    return 0;
}

/* A location's id is the profile's frame index + 1. */
static int location_put(Pprof *p, uint32_t frame)
{
    const ProfileFrame *f = profile_frame(p->view->profile, frame);
    const ExportFrame *frames;
    int count = frame_reader_get(&p->reader, frame, &frames);
    if (count < 0)
        return count;
    if (!frames[0].known) /* the address and its mapping say all there is */
        count = 0;
    memhawk_pprof_Line *lines = calloc((size_t)count + 1, sizeof(*lines));
    if (!lines)
        return -ENOMEM;
    memhawk_pprof_Location location = {.id = (uint64_t)frame + 1,
                                       .address = f->address,
                                       .line_count = (pb_size_t)count,
                                       .line = lines};
    if (f->module != ID_NONE)
        location.mappingId = (uint64_t)f->module + 1;
    int r = lines_put(p, f->module != ID_NONE ? &p->mappings[f->module] : NULL, frames,
                      (size_t)count, lines);
    if (r == 0)
        r = part_write(p, &(Part){.location_count = 1, .location = &location});
    free(lines);
    return r;
}

/* A location without an address for the mark of a stack that does not reach its root; stacks with
 * no location at all would be dropped by pprof. Ids follow those of the frames. */
static int mark_put(Pprof *p, const char *mark, uint64_t *ret_id)
{
    memhawk_pprof_Line line = {0};
    int r = function_put(p, &(ExportFrame){.function = mark}, &line.functionId);
    if (r < 0)
        return r;
    *ret_id = profile_frame_count(p->view->profile) + line.functionId;
    uint64_t place;
    r = string_table_put(p->marks, mark, strlen(mark), &place);
    memhawk_pprof_Location location = {.id = *ret_id, .line_count = 1, .line = &line};
    return r > 0 ? part_write(p, &(Part){.location_count = 1, .location = &location}) : r;
}

static int sample_put(Pprof *p, const ViewStack *s)
{
    const ProfileStack *stack = profile_stack(p->view->profile, s->stack);
    int64_t values[SAMPLE_TYPES];
    int r = 0;
    for (size_t i = 0; i < SAMPLE_TYPES; i++)
        values[i] = s->values.v[sample_types[i].metric] - s->removed.v[sample_types[i].metric];
    uint64_t *ids = malloc((stack->depth + 1) * sizeof(*ids));
    const char *mark = tree_mark(stack);
    if (!ids)
        return -ENOMEM;
    for (size_t i = 0; r == 0 && i < stack->depth; i++) {
        uint32_t frame = stack->frames[i];
        ids[i] = (uint64_t)frame + 1;
        if (!p->written[frame])
            r = location_put(p, frame);
        p->written[frame] = true;
    }
    if (r == 0 && mark)
        r = mark_put(p, mark, &ids[stack->depth]);
    memhawk_pprof_Sample sample = {.locationId_count = (pb_size_t)(stack->depth + (mark != NULL)),
                                   .locationId = ids,
                                   .value_count = SAMPLE_TYPES,
                                   .value = values};
    if (r == 0)
        r = part_write(p, &(Part){.sample_count = 1, .sample = &sample});
    free(ids);
    return r;
}

static int head_put(Pprof *p)
{
    memhawk_pprof_ValueType types[SAMPLE_TYPES] = {0};
    int64_t empty, chosen = 0;
    int r = string_put(p, "", &empty); /* place 0 must be the empty string */
    for (size_t i = 0; r == 0 && i < SAMPLE_TYPES; i++) {
        r = string_put(p, sample_types[i].type, &types[i].type);
        if (sample_types[i].metric == p->view->metric)
            chosen = types[i].type;
        if (r == 0)
            r = string_put(p, sample_types[i].unit, &types[i].unit);
    }
    char *command = command_text(p->view->profile);
    int64_t comment = 0;
    if (r == 0)
        r = command ? string_put(p, command, &comment) : -ENOMEM;
    free(command);
    if (r < 0)
        return r;
    uint64_t first = profile_first_ns(p->view->profile),
             begin = p->view->interval ? p->view->from_ns : first;
    return part_write(p, &(Part){.sampleType_count = SAMPLE_TYPES,
                                 .sampleType = types,
                                 .comment_count = 1,
                                 .comment = &comment,
                                 .timeNanos = (int64_t)begin,
                                 .durationNanos = (int64_t)(p->view->at_ns - begin),
                                 .defaultSampleType = chosen});
}

static int mapping_put(Pprof *p, uint32_t index)
{
    const ProfileModule *module = profile_module(p->view->profile, index);
    memhawk_pprof_Mapping *m = &p->mappings[index];
    char build_id[129];
    uint64_t low = UINT64_MAX, high = 0;
    for (size_t i = 0; i < module->segment_count; i++) {
        const struct ProfileSegment *s = &module->segments[i];
        low = s->addr < low ? s->addr : low;
        high = s->addr + s->size > high ? s->addr + s->size : high;
    }
    m->id = (uint64_t)index + 1;
    m->memoryStart = low < high ? module->bias + low : 0;
    m->memoryLimit = low < high ? module->bias + high : 0;
    m->fileOffset = 0;
    module_build_id(module, build_id, sizeof(build_id));
    int r = string_put(p, module->path, &m->filename);
    if (r == 0)
        r = string_put(p, build_id, &m->buildId);
    return r == 0 ? part_write(p, &(Part){.mapping_count = 1, .mapping = m}) : r;
}

/* The program itself comes first, as pprof expects. */
static int mappings_put(Pprof *p)
{
    const char *main_path = profile_process(p->view->profile)->full_path;
    size_t count = profile_module_count(p->view->profile), main_index = 0;
    for (size_t i = count; main_path && i-- > 0;)
        if (strcmp(profile_module(p->view->profile, (uint32_t)i)->path, main_path) == 0)
            main_index = i;
    int r = count ? mapping_put(p, (uint32_t)main_index) : 0;
    for (size_t i = 0; r == 0 && i < count; i++)
        if (i != main_index)
            r = mapping_put(p, (uint32_t)i);
    return r;
}

static int all_put(Pprof *p)
{
    int r = head_put(p);
    for (size_t i = 0; r == 0 && i < p->view->stack_count; i++)
        r = sample_put(p, &p->view->stacks[i]);
    return r == 0 ? mappings_put(p) : r;
}

static int write_pprof(const View *view, FILE *out)
{
    Pprof p = {.view = view,
               .out = packed_open(out, PACKING_GZIP),
               .strings = string_table_new(),
               .functions = string_table_new(),
               .marks = string_table_new()};
    frame_reader_init(&p.reader, view);
    p.written = calloc(profile_frame_count(view->profile) + 1, sizeof(*p.written));
    p.mappings = calloc(profile_module_count(view->profile) + 1, sizeof(*p.mappings));
    int r = p.out && p.strings && p.functions && p.marks && p.written && p.mappings ? all_put(&p)
                                                                                    : -ENOMEM;
    if (p.out && fclose(p.out) != 0 && r == 0)
        r = -EIO;
    string_table_free(p.strings);
    string_table_free(p.functions);
    string_table_free(p.marks);
    free(p.written);
    free(p.mappings);
    name_buffer_done(&p.name);
    frame_reader_done(&p.reader);
    return r < 0 ? r : ferror(out) ? -EIO : 0;
}

const Exporter export_pprof = {
    .name = "pprof",
    .extension = "pb.gz",
    .what = "for `go tool pprof` and what reads its files",
    .binary = true,
    .write = write_pprof,
};
