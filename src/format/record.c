// SPDX-License-Identifier: Apache-2.0
/*
 * Reads records of a profile file. The payload goes through a file buffer, zstd's streaming
 * decoder and an output buffer; nothing that the file says about sizes is trusted: the length of a
 * record is checked against a limit and the file, zstd's window is capped, and the bytes that come
 * out are counted as they come. The frame checksum is verified by libzstd, which reports the end of
 * a frame only after it matched. One pread() per 128 KiB. For one thread at a time.
 */
#include "format/record.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "base/bits.h"

enum { FILE_BUFFER_BYTES = 128 << 10, OUT_BUFFER_BYTES = 128 << 10, WINDOW_LOG_MAX = 27 };

struct RecordReader {
    ZSTD_DCtx *zstd;
    int fd;
    uint64_t offset;   /* of the next byte to read from the file */
    uint64_t left;     /* payload bytes not yet read from the file */
    uint64_t unpacked; /* bytes that came out so far */
    uint64_t unpacked_limit;
    ZSTD_inBuffer in;
    size_t out_used, out_filled;
    bool frame_done;
    int error; /* sticky, negative errno */
    char message[160];
    uint8_t in_buffer[FILE_BUFFER_BYTES];
    uint8_t out_buffer[OUT_BUFFER_BYTES];
};

