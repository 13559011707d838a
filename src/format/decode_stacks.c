// SPDX-License-Identifier: Apache-2.0
/*
 * The lists that fill most files: changed figures of stacks, frames, stacks. Changes come by the
 * million, so they have a way of their own past nanopb; frames and stacks come once each.
 */
#include "format/decode_fields.h"
#include "format/varint.h"

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
 * usual shape is read straight from memory: known fields only, each a number and at most once, in
 * rising order as every encoder writes them. Anything else returns false, right or wrong, and is
 * left to nanopb.
 *
 * A field that is not there is known by the byte at its place, which may lie behind the change, and
 * numbers are read by words: QUICK_BEHIND bytes behind END must be readable. What was taken from
 * there makes the end wrong, so nothing of it is believed.
 */
enum { QUICK_BEHIND = 64 }; /* > 6 fields of 2 + 8 bytes, and a word */

/* The number behind the tag at P if it is TAG, else *ret_value stays. */
static inline const uint8_t *quick_field(const uint8_t *p, unsigned tag, uint64_t *ret_value)
{
    if (*p != tag)
        return p;
    return varint_get_word(p + 1, ret_value);
}

static bool quick_allocs(const uint8_t *p, const uint8_t *end, DecodedAllocs *allocs)
{
    enum { TEMPORARY_1 = 0xa0, TEMPORARY_2 = 0x06 }; /* field 100 takes two bytes */
    uint64_t live_bytes = 0, live_count = 0, overhead = 0, count = 0, bytes = 0, temporary = 0;

    if (!(p = quick_field(p, 1 << 3, &live_bytes)) || !(p = quick_field(p, 2 << 3, &live_count)) ||
        !(p = quick_field(p, 3 << 3, &overhead)) || !(p = quick_field(p, 4 << 3, &count)) ||
        !(p = quick_field(p, 5 << 3, &bytes)))
        return false;
    if (p < end && p[0] == TEMPORARY_1 &&
        !(p = p[1] == TEMPORARY_2 ? varint_get_word(p + 2, &temporary) : NULL))
        return false;
    *allocs = (DecodedAllocs){
        .live_bytes = (int64_t)live_bytes,
        .live_count = (int64_t)live_count,
        .overhead_bytes = (int64_t)overhead,
        .total_count = count,
        .total_bytes = bytes,
        .temporary_count = temporary,
    };
    return p == end;
}

static inline bool quick_change(const uint8_t *p, const uint8_t *end, DecodedChange *change)
{
    uint64_t id;

    if (p == end || *p++ != (1 << 3))
        return false;
    p = varint_get_word(p, &id);
    if (!p || end - p < 2 || id > UINT32_MAX)
        return false;
    change->trace_id = (uint32_t)id;
    return p[0] == (2 << 3 | PB_WT_STRING) && p[1] == end - p - 2 &&
           quick_allocs(p + 2, end, &change->now);
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
        if (bytes + QUICK_BEHIND > left)
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
    uint8_t buffer[CHANGE_BYTES + QUICK_BEHIND];

    if (!change)
        return decode_out_of_memory(stream, decoder);
    if (bytes > CHANGE_BYTES)
        return slow_change(stream, change);
    if (!pb_read(stream, buffer, bytes))
        return false;
    memset(buffer + bytes, 0, QUICK_BEHIND);
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
