// SPDX-License-Identifier: Apache-2.0
/*
 * Marks and measurement windows: definitions, shapes (the rows of figures that iterations have in
 * common), and how many iterations had which shape. Few to a record, so all go the general way.
 */
#include "format/decode_fields.h"

RULES(mark_rules) = {
    {1, FIELD_U64, offsetof(DecodedMark, time_ns)},
    {2, FIELD_TEXT, offsetof(DecodedMark, text)},
    {3, FIELD_U32, offsetof(DecodedMark, thread_id)},
};

bool decode_mark(pb_istream_t *stream, Decoder *decoder, void *object)
{
    DecodedSnapshot *snapshot = object;
    DecodedMark *mark = vector_put(&snapshot->marks, decoder->budget);

    if (!mark)
        return decode_out_of_memory(stream, decoder);
    *mark = (DecodedMark){.text = ""};
    return decode_fields(stream, decoder, RULE_COUNT(mark_rules), mark);
}

RULES(window_rules) = {
    {1, FIELD_U32, offsetof(DecodedWindow, window_id)},
    {2, FIELD_TEXT, offsetof(DecodedWindow, name)},
    {3, FIELD_U32, offsetof(DecodedWindow, scope)},
    {4, FIELD_U64, offsetof(DecodedWindow, begun)},
};

bool decode_window(pb_istream_t *stream, Decoder *decoder, void *object)
{
    DecodedSnapshot *snapshot = object;
    DecodedWindow *window = vector_put(&snapshot->windows, decoder->budget);

    if (!window)
        return decode_out_of_memory(stream, decoder);
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
        return decode_out_of_memory(stream, decoder);
    *slot = (DecodedRow){m.allocations, m.bytes, m.frees, m.freedBytes, m.temporary, m.traceId};
    ((DecodedShape *)object)->row_count++;
    return true;
}

RULES(shape_rules) = {
    {1, FIELD_U32, offsetof(DecodedShape, window_id)},
    {2, FIELD_U32, offsetof(DecodedShape, shape_id)},
    {3, FIELD_CALL, 0, on_row},
};

bool decode_shape(pb_istream_t *stream, Decoder *decoder, void *object)
{
    DecodedSnapshot *snapshot = object;
    DecodedShape *slot;
    DecodedShape shape = {.first_row = snapshot->rows.count};

    if (!decode_fields(stream, decoder, RULE_COUNT(shape_rules), &shape))
        return false;
    slot = vector_put(&snapshot->shapes, decoder->budget);
    if (!slot)
        return decode_out_of_memory(stream, decoder);
    *slot = shape;
    return true;
}

bool decode_iterations(pb_istream_t *stream, Decoder *decoder, void *object)
{
    DecodedSnapshot *snapshot = object;
    memhawk_proto_WindowIterations m;
    DecodedIterations *slot;

    if (!DECODE_FLAT(stream, WindowIterations, &m))
        return false;
    slot = vector_put(&snapshot->iterations, decoder->budget);
    if (!slot)
        return decode_out_of_memory(stream, decoder);
    *slot = (DecodedIterations){m.iterations,   m.durationNs, m.maxPeakBytes,
                                m.minPeakBytes, m.windowId,   m.shapeId};
    return true;
}