/* BYTES bytes, fewer only at the end of the file, or negative errno. */
static long read_at(int fd, uint64_t offset, void *buffer, size_t bytes)
{
    size_t done = 0;

    while (done < bytes) {
        ssize_t n = pread(fd, (char *)buffer + done, bytes - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        done += (size_t)n;
    }
    return (long)done;
}

int record_find(int fd, uint64_t offset, uint64_t file_bytes, uint64_t *ret_payload_bytes)
{
    uint8_t header[RECORD_HEADER_BYTES];
    uint64_t payload;
    long n;

    if (offset > file_bytes || file_bytes - offset < RECORD_HEADER_BYTES)
        return 0;
    n = read_at(fd, offset, header, sizeof header);
    if (n < 0)
        return (int)n;
    if (n < RECORD_HEADER_BYTES)
        return 0;
    payload = load_be64(header);
    if (payload == 0 || payload > RECORD_PACKED_MAX)
        return -EBADMSG;
    if (file_bytes - offset - RECORD_HEADER_BYTES < payload)
        return 0;
    *ret_payload_bytes = payload;
    return 1;
}

static bool is_zstd_magic(const uint8_t *p)
{
    return (p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24) == ZSTD_MAGICNUMBER;
}

bool record_may_begin(int fd, uint64_t offset, uint64_t file_bytes)
{
    uint8_t magic[4];
    uint64_t payload;
    long n;

    if (record_find(fd, offset, file_bytes, &payload) < 0 || offset > file_bytes)
        return false;
    n = read_at(fd, offset + RECORD_HEADER_BYTES, magic, sizeof magic);
    return n >= 0 && (n < (long)sizeof magic || is_zstd_magic(magic));
}

int record_new(RecordReader **ret_reader)
{
    RecordReader *reader = calloc(1, sizeof *reader);

    if (!reader)
        return -ENOMEM;
    reader->zstd = ZSTD_createDCtx();
    if (!reader->zstd ||
        ZSTD_isError(ZSTD_DCtx_setParameter(reader->zstd, ZSTD_d_windowLogMax, WINDOW_LOG_MAX))) {
        record_free(reader);
        return -ENOMEM;
    }
    *ret_reader = reader;
    return 0;
}

void record_free(RecordReader *reader)
{
    if (!reader)
        return;
    ZSTD_freeDCtx(reader->zstd);
    free(reader);
}

static int fail(RecordReader *reader, int error, const char *what, const char *detail)
{
    reader->error = error;
    snprintf(reader->message, sizeof reader->message, "%s%s", what, detail);
    return error;
}

static int refill(RecordReader *reader)
{
    size_t want = reader->left < FILE_BUFFER_BYTES ? (size_t)reader->left : FILE_BUFFER_BYTES;
    long n = read_at(reader->fd, reader->offset, reader->in_buffer, want);

    if (n < 0)
        return fail(reader, (int)n, "read: ", strerror((int)-n));
    if ((size_t)n < want)
        return fail(reader, -ESTALE, "the file became shorter while it was read", "");
    reader->offset += want;
    reader->left -= want;
    reader->in = (ZSTD_inBuffer){.src = reader->in_buffer, .size = want};
    return 0;
}

int record_begin(RecordReader *reader, int fd, uint64_t offset, uint64_t payload_bytes)
{
    uint64_t limit = RECORD_EXPANSION_FREE + RECORD_EXPANSION_MAX * payload_bytes;
    int ret;

    ZSTD_DCtx_reset(reader->zstd, ZSTD_reset_session_only);
    reader->fd = fd;
    reader->offset = offset;
    reader->left = payload_bytes;
    reader->unpacked = 0;
    reader->unpacked_limit = limit < RECORD_UNPACKED_MAX ? limit : RECORD_UNPACKED_MAX;
    reader->out_used = reader->out_filled = 0;
    reader->frame_done = false;
    reader->error = 0;
    reader->message[0] = 0;

    ret = refill(reader);
    if (ret < 0)
        return ret;
    if (reader->in.size < 4 || !is_zstd_magic(reader->in_buffer))
        return fail(reader, -EBADMSG, "the record does not hold a zstd frame", "");
    return 0;
}

/* Fills the output buffer; it may stay empty at the end of the frame. */
static int unpack(RecordReader *reader)
{
    ZSTD_outBuffer out = {.dst = reader->out_buffer, .size = OUT_BUFFER_BYTES};

    while (out.pos == 0 && !reader->frame_done) {
        size_t left;
        size_t before = reader->in.pos;
        int ret;

        if (reader->in.pos == reader->in.size && reader->left > 0) {
            ret = refill(reader);
            if (ret < 0)
                return ret;
            before = 0;
        }
        left = ZSTD_decompressStream(reader->zstd, &out, &reader->in);
        if (ZSTD_isError(left))
            return fail(reader, -EBADMSG, "zstd: ", ZSTD_getErrorName(left));
        reader->frame_done = left == 0;
        if (left != 0 && out.pos == 0 && reader->in.pos == before && reader->left == 0)
            return fail(reader, -EBADMSG, "the zstd frame is cut", "");
    }
    if (reader->frame_done && (reader->left > 0 || reader->in.pos < reader->in.size))
        return fail(reader, -EBADMSG, "bytes follow the zstd frame inside the record", "");
    reader->unpacked += out.pos;
    if (reader->unpacked > reader->unpacked_limit)
        return fail(reader, -E2BIG, "the record unpacks to more than is allowed", "");
    reader->out_used = 0;
    reader->out_filled = out.pos;
    return 0;
}

long record_read(RecordReader *reader, uint8_t *buffer, size_t bytes)
{
    size_t done = 0;

    if (reader->error)
        return reader->error;
    while (done < bytes) {
        size_t part = reader->out_filled - reader->out_used;
        if (part == 0) {
            int ret = reader->frame_done ? 0 : unpack(reader);
            if (ret < 0)
                return ret;
            if (reader->out_filled == reader->out_used)
                break;
            continue;
        }
        if (part > bytes - done)
            part = bytes - done;
        if (buffer)
            memcpy(buffer + done, reader->out_buffer + reader->out_used, part);
        reader->out_used += part;
        done += part;
    }
    return (long)done;
}

size_t record_ready(const RecordReader *reader, const uint8_t **ret_bytes)
{
    *ret_bytes = reader->out_buffer + reader->out_used;
    return reader->error ? 0 : reader->out_filled - reader->out_used;
}

const char *record_message(const RecordReader *reader)
{
    return reader->message;
}
