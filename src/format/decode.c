// SPDX-License-Identifier: Apache-2.0
/*
 * Protobuf decoder of the reading side, on nanopb's stream primitives. Messages that hold text or
 * lists are described by tables of FieldRule (tag, wire type, where it goes) and run by one loop;
 * the small fixed messages inside them go through nanopb's own descriptors, generated from
 * memhawk.proto. The tables exist because nanopb hands a callback its field without the wire type,
 * and a field of the wrong type must not be taken for a message.
 *
 * Cost: one pass, no copy of the message; every list is one array that is kept and reused from
 * record to record, so a steady stream of snapshots does not allocate.
 */
#include "format/decode.h"

#include <errno.h>
#include <pb_decode.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "memhawk.pb.h"

/* Arrays larger than this are given back after a record: few files need them twice. */
#define KEEP_BYTES_MAX ((size_t)8 << 20)

struct Decoder {
    MemoryBudget *budget;
    Pool pool; /* texts of the current record */
    DecodedSnapshot snapshot;
    DecodedProcess process;
    VECTOR(const char *) arguments;
    DecodeRead read;
    void *context;
    bool ended; /* the source has no more */
    int error;
    char message[96];
};

typedef bool (*FieldHandler)(pb_istream_t *stream, Decoder *decoder, void *object);

typedef enum FieldKind { FIELD_U32, FIELD_U64, FIELD_BOOL, FIELD_TEXT, FIELD_CALL } FieldKind;

typedef struct FieldRule {
    uint32_t tag;
    FieldKind kind;
    size_t offset;        /* of the member in the object, for all but FIELD_CALL */
    FieldHandler handler; /* FIELD_CALL: gets a stream of the field's bytes */
} FieldRule;

#define RULES(name)       static const FieldRule name[]
#define RULE_COUNT(rules) rules, ARRAY_SIZE(rules)

static bool out_of_memory(pb_istream_t *stream, Decoder *decoder)
{
    decoder->error = -ENOMEM;
    PB_RETURN_ERROR(stream, "it needs more memory than is allowed");
}

/* ---- the loop ------------------------------------------------------------------------------- */

static bool decode_text(pb_istream_t *stream, Decoder *decoder, const char **ret_text)
{
    size_t bytes = stream->bytes_left;
    char *text;

    if (bytes > DECODE_TEXT_MAX)
        PB_RETURN_ERROR(stream, "text too long");
    text = pool_take(&decoder->pool, bytes + 1);
    if (!text)
        return out_of_memory(stream, decoder);
    if (!pb_read(stream, (pb_byte_t *)text, bytes))
        return false;
    text[bytes] = 0;
    *ret_text = text;
    return true;
}

static bool decode_delimited(pb_istream_t *stream, Decoder *decoder, const FieldRule *rule,
                             void *object)
{
    pb_istream_t sub;
    bool ok;

    if (!pb_make_string_substream(stream, &sub))
        return false;
    if (rule->kind == FIELD_TEXT)
        ok = decode_text(&sub, decoder, (const char **)((char *)object + rule->offset));
    else
        ok = rule->handler(&sub, decoder, object);
    if (!ok) {
        PB_SET_ERROR(stream, PB_GET_ERROR(&sub));
        return false;
    }
    /* nanopb takes the end of the source for the end of the innermost message. */
    if (decoder->ended)
        PB_RETURN_ERROR(stream, "the message is cut");
    return pb_close_string_substream(stream, &sub);
}

static bool decode_number(pb_istream_t *stream, const FieldRule *rule, void *object)
{
    void *member = (char *)object + rule->offset;
    uint64_t value;

    if (rule->kind == FIELD_U32)
        return pb_decode_varint32(stream, member);
    if (!pb_decode_varint(stream, &value))
        return false;
    if (rule->kind == FIELD_BOOL)
        *(bool *)member = value != 0;
    else
        memcpy(member, &value, sizeof value);
    return true;
}

static const FieldRule *rule_find(const FieldRule *rules, size_t count, uint32_t tag)
{
    for (size_t i = 0; i < count; i++) {
        if (rules[i].tag == tag)
            return &rules[i];
    }
    return NULL;
}

