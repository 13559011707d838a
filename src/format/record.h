// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Framing of a profile file: 8 bytes big-endian length, then that many bytes, which are exactly one
 * zstd frame (docs/FORMAT.md). Reads through pread(), so a growing or shrinking file is never
 * mapped. Unpacks as a stream: memory is bounded by zstd's window (at most 128 MiB) and two
 * buffers.
 */

#define RECORD_HEADER_BYTES   8
#define RECORD_PACKED_MAX     (UINT64_C(1) << 30) /* bytes after the header */
#define RECORD_UNPACKED_MAX   (UINT64_C(1) << 30)
#define RECORD_EXPANSION_MAX  1000 /* unpacked <= FREE + EXPANSION * packed */
#define RECORD_EXPANSION_FREE (UINT64_C(16) << 20)

/*
 * Looks for a record at OFFSET of FD, of which FILE_BYTES exist. 1 and its payload's length when it
 * is all there, 0 when it is cut or OFFSET is the end, -EBADMSG when what is there cannot be a
 * record, another negative errno when reading failed.
 */
int record_find(int fd, uint64_t offset, uint64_t file_bytes, uint64_t *ret_payload_bytes);

/*
 * Whether a record can be at OFFSET, judged by its length and the first bytes of its payload as far
 * as they exist; true at the end of the file. For going on behind a bad record.
 */
bool record_may_begin(int fd, uint64_t offset, uint64_t file_bytes);

typedef struct RecordReader RecordReader;

int record_new(RecordReader **ret_reader);
void record_free(RecordReader *reader);

/* Starts on the payload at OFFSET; may be called again at any time for another record. */
int record_begin(RecordReader *reader, int fd, uint64_t offset, uint64_t payload_bytes);

/*
 * Next unpacked bytes: BYTES, or fewer only at the end; 0 at the end, by when the frame was found
 * complete, its checksum right (if it has one) and nothing behind it. Negative errno: -EBADMSG
 * broken, -E2BIG over a limit; it stays, and record_message() says what it was.
 */
long record_read(RecordReader *reader, uint8_t *buffer, size_t bytes);
/* Unpacked bytes that lie ready behind what was read, which may be none though more come; they stay
 * until the next call. record_read() with a NULL buffer takes them. */
size_t record_ready(const RecordReader *reader, const uint8_t **ret_bytes);
const char *record_message(const RecordReader *reader);
