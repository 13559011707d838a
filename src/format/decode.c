// SPDX-License-Identifier: Apache-2.0
/*
 * Protobuf decoder of the reading side, on nanopb's stream primitives: the two messages of a file,
 * ProcessInfo and Snapshot, and what is in them but for the lists of decode_stacks.c and
 * decode_windows.c. Messages that hold text or lists are run by the loop of decode_fields.c; the
 * small fixed messages inside them go through nanopb's own descriptors, generated from
 * memhawk.proto.
 *
 * Cost: one pass, no copy of the message; every list is one array that is kept and reused from
 * record to record, so a steady stream of snapshots does not allocate.
 */
#include "format/decode.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "format/decode_fields.h"

/* Arrays larger than this are given back after a record: few files need them twice. */
#define KEEP_BYTES_MAX ((size_t)8 << 20)

/* ---- ProcessInfo ---------------------------------------------------------------------------- */

static bool on_argument(pb_istream_t *stream, Decoder *decoder, void *object)
{
    const char **slot = vector_put(&decoder->arguments, decoder->budget);

    (void)object;
    if (!slot)
        return decode_out_of_memory(stream, decoder);
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

/* ---- modules, parts that occur once ---------------------------------------------------------- */

static bool on_segment(pb_istream_t *stream, Decoder *decoder, void *object)
{
    memhawk_proto_ElfInfo_Segment message;
    DecodedSegment *slot;

    if (!DECODE_FLAT(stream, ElfInfo_Segment, &message))
        return false;
    slot = vector_put(&decoder->snapshot.segments, decoder->budget);
    if (!slot)
        return decode_out_of_memory(stream, decoder);
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
        return decode_out_of_memory(stream, decoder);
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
    *ret_allocs = decode_allocs_from(&message);
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

/* ---- Snapshot ------------------------------------------------------------------------------- */

/* The most frequent first: the search is linear. */
RULES(snapshot_rules) = {
    {2, FIELD_CALL, 0, decode_change},
    {4, FIELD_CALL, 0, decode_stack},
    {3, FIELD_CALL, 0, decode_frame},
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
    {108, FIELD_CALL, 0, decode_mark},
    {109, FIELD_CALL, 0, decode_window},
    {110, FIELD_CALL, 0, decode_shape},
    {111, FIELD_CALL, 0, decode_iterations},
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

void decoder_set_ready(Decoder *decoder, DecodeReady ready)
{
    decoder->ready = ready;
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