static bool decode_fields(pb_istream_t *stream, Decoder *decoder, const FieldRule *rules,
                          size_t count, void *object)
{
    for (;;) {
        const FieldRule *rule;
        pb_wire_type_t type;
        uint32_t tag;
        bool eof;

        if (!pb_decode_tag(stream, &type, &tag, &eof))
            return eof;
        if (tag == 0)
            PB_RETURN_ERROR(stream, "zero tag");
        rule = rule_find(rules, count, tag);
        if (!rule) {
            if (!pb_skip_field(stream, type))
                return false;
        } else if (rule->kind >= FIELD_TEXT) {
            if (type != PB_WT_STRING)
                PB_RETURN_ERROR(stream, "wrong wire type");
            if (!decode_delimited(stream, decoder, rule, object))
                return false;
        } else {
            if (type != PB_WT_VARINT)
                PB_RETURN_ERROR(stream, "wrong wire type");
            if (!decode_number(stream, rule, object))
                return false;
        }
    }
}

/* ---- ProcessInfo ---------------------------------------------------------------------------- */

static bool on_argument(pb_istream_t *stream, Decoder *decoder, void *object)
{
    const char **slot = vector_put(&decoder->arguments, decoder->budget);

    (void)object;
    if (!slot)
        return out_of_memory(stream, decoder);
    *slot = "";
    return decode_text(stream, decoder, slot);
}

RULES(process_rules) = {
    {1, FIELD_TEXT, offsetof(DecodedProcess, short_name)},
    {2, FIELD_TEXT, offsetof(DecodedProcess, full_path)},
    {3, FIELD_U32, offsetof(DecodedProcess, pid)},
    {4, FIELD_U64, offsetof(DecodedProcess, start_ns)},
    {100, FIELD_U32, offsetof(DecodedProcess, format_version)},
    {101, FIELD_TEXT, offsetof(DecodedProcess, writer)},
    {102, FIELD_CALL, 0, on_argument},
    {103, FIELD_U32, offsetof(DecodedProcess, parent_pid)},
    {104, FIELD_TEXT, offsetof(DecodedProcess, host_name)},
    {105, FIELD_U32, offsetof(DecodedProcess, interval_ms)},
    {106, FIELD_TEXT, offsetof(DecodedProcess, unwind_mode)},
    {107, FIELD_U32, offsetof(DecodedProcess, max_depth)},
    {108, FIELD_BOOL, offsetof(DecodedProcess, forked)},
    {109, FIELD_TEXT, offsetof(DecodedProcess, allocator)},
    {110, FIELD_TEXT, offsetof(DecodedProcess, warning)},
    {111, FIELD_U32, offsetof(DecodedProcess, granule_bytes)},
};

static const DecodedProcess process_empty = {
    .short_name = "",
    .full_path = "",
    .writer = "",
    .host_name = "",
    .unwind_mode = "",
    .allocator = "",
    .warning = "",
};

static bool process_fields(pb_istream_t *stream, Decoder *decoder, DecodedProcess *process)
{
    *process = process_empty;
    decoder->arguments.count = 0;
    if (!decode_fields(stream, decoder, RULE_COUNT(process_rules), process))
        return false;
    process->arguments = decoder->arguments.items;
    process->argument_count = decoder->arguments.count;
    return true;
}

/* ---- parts of a Snapshot -------------------------------------------------------------------- */

static DecodedAllocs allocs_from(const memhawk_proto_AllocSummary *summary)
{
    return (DecodedAllocs){
        .live_bytes = summary->size,
        .live_count = summary->active,
        .overhead_bytes = summary->overhead,
        .total_count = summary->totalCount,
        .total_bytes = summary->totalBytes,
        .temporary_count = summary->temporaryCount,
    };
}

