// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "format/decode.h"
#include "format/record.h"

/*
 * Snapshots of a file that is there, unpacked and decoded by a thread of its own while the caller
 * takes in the ones before. It only ever hurries what the caller could do itself: of a record that
 * it cannot decode it says so, and the caller reads that one by record_snapshot() to learn why.
 */

/* One record through READER and DECODER; errors are those of both, record_message() and
 * decode_message() say which. The result lives as long as decode_snapshot()'s. */
int record_snapshot(RecordReader *reader, Decoder *decoder, int fd, uint64_t offset,
                    uint64_t payload_bytes, const DecodedSnapshot **ret_snapshot);

typedef struct ReadAhead ReadAhead;

typedef struct AheadRecord {
    uint64_t offset, payload_bytes;
    const DecodedSnapshot *snapshot; /* NULL: it could not be decoded here; read it yourself */
} AheadRecord;

/*
 * Starts on the records from OFFSET, as far as they lie within the first FILE_BYTES. FD must stay
 * open until read_ahead_free(); it is read by pread() only. -EAGAIN: not worth a thread, since
 * there is one processor only, or so many are at work already (of the whole process); other errors:
 * no thread or memory.
 */
int read_ahead_new(int fd, uint64_t offset, uint64_t file_bytes, ReadAhead **ret_ahead);
/* Ends the thread, which may take as long as one record. NULL is fine. */
void read_ahead_free(ReadAhead *ahead);

/* The next record, in the order of the file; what the one before gave is void. May wait. False: all
 * that can be found ahead has been taken, be it the end or something that is no record. */
bool read_ahead_next(ReadAhead *ahead, AheadRecord *ret_record);
