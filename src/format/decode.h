// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/reader_pool.h"

/*
 * Decodes the protobuf messages of a profile file (memhawk.proto, docs/FORMAT.md) from a stream of
 * bytes. A record is decoded whole into plain arrays, in whatever order its fields come, before
 * anything is believed: the model takes it or leaves it. Unknown fields are skipped; a known field
 * with the wrong wire type, a number that does not fit or a cut message make the record bad.
 */

#define DECODE_TEXT_MAX  (64u << 10) /* bytes of one string */
#define DECODE_DEPTH_MAX (1u << 20)  /* frames of one stack */

typedef struct DecodedAllocs {
    int64_t live_bytes, live_count, overhead_bytes;
    uint64_t total_count, total_bytes, temporary_count;
} DecodedAllocs;

/* Strings are "" when absent, never NULL. */
typedef struct DecodedProcess {
    const char *short_name, *full_path, *writer, *host_name, *unwind_mode, *allocator, *warning;
    const char *const *arguments;
    size_t argument_count;
    uint64_t start_ns;
    uint32_t pid, parent_pid, format_version, interval_ms, max_depth, granule_bytes;
    bool forked;
} DecodedProcess;

typedef struct DecodedChange {
    uint32_t trace_id;
    DecodedAllocs now;
} DecodedChange;

typedef struct DecodedFrame {
    uint64_t address;
    uint32_t ptr_id, module_id;
    bool exact;
} DecodedFrame;

typedef struct DecodedStack {
    size_t first, depth; /* in `ptr_ids`, leaf first */
    uint32_t trace_id, flags;
} DecodedStack;

typedef struct DecodedSegment {
    uint64_t addr, size;
} DecodedSegment;

typedef struct DecodedModule {
    const char *path;
    const uint8_t *build_id;
    size_t build_id_size;
    size_t first_segment, segment_count; /* in `segments` */
    uint64_t bias, load_ns, unload_ns, inode, device;
    uint32_t module_id;
    bool deleted;
} DecodedModule;

typedef struct DecodedMark {
    uint64_t time_ns;
    const char *text;
    uint32_t thread_id;
} DecodedMark;

typedef struct DecodedWindow {
    const char *name;
    uint64_t begun;
    uint32_t window_id, scope;
} DecodedWindow;

typedef struct DecodedRow {
    uint64_t allocations, bytes, frees, freed_bytes, temporary;
    uint32_t trace_id;
} DecodedRow;

typedef struct DecodedShape {
    size_t first_row, row_count; /* in `rows` */
    uint32_t window_id, shape_id;
} DecodedShape;

typedef struct DecodedIterations {
    uint64_t iterations, duration_ns, max_peak_bytes, min_peak_bytes;
    uint32_t window_id, shape_id;
} DecodedIterations;

typedef struct DecodedLosses {
    uint64_t stack_table_full, live_map_full, missed_frees, write_failed, reentrant_skipped,
        depth_cut, unwind_ended, windows_dropped;
} DecodedLosses;

typedef struct DecodedSnapshot {
    uint64_t time_ns;
    uint64_t rss_bytes, own_bytes, peak_bytes, peak_time_ns;
    uint32_t kind, threads;
    bool has_process, has_total, has_losses, has_end, has_inherited;
    DecodedProcess process;
    DecodedAllocs total, inherited;
    DecodedLosses losses;
    uint32_t end_reason;
    int32_t end_status;
    VECTOR(DecodedChange) changes;
    VECTOR(DecodedFrame) frames;
    VECTOR(DecodedStack) stacks;
    VECTOR(uint32_t) ptr_ids;
    VECTOR(DecodedModule) modules;
    VECTOR(DecodedSegment) segments;
    VECTOR(DecodedMark) marks;
    VECTOR(DecodedWindow) windows;
    VECTOR(DecodedShape) shapes;
    VECTOR(DecodedRow) rows;
    VECTOR(DecodedIterations) iterations;
} DecodedSnapshot;

/* Where the bytes come from: BYTES, fewer only at the end, or negative errno. */
typedef long (*DecodeRead)(void *context, uint8_t *buffer, size_t bytes);

/* Bytes that the source has ready in memory, behind those read; READ with BUFFER NULL takes them.
 */
typedef size_t (*DecodeReady)(void *context, const uint8_t **ret_bytes);

typedef struct Decoder Decoder;

/* All that one record may decode to counts against BUDGET, which must outlive the decoder. */
int decoder_new(MemoryBudget *budget, Decoder **ret_decoder);
void decoder_free(Decoder *decoder);
/* READY, of the same context as each READ, lets long lists be decoded where they lie, which takes
 * half as long. */
void decoder_set_ready(Decoder *decoder, DecodeReady ready);

/*
 * Each decodes one message to its end. The result belongs to the decoder and lives until the next
 * call. -EBADMSG: not such a message; -ENOMEM: over budget; else what READ returned.
 */
int decode_process(Decoder *decoder, DecodeRead read, void *context,
                   const DecodedProcess **ret_process);
int decode_snapshot(Decoder *decoder, DecodeRead read, void *context,
                    const DecodedSnapshot **ret_snapshot);
/* Why the last call failed. */
const char *decode_message(const Decoder *decoder);
