// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pb_decode.h>
#include <string.h>

#include "base/bits.h"
#include "format/decode.h"
#include "memhawk.pb.h"

/*
 * Inside the decoder only: the loop over the fields of one message, driven by a table, and what the
 * files of handlers share. Functions return false with an error in the stream, as nanopb's do.
 */

struct Decoder {
    MemoryBudget *budget;
    Pool pool; /* texts of the current record */
    DecodedSnapshot snapshot;
    DecodedProcess process;
    VECTOR(const char *) arguments;
    DecodeRead read;
    DecodeReady ready; /* may be NULL */
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

/* Sets the decoder's error too: memory goes before whatever the stream says. Always false. */
bool decode_out_of_memory(pb_istream_t *stream, Decoder *decoder);

/*
 * All fields to the end of STREAM, each as its rule says, into OBJECT; a tag without a rule is
 * skipped. The search is linear: put the frequent ones first.
 */
bool decode_fields(pb_istream_t *stream, Decoder *decoder, const FieldRule *rules, size_t count,
                   void *object);

/* Parts of the loop, for messages that it does not fit. */
const FieldRule *decode_rule_find(const FieldRule *rules, size_t count, uint32_t tag);
bool decode_number(pb_istream_t *stream, const FieldRule *rule, void *object);
bool decode_delimited(pb_istream_t *stream, Decoder *decoder, const FieldRule *rule, void *object);
/* The rest of STREAM as a text that lives as long as the record. */
bool decode_text(pb_istream_t *stream, Decoder *decoder, const char **ret_text);

/* A message of numbers only, through its nanopb descriptor. */
#define DECODE_FLAT(stream, name, message)                                                         \
    (memset(message, 0, sizeof *(message)),                                                        \
     pb_decode_ex(stream, memhawk_proto_##name##_fields, message, PB_DECODE_NOINIT))

/* Handlers (FieldHandler) of a Snapshot's lists; OBJECT is the DecodedSnapshot. */

DecodedAllocs decode_allocs_from(const memhawk_proto_AllocSummary *summary);
/* decode_stacks.c */
bool decode_change(pb_istream_t *stream, Decoder *decoder, void *object);
bool decode_frame(pb_istream_t *stream, Decoder *decoder, void *object);
bool decode_stack(pb_istream_t *stream, Decoder *decoder, void *object);
/* decode_windows.c */
bool decode_mark(pb_istream_t *stream, Decoder *decoder, void *object);
bool decode_window(pb_istream_t *stream, Decoder *decoder, void *object);
bool decode_shape(pb_istream_t *stream, Decoder *decoder, void *object);
bool decode_iterations(pb_istream_t *stream, Decoder *decoder, void *object);
