// SPDX-License-Identifier: Apache-2.0
/*
 * Compressing streams as stdio streams, so that writers of a format need not know. gzip by zlib (no
 * name, no time in its header: the same profile gives the same bytes), zstd by libzstd. Writes go
 * through one 64 KiB buffer.
 */
#include "export/packed_out.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zlib.h>
#include <zstd.h>

enum { CHUNK_BYTES = 64 * 1024 };

typedef struct Packer {
    FILE *out;
    z_stream gzip;
    ZSTD_CCtx *zstd; /* NULL: gzip */
    char chunk[CHUNK_BYTES];
} Packer;

static int chunk_put(Packer *p, size_t bytes)
{
    return fwrite(p->chunk, 1, bytes, p->out) == bytes ? 0 : -1;
}

static int gzip_put(Packer *p, const char *data, size_t size, int flush)
{
    p->gzip.next_in = (Bytef *)(uintptr_t)data;
    p->gzip.avail_in = (uInt)size;
    do {
        p->gzip.next_out = (Bytef *)p->chunk;
        p->gzip.avail_out = CHUNK_BYTES;
        if (deflate(&p->gzip, flush) == Z_STREAM_ERROR)
            return -1;
        if (chunk_put(p, CHUNK_BYTES - p->gzip.avail_out) < 0)
            return -1;
    } while (p->gzip.avail_out == 0);
    return 0;
}

static int zstd_put(Packer *p, const char *data, size_t size, ZSTD_EndDirective end)
{
    ZSTD_inBuffer in = {data, size, 0};
    size_t left;
    do {
        ZSTD_outBuffer chunk = {p->chunk, CHUNK_BYTES, 0};
        left = ZSTD_compressStream2(p->zstd, &chunk, &in, end);
        if (ZSTD_isError(left) || chunk_put(p, chunk.pos) < 0)
            return -1;
    } while (end == ZSTD_e_end ? left != 0 : in.pos < in.size);
    return 0;
}

static ssize_t packer_write(void *cookie, const char *data, size_t size)
{
    Packer *p = cookie;
    int r = 0;
    for (size_t done = 0; r == 0 && done < size;) { /* zlib takes at most 4 GiB at once */
        size_t part = size - done < (1u << 30) ? size - done : 1u << 30;
        r = p->zstd ? zstd_put(p, data + done, part, ZSTD_e_continue)
                    : gzip_put(p, data + done, part, Z_NO_FLUSH);
        done += part;
    }
    return r == 0 ? (ssize_t)size : 0; /* 0 is how a cookie says error */
}

static int packer_close(void *cookie)
{
    Packer *p = cookie;
    int r = p->zstd ? zstd_put(p, "", 0, ZSTD_e_end) : gzip_put(p, "", 0, Z_FINISH);
    if (p->zstd)
        ZSTD_freeCCtx(p->zstd);
    else
        deflateEnd(&p->gzip);
    free(p);
    return r;
}

FILE *packed_open(FILE *out, Packing packing)
{
    Packer *p = calloc(1, sizeof(*p));
    if (!p)
        return NULL;
    p->out = out;
    if (packing == PACKING_ZSTD) {
        p->zstd = ZSTD_createCCtx();
    } else if (deflateInit2(&p->gzip, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8,
                            Z_DEFAULT_STRATEGY) != Z_OK) { /* 15 + 16: gzip header, full window */
        free(p);
        return NULL;
    }
    FILE *stream = NULL;
    if (packing != PACKING_ZSTD || p->zstd)
        stream = fopencookie(p, "w",
                             (cookie_io_functions_t){.write = packer_write, .close = packer_close});
    if (!stream) {
        if (packing == PACKING_ZSTD)
            ZSTD_freeCCtx(p->zstd);
        else
            deflateEnd(&p->gzip);
        free(p);
        return NULL;
    }
    setvbuf(stream, NULL, _IOFBF, CHUNK_BYTES);
    return stream;
}

Packing packed_by_name(FILE *out)
{
    char link[64], path[4096];
    int fd = fileno(out);
    if (fd < 0)
        return PACKING_NONE;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof(path) - 1);
    if (length < 4)
        return PACKING_NONE;
    path[length] = '\0';
    /* What is written beside its place first is named NAME.XXXXXX (cli/out_file.c). */
    if (length > 10 && path[length - 7] == '.' && !strchr(path + length - 6, '/'))
        path[length -= 7] = '\0';
    else if (length > 4 && strcmp(path + length - 4, ".zst") == 0)
        return PACKING_ZSTD;
    if (strcmp(path + length - 3, ".gz") == 0)
        return PACKING_GZIP;
    return strcmp(path + length - 4, ".zst") == 0 ? PACKING_ZSTD : PACKING_NONE;
}