/* A message of numbers only, through its nanopb descriptor. */
#define DECODE_FLAT(stream, name, message)                                                         \
    (memset(message, 0, sizeof *(message)),                                                        \
     pb_decode_ex(stream, memhawk_proto_##name##_fields, message, PB_DECODE_NOINIT))

/*
 * Changes are all but the whole of most files, and nanopb takes about a microsecond for one. So the
 * usual shape is read straight from memory: known fields only, each a number, `actual` at most
 * once. Anything else returns false, right or wrong, and is left to nanopb.
 */
static const uint8_t *quick_varint(const uint8_t *p, const uint8_t *end, uint64_t *ret_value)
{
    uint64_t value = 0;

    for (unsigned shift = 0; p < end && shift < 63; shift += 7) {
        value |= (uint64_t)(*p & 0x7f) << shift;
        if (!(*p++ & 0x80)) {
            *ret_value = value;
            return p;
        }
    }
    return NULL;
}

static bool quick_allocs(const uint8_t *p, const uint8_t *end, DecodedAllocs *allocs)
{
    while (p < end) {
        uint64_t tag, value;
        p = quick_varint(p, end, &tag);
        p = p ? quick_varint(p, end, &value) : NULL;
        if (!p)
            return false;
        switch (tag) {
        case 1 << 3:
            allocs->live_bytes = (int64_t)value;
            break;
        case 2 << 3:
            allocs->live_count = (int64_t)value;
            break;
        case 3 << 3:
            allocs->overhead_bytes = (int64_t)value;
            break;
        case 4 << 3:
            allocs->total_count = value;
            break;
        case 5 << 3:
            allocs->total_bytes = value;
            break;
        case 100 << 3:
            allocs->temporary_count = value;
            break;
        default:
            return false;
        }
    }
    return true;
}

static bool quick_change(const uint8_t *p, const uint8_t *end, DecodedChange *change)
{
    uint64_t value;

    *change = (DecodedChange){0};
    if (p == end || *p++ != (1 << 3))
        return false;
    p = quick_varint(p, end, &value);
    if (!p || value > UINT32_MAX || p == end || *p++ != (2 << 3 | PB_WT_STRING))
        return false;
    change->trace_id = (uint32_t)value;
    p = quick_varint(p, end, &value);
    return p && value == (uint64_t)(end - p) && quick_allocs(p, end, &change->now);
}

static bool slow_change(pb_istream_t *stream, DecodedChange *change)
{
    memhawk_proto_TracedAllocSummary message;

    if (!DECODE_FLAT(stream, TracedAllocSummary, &message))
        return false;
    change->trace_id = message.traceId;
    change->now = allocs_from(&message.actual);
    return true;
}

static bool on_change(pb_istream_t *stream, Decoder *decoder, void *object)
{
    DecodedSnapshot *snapshot = object;
    DecodedChange *change = vector_put(&snapshot->changes, decoder->budget);
    size_t bytes = stream->bytes_left;
    pb_istream_t copy;
    uint8_t buffer[96];

    if (!change)
        return out_of_memory(stream, decoder);
    if (bytes > sizeof buffer)
        return slow_change(stream, change);
    if (!pb_read(stream, buffer, bytes))
        return false;
    if (quick_change(buffer, buffer + bytes, change))
        return true;
    copy = pb_istream_from_buffer(buffer, bytes);
    if (slow_change(&copy, change))
        return true;
    PB_SET_ERROR(stream, PB_GET_ERROR(&copy));
    return false;
}

static bool on_frame(pb_istream_t *stream, Decoder *decoder, void *object)
{
    DecodedSnapshot *snapshot = object;
    memhawk_proto_StacktracePtr message;
    DecodedFrame *frame;

    if (!DECODE_FLAT(stream, StacktracePtr, &message))
        return false;
    frame = vector_put(&snapshot->frames, decoder->budget);
    if (!frame)
        return out_of_memory(stream, decoder);
    *frame = (DecodedFrame){message.ptrAddr, message.ptrId, message.moduleId, message.exact};
    return true;
}

static bool put_ptr_id(pb_istream_t *stream, Decoder *decoder, DecodedStack *stack)
{
    uint32_t *slot;

    if (stack->depth == DECODE_DEPTH_MAX)
        PB_RETURN_ERROR(stream, "stack too deep");
    slot = vector_put(&decoder->snapshot.ptr_ids, decoder->budget);
    if (!slot)
        return out_of_memory(stream, decoder);
    stack->depth++;
    *slot = 0;
    return pb_decode_varint32(stream, slot);
}

static bool on_ptr_ids(pb_istream_t *stream, Decoder *decoder, void *object)
{
    while (stream->bytes_left > 0) {
        if (!put_ptr_id(stream, decoder, object))
            return false;
    }
    return true;
}

/* Not decode_fields(): ptrId may come packed or one by one. */
static bool stack_fields(pb_istream_t *stream, Decoder *decoder, DecodedStack *stack)
{
    static const FieldRule ids = {2, FIELD_CALL, 0, on_ptr_ids};
    static const FieldRule numbers[] = {
        {1, FIELD_U32, offsetof(DecodedStack, trace_id)},
        {100, FIELD_U32, offsetof(DecodedStack, flags)},
    };

    for (;;) {
        const FieldRule *rule;
        pb_wire_type_t type;
        uint32_t tag;
        bool eof, ok;

        if (!pb_decode_tag(stream, &type, &tag, &eof))
            return eof;
        rule = rule_find(RULE_COUNT(numbers), tag);
        if (tag == 2 && type == PB_WT_STRING)
            ok = decode_delimited(stream, decoder, &ids, stack);
        else if (tag == 2 && type == PB_WT_VARINT)
            ok = put_ptr_id(stream, decoder, stack);
        else if (rule && type == PB_WT_VARINT)
            ok = decode_number(stream, rule, stack);
        else if (tag == 0 || tag == 2 || rule)
            PB_RETURN_ERROR(stream, "wrong wire type");
        else
            ok = pb_skip_field(stream, type);
        if (!ok)
            return false;
    }
}

static bool on_stack(pb_istream_t *stream, Decoder *decoder, void *object)
{
    DecodedSnapshot *snapshot = object;
    DecodedStack *slot;
    DecodedStack stack = {.first = snapshot->ptr_ids.count};

    if (!stack_fields(stream, decoder, &stack))
        return false;
    slot = vector_put(&snapshot->stacks, decoder->budget);
    if (!slot)
        return out_of_memory(stream, decoder);
    *slot = stack;
    return true;
}

static bool on_segment(pb_istream_t *stream, Decoder *decoder, void *object)
{
    memhawk_proto_ElfInfo_Segment message;
    DecodedSegment *slot;

    if (!DECODE_FLAT(stream, ElfInfo_Segment, &message))
        return false;
    slot = vector_put(&decoder->snapshot.segments, decoder->budget);
    if (!slot)
        return out_of_memory(stream, decoder);
    *slot = (DecodedSegment){message.addr, message.size};
    ((DecodedModule *)object)->segment_count++;
    return true;
}

static bool on_build_id(pb_istream_t *stream, Decoder *decoder, void *object)
{
    DecodedModule *module = object;
    size_t bytes = stream->bytes_left;
    const char *data;

    if (!decode_text(stream, decoder, &data))
        return false;
    module->build_id = bytes ? (const uint8_t *)data : NULL;
    module->build_id_size = bytes;
    return true;
}

RULES(module_rules) = {
    {1, FIELD_TEXT, offsetof(DecodedModule, path)},
    {2, FIELD_U64, offsetof(DecodedModule, bias)},
    {3, FIELD_CALL, 0, on_segment},
    {100, FIELD_U32, offsetof(DecodedModule, module_id)},
    {101, FIELD_CALL, 0, on_build_id},
    {102, FIELD_U64, offsetof(DecodedModule, load_ns)},
    {103, FIELD_U64, offsetof(DecodedModule, unload_ns)},
    {104, FIELD_U64, offsetof(DecodedModule, inode)},
    {105, FIELD_U64, offsetof(DecodedModule, device)},
    {106, FIELD_BOOL, offsetof(DecodedModule, deleted)},
};

static bool on_module(pb_istream_t *stream, Decoder *decoder, void *object)
{
    DecodedSnapshot *snapshot = object;
    DecodedModule *slot;
    DecodedModule module = {.path = "", .first_segment = snapshot->segments.count};

    if (!decode_fields(stream, decoder, RULE_COUNT(module_rules), &module))
        return false;
    slot = vector_put(&snapshot->modules, decoder->budget);
    if (!slot)
        return out_of_memory(stream, decoder);
    *slot = module;
    return true;
}

static bool on_process(pb_istream_t *stream, Decoder *decoder, void *object)
{
    DecodedSnapshot *snapshot = object;

    snapshot->has_process = true;
    return process_fields(stream, decoder, &snapshot->process);
}

static bool decode_allocs(pb_istream_t *stream, DecodedAllocs *ret_allocs)
{
    memhawk_proto_AllocSummary message;

    if (!DECODE_FLAT(stream, AllocSummary, &message))
        return false;
    *ret_allocs = allocs_from(&message);
    return true;
}

static bool on_total(pb_istream_t *stream, Decoder *decoder, void *object)
{
    DecodedSnapshot *snapshot = object;

    (void)decoder;
    snapshot->has_total = true;
    return decode_allocs(stream, &snapshot->total);
}

static bool on_inherited(pb_istream_t *stream, Decoder *decoder, void *object)
{
    DecodedSnapshot *snapshot = object;

    (void)decoder;
    snapshot->has_inherited = true;
    return decode_allocs(stream, &snapshot->inherited);
}

static bool on_losses(pb_istream_t *stream, Decoder *decoder, void *object)
{
    DecodedSnapshot *snapshot = object;
    memhawk_proto_Losses m;

    (void)decoder;
    if (!DECODE_FLAT(stream, Losses, &m))
        return false;
    snapshot->has_losses = true;
    snapshot->losses = (DecodedLosses){
        m.stackTableFull,   m.liveMapFull, m.missedFrees, m.writeFailed,
        m.reentrantSkipped, m.depthCut,    m.unwindEnded, m.windowsDropped,
    };
    return true;
}

static bool on_end(pb_istream_t *stream, Decoder *decoder, void *object)
{
    DecodedSnapshot *snapshot = object;
    memhawk_proto_EndOfRun message;

    (void)decoder;
    if (!DECODE_FLAT(stream, EndOfRun, &message))
        return false;
    snapshot->has_end = true;
    snapshot->end_reason = message.reason;
    snapshot->end_status = message.status;
    return true;
}

/* ---- marks and windows ---------------------------------------------------------------------- */

RULES(mark_rules) = {
    {1, FIELD_U64, offsetof(DecodedMark, time_ns)},
    {2, FIELD_TEXT, offsetof(DecodedMark, text)},
    {3, FIELD_U32, offsetof(DecodedMark, thread_id)},
};

static bool on_mark(pb_istream_t *stream, Decoder *decoder, void *object)
{
    DecodedSnapshot *snapshot = object;
    DecodedMark *mark = vector_put(&snapshot->marks, decoder->budget);

    if (!mark)
        return out_of_memory(stream, decoder);
    *mark = (DecodedMark){.text = ""};
    return decode_fields(stream, decoder, RULE_COUNT(mark_rules), mark);
}

RULES(window_rules) = {
    {1, FIELD_U32, offsetof(DecodedWindow, window_id)},
    {2, FIELD_TEXT, offsetof(DecodedWindow, name)},
    {3, FIELD_U32, offsetof(DecodedWindow, scope)},
    {4, FIELD_U64, offsetof(DecodedWindow, begun)},
};

static bool on_window(pb_istream_t *stream, Decoder *decoder, void *object)
{
    DecodedSnapshot *snapshot = object;
    DecodedWindow *window = vector_put(&snapshot->windows, decoder->budget);

    if (!window)
        return out_of_memory(stream, decoder);
    *window = (DecodedWindow){.name = ""};
    return decode_fields(stream, decoder, RULE_COUNT(window_rules), window);
}

static bool on_row(pb_istream_t *stream, Decoder *decoder, void *object)
{
    memhawk_proto_WindowRow m;
    DecodedRow *slot;

    if (!DECODE_FLAT(stream, WindowRow, &m))
        return false;
    if (!(m.allocations | m.bytes | m.frees | m.freedBytes | m.temporary))
        return true; /* says nothing; a hostile file would make memory of it */
    slot = vector_put(&decoder->snapshot.rows, decoder->budget);
    if (!slot)
        return out_of_memory(stream, decoder);
    *slot = (DecodedRow){m.allocations, m.bytes, m.frees, m.freedBytes, m.temporary, m.traceId};
    ((DecodedShape *)object)->row_count++;
    return true;
}

RULES(shape_rules) = {
    {1, FIELD_U32, offsetof(DecodedShape, window_id)},
    {2, FIELD_U32, offsetof(DecodedShape, shape_id)},
    {3, FIELD_CALL, 0, on_row},
};

static bool on_shape(pb_istream_t *stream, Decoder *decoder, void *object)
{
    DecodedSnapshot *snapshot = object;
    DecodedShape *slot;
    DecodedShape shape = {.first_row = snapshot->rows.count};

    if (!decode_fields(stream, decoder, RULE_COUNT(shape_rules), &shape))
        return false;
    slot = vector_put(&snapshot->shapes, decoder->budget);
    if (!slot)
        return out_of_memory(stream, decoder);
    *slot = shape;
    return true;
}

static bool on_iterations(pb_istream_t *stream, Decoder *decoder, void *object)
{
    DecodedSnapshot *snapshot = object;
    memhawk_proto_WindowIterations m;
    DecodedIterations *slot;

    if (!DECODE_FLAT(stream, WindowIterations, &m))
        return false;
    slot = vector_put(&snapshot->iterations, decoder->budget);
    if (!slot)
        return out_of_memory(stream, decoder);
    *slot = (DecodedIterations){m.iterations,   m.durationNs, m.maxPeakBytes,
                                m.minPeakBytes, m.windowId,   m.shapeId};
    return true;
}

/* ---- Snapshot ------------------------------------------------------------------------------- */

/* The most frequent first: the search is linear. */
RULES(snapshot_rules) = {
    {2, FIELD_CALL, 0, on_change},
    {4, FIELD_CALL, 0, on_stack},
    {3, FIELD_CALL, 0, on_frame},
    {1, FIELD_U64, offsetof(DecodedSnapshot, time_ns)},
    {5, FIELD_CALL, 0, on_module},
    {6, FIELD_CALL, 0, on_process},
    {7, FIELD_CALL, 0, on_total},
    {100, FIELD_U32, offsetof(DecodedSnapshot, kind)},
    {101, FIELD_U64, offsetof(DecodedSnapshot, rss_bytes)},
    {102, FIELD_U64, offsetof(DecodedSnapshot, peak_bytes)},
    {103, FIELD_U64, offsetof(DecodedSnapshot, peak_time_ns)},
    {104, FIELD_CALL, 0, on_losses},
    {105, FIELD_CALL, 0, on_end},
    {106, FIELD_U64, offsetof(DecodedSnapshot, own_bytes)},
    {107, FIELD_U32, offsetof(DecodedSnapshot, threads)},
    {108, FIELD_CALL, 0, on_mark},
    {109, FIELD_CALL, 0, on_window},
    {110, FIELD_CALL, 0, on_shape},
    {111, FIELD_CALL, 0, on_iterations},
    {112, FIELD_CALL, 0, on_inherited},
};

#define VECTOR_RECYCLE(vector, budget)                                                             \
    do {                                                                                           \
        if ((vector)->capacity * sizeof *(vector)->items > KEEP_BYTES_MAX)                         \
            vector_done(vector, budget);                                                           \
        (vector)->count = 0;                                                                       \
    } while (0)

/* Every list of a snapshot, for what is done to all of them. */
#define SNAPSHOT_LISTS(DO, s, budget)                                                              \
    DO(&(s)->changes, budget);                                                                     \
    DO(&(s)->frames, budget);                                                                      \
    DO(&(s)->stacks, budget);                                                                      \
    DO(&(s)->ptr_ids, budget);                                                                     \
    DO(&(s)->modules, budget);                                                                     \
    DO(&(s)->segments, budget);                                                                    \
    DO(&(s)->marks, budget);                                                                       \
    DO(&(s)->windows, budget);                                                                     \
    DO(&(s)->shapes, budget);                                                                      \
    DO(&(s)->rows, budget);                                                                        \
    DO(&(s)->iterations, budget)

static void snapshot_reset(Decoder *decoder)
{
    DecodedSnapshot *s = &decoder->snapshot;

    SNAPSHOT_LISTS(VECTOR_RECYCLE, s, decoder->budget);
    s->time_ns = s->rss_bytes = s->own_bytes = s->peak_bytes = s->peak_time_ns = 0;
    s->kind = s->threads = s->end_reason = 0;
    s->end_status = 0;
    s->has_process = s->has_total = s->has_losses = s->has_end = s->has_inherited = false;
    s->process = process_empty;
    s->total = s->inherited = (DecodedAllocs){0};
    s->losses = (DecodedLosses){0};
}

/* ---- entry points --------------------------------------------------------------------------- */

static bool stream_read(pb_istream_t *stream, pb_byte_t *buffer, size_t bytes)
{
    Decoder *decoder = stream->state;
    long n = decoder->read(decoder->context, buffer, bytes);

    if (n < 0)
        decoder->error = (int)n;
    else if ((size_t)n == bytes)
        return true;
    decoder->ended = true;
    if (n == 0)
        stream->bytes_left = 0; /* how nanopb learns of the end */
    return false;
}

static pb_istream_t stream_open(Decoder *decoder, DecodeRead read, void *context)
{
    VECTOR_RECYCLE(&decoder->arguments, decoder->budget);
    pool_reset(&decoder->pool);
    snapshot_reset(decoder);
    decoder->read = read;
    decoder->context = context;
    decoder->ended = false;
    decoder->error = 0;
    decoder->message[0] = 0;
    return (pb_istream_t){.callback = stream_read, .state = decoder, .bytes_left = SIZE_MAX};
}

/* An error of the source or of memory may look like the end to nanopb: it goes first. */
static int stream_close(Decoder *decoder, pb_istream_t *stream, bool ok)
{
    if (ok && !decoder->error)
        return 0;
    snprintf(decoder->message, sizeof decoder->message, "%s", PB_GET_ERROR(stream));
    return decoder->error ? decoder->error : -EBADMSG;
}

int decoder_new(MemoryBudget *budget, Decoder **ret_decoder)
{
    Decoder *decoder = calloc(1, sizeof *decoder);

    if (!decoder)
        return -ENOMEM;
    decoder->budget = budget;
    decoder->pool.budget = budget;
    *ret_decoder = decoder;
    return 0;
}

void decoder_free(Decoder *decoder)
{
    if (!decoder)
        return;
    SNAPSHOT_LISTS(vector_done, &decoder->snapshot, decoder->budget);
    vector_done(&decoder->arguments, decoder->budget);
    pool_done(&decoder->pool);
    free(decoder);
}

int decode_process(Decoder *decoder, DecodeRead read, void *context,
                   const DecodedProcess **ret_process)
{
    pb_istream_t stream = stream_open(decoder, read, context);
    bool ok = process_fields(&stream, decoder, &decoder->process);
    int ret = stream_close(decoder, &stream, ok);

    if (ret == 0)
        *ret_process = &decoder->process;
    return ret;
}

int decode_snapshot(Decoder *decoder, DecodeRead read, void *context,
                    const DecodedSnapshot **ret_snapshot)
{
    pb_istream_t stream = stream_open(decoder, read, context);
    bool ok = decode_fields(&stream, decoder, RULE_COUNT(snapshot_rules), &decoder->snapshot);
    int ret = stream_close(decoder, &stream, ok);

    if (ret == 0)
        *ret_snapshot = &decoder->snapshot;
    return ret;
}

const char *decode_message(const Decoder *decoder)
{
    return decoder->message;
}
