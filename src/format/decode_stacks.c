// SPDX-License-Identifier: Apache-2.0
/*
 * The lists that fill most files: changed figures of stacks, frames, stacks. Changes come by the
 * million, so they have a way of their own past nanopb; frames and stacks come once each.
 */
#include "format/decode_fields.h"

DecodedAllocs decode_allocs_from(const memhawk_proto_AllocSummary *summary)
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

/*
 * Changes are all but the whole of most files, and nanopb takes about a microsecond for one. So the
 * usual shape is read straight from memory: known fields only, each a number, `actual` at most
 * once. Anything else returns false, right or wrong, and is left to nanopb.
 */
static const uint8_t *long_varint(const uint8_t *p, const uint8_t *end, uint64_t *ret_value)
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

/* Most are of one or two bytes. */
static inline const uint8_t *quick_varint(const uint8_t *p, const uint8_t *end, uint64_t *ret_value)
{
    if (end - p < 2 || (p[0] & p[1] & 0x80))
        return long_varint(p, end, ret_value);
    if (!(p[0] & 0x80)) {
        *ret_value = p[0];
        return p + 1;
    }
    *ret_value = (uint64_t)(p[0] & 0x7f) | (uint64_t)p[1] << 7;
    return p + 2;
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
    change->now = decode_allocs_from(&message.actual);
    return true;
}

enum { CHANGE_TAG = 2 << 3 | PB_WT_STRING, CHANGE_BYTES = 96 };

/*
 * Changes follow each other: those that lie whole in the source's memory, in the usual shape, are
 * taken without asking nanopb for each tag and length. The stream that called is that of a
 * snapshot, which ends where its source does, so it need not know how much was taken.
 */
static bool take_ready_changes(pb_istream_t *stream, Decoder *decoder, DecodedSnapshot *snapshot)
{
    const uint8_t *start, *p;
    size_t left = decoder->ready(decoder->context, &start);

    for (p = start; left >= 2 && p[0] == CHANGE_TAG && p[1] <= CHANGE_BYTES;) {
        size_t bytes = 2 + (size_t)p[1];
        DecodedChange *change;
        if (bytes > left)
            break;
        change = vector_put(&snapshot->changes, decoder->budget);
        if (!change)
            return decode_out_of_memory(stream, decoder);
        if (!quick_change(p + 2, p + bytes, change)) {
            snapshot->changes.count--;
            break;
        }
        p += bytes;
        left -= bytes;
    }
    return p == start || decoder->read(decoder->context, NULL, (size_t)(p - start)) == p - start;
}

bool decode_change(pb_istream_t *stream, Decoder *decoder, void *object)
{
    DecodedSnapshot *snapshot = object;
    DecodedChange *change = vector_put(&snapshot->changes, decoder->budget);
    size_t bytes = stream->bytes_left;
    pb_istream_t copy;
    uint8_t buffer[CHANGE_BYTES];

    if (!change)
        return decode_out_of_memory(stream, decoder);
    if (bytes > sizeof buffer)
        return slow_change(stream, change);
    if (!pb_read(stream, buffer, bytes))
        return false;
    if (quick_change(buffer, buffer + bytes, change))
        return !decoder->ready || take_ready_changes(stream, decoder, snapshot);
    copy = pb_istream_from_buffer(buffer, bytes);
    if (slow_change(&copy, change))
        return true;
    PB_SET_ERROR(stream, PB_GET_ERROR(&copy));
    return false;
}

bool decode_frame(pb_istream_t *stream, Decoder *decoder, void *object)
{
    DecodedSnapshot *snapshot = object;
    memhawk_proto_StacktracePtr message;
    DecodedFrame *frame;

    if (!DECODE_FLAT(stream, StacktracePtr, &message))
        return false;
    frame = vector_put(&snapshot->frames, decoder->budget);
    if (!frame)
        return decode_out_of_memory(stream, decoder);
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
        return decode_out_of_memory(stream, decoder);
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
        rule = decode_rule_find(RULE_COUNT(numbers), tag);
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

bool decode_stack(pb_istream_t *stream, Decoder *decoder, void *object)
{
    DecodedSnapshot *snapshot = object;
    DecodedStack *slot;
    DecodedStack stack = {.first = snapshot->ptr_ids.count};

    if (!stack_fields(stream, decoder, &stack))
        return false;
    slot = vector_put(&snapshot->stacks, decoder->budget);
    if (!slot)
        return decode_out_of_memory(stream, decoder);
    *slot = stack;
    return true;
}
