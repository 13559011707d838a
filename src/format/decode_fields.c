// SPDX-License-Identifier: Apache-2.0
/*
 * The decoder's loop. A message with text or lists is a table of FieldRule (tag, kind, where it
 * goes): numbers and texts are stored by the loop itself, anything else goes to a handler with a
 * stream of its own bytes. The tables exist because nanopb hands a callback its field without the
 * wire type, and a field of the wrong type must not be taken for a message.
 *
 * Cost: a tag and a linear search a field; texts are copied once, into the decoder's pool.
 */
#include "format/decode_fields.h"

#include <errno.h>

bool decode_out_of_memory(pb_istream_t *stream, Decoder *decoder)
{
    decoder->error = -ENOMEM;
    PB_RETURN_ERROR(stream, "it needs more memory than is allowed");
}

bool decode_text(pb_istream_t *stream, Decoder *decoder, const char **ret_text)
{
    size_t bytes = stream->bytes_left;
    char *text;

    if (bytes > DECODE_TEXT_MAX)
        PB_RETURN_ERROR(stream, "text too long");
    text = pool_take(&decoder->pool, bytes + 1);
    if (!text)
        return decode_out_of_memory(stream, decoder);
    if (!pb_read(stream, (pb_byte_t *)text, bytes))
        return false;
    text[bytes] = 0;
    *ret_text = text;
    return true;
}

bool decode_delimited(pb_istream_t *stream, Decoder *decoder, const FieldRule *rule, void *object)
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

bool decode_number(pb_istream_t *stream, const FieldRule *rule, void *object)
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

const FieldRule *decode_rule_find(const FieldRule *rules, size_t count, uint32_t tag)
{
    for (size_t i = 0; i < count; i++) {
        if (rules[i].tag == tag)
            return &rules[i];
    }
    return NULL;
}

bool decode_fields(pb_istream_t *stream, Decoder *decoder, const FieldRule *rules, size_t count,
                   void *object)
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
        rule = decode_rule_find(rules, count, tag);
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
