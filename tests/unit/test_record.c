// SPDX-License-Identifier: Apache-2.0
/*
 * Framing of profile files. Frames are made with libzstd's compressor, lengths by hand; every way
 * in which a record can be broken has to be told apart from a record that is not there yet.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>
#include <zstd.h>

#include "format/record.h"

static int file_of(const void *data, size_t bytes)
{
    int fd = memfd_create("record", MFD_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, bytes), (ssize_t)bytes);
    return fd;
}

/* Length and one frame of DATA; *ret_record is malloc'd. */
static size_t make_record(const void *data, size_t bytes, bool checksum, uint8_t **ret_record)
{
    size_t capacity = ZSTD_compressBound(bytes), packed;
    ZSTD_CCtx *zstd = ZSTD_createCCtx();

    *ret_record = malloc(8 + capacity + 16);
    ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, checksum);
    packed = ZSTD_compress2(zstd, *ret_record + 8, capacity, data, bytes);
    assert_false(ZSTD_isError(packed));
    ZSTD_freeCCtx(zstd);
    for (int i = 0; i < 8; i++)
        (*ret_record)[i] = (uint8_t)(packed >> (56 - 8 * i));
    return 8 + packed;
}

/* Reads the payload behind an 8-byte header in pieces of PIECE; total bytes or the error. */
static long read_all(RecordReader *reader, int fd, size_t record_bytes, size_t piece, uint8_t *out)
{
    int ret = record_begin(reader, fd, 8, record_bytes - 8);
    long total = 0;

    if (ret < 0)
        return ret;
    for (;;) {
        long n = record_read(reader, out ? out + total : NULL, piece);
        if (n <= 0)
            return n < 0 ? n : total;
        total += n;
    }
}

static void test_find(void **state)
{
    static const uint8_t file[8 + 3 + 8] = {0, 0, 0, 0, 0, 0, 0, 3, 1, 2,
                                            3, 0, 0, 0, 0, 0, 0, 0, 1};
    int fd = file_of(file, sizeof file);
    uint64_t payload = 99;

    (void)state;
    assert_int_equal(record_find(fd, 0, 0, &payload), 0);
    assert_int_equal(record_find(fd, 0, 7, &payload), 0);
    assert_int_equal(record_find(fd, 0, 8, &payload), 0);
    assert_int_equal(record_find(fd, 0, 10, &payload), 0);
    assert_int_equal(payload, 99);
    assert_int_equal(record_find(fd, 0, 11, &payload), 1);
    assert_int_equal(payload, 3);
    assert_int_equal(record_find(fd, 11, sizeof file, &payload), 0);
    assert_int_equal(record_find(fd, sizeof file, sizeof file, &payload), 0);
    assert_int_equal(record_find(fd, UINT64_MAX, sizeof file, &payload), 0);
    close(fd);
}

static void test_find_bad_length(void **state)
{
    static const uint8_t lengths[][8] = {
        {0, 0, 0, 0, 0, 0, 0, 0},    /* nothing in it */
        {0, 0, 0, 0, 0x40, 0, 0, 1}, /* one above the limit */
        {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
        {'P', 'K', 3, 4, 0, 0, 0, 0},
    };
    static const uint8_t most[8] = {0, 0, 0, 0, 0x40, 0, 0, 0};
    uint64_t payload;
    int fd;

    (void)state;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        fd = file_of(lengths[i], 8);
        assert_int_equal(record_find(fd, 0, 8, &payload), -EBADMSG);
        assert_false(record_may_begin(fd, 0, 8));
        close(fd);
    }
    fd = file_of(most, 8);
    assert_int_equal(record_find(fd, 0, 8, &payload), 0); /* legal, not yet there */
    close(fd);
}

static void test_read(void **state)
{
    enum { BYTES = 700000 };
    static const size_t pieces[] = {1, 7, 4096, 131072, 131073, BYTES, BYTES + 1};
    uint8_t *data = malloc(BYTES), *out = malloc(2 * BYTES + 2), *record;
    RecordReader *reader;
    size_t bytes;
    int fd;

    (void)state;
    srand(1);
    for (int i = 0; i < BYTES; i++)
        data[i] = (uint8_t)(rand() & 15);
    assert_int_equal(record_new(&reader), 0);
    for (int checksum = 0; checksum < 2; checksum++) {
        bytes = make_record(data, BYTES, checksum, &record);
        fd = file_of(record, bytes);
        for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
            memset(out, 0, BYTES);
            assert_int_equal(read_all(reader, fd, bytes, pieces[i], out), BYTES);
            assert_memory_equal(out, data, BYTES);
            assert_string_equal(record_message(reader), "");
        }
        close(fd);
        free(record);
    }
    record_free(reader);
    free(data);
    free(out);
}

static void test_empty_payload(void **state)
{
    uint8_t *record, out[4];
    size_t bytes = make_record("", 0, true, &record);
    int fd = file_of(record, bytes);
    RecordReader *reader;

    (void)state;
    assert_int_equal(record_new(&reader), 0);
    assert_int_equal(read_all(reader, fd, bytes, sizeof out, out), 0);
    record_free(reader);
    close(fd);
    free(record);
}

/* Any one byte inverted: an error, or (a bit that means nothing) the very same data. */
static void test_flips(void **state)
{
    static const char text[] =
        "a stack of books on a stack of papers on a stack of books, 1234567890";
    uint8_t *record, out[256];
    size_t bytes = make_record(text, sizeof text, true, &record);
    RecordReader *reader;
    size_t caught = 0;

    (void)state;
    assert_int_equal(record_new(&reader), 0);
    for (size_t at = 8; at < bytes; at++) {
        for (int bit = 0; bit < 8; bit++) {
            int fd;
            long n;
            record[at] ^= (uint8_t)(1 << bit);
            fd = file_of(record, bytes);
            n = read_all(reader, fd, bytes, 16, out);
            record[at] ^= (uint8_t)(1 << bit);
            close(fd);
            if (n < 0) {
                caught++;
                assert_true(record_message(reader)[0]);
                assert_int_equal(record_read(reader, out, 1), n); /* it stays */
            } else {
                assert_int_equal(n, sizeof text);
                assert_memory_equal(out, text, sizeof text);
            }
        }
    }
    assert_true(caught >= (bytes - 8) * 8 - 8);
    record_free(reader);
    free(record);
}

static void expect_bad(const uint8_t *record, size_t bytes, int error, const char *part)
{
    int fd = file_of(record, bytes);
    uint8_t *out = malloc(1 << 20);
    RecordReader *reader;
    long n;

    assert_int_equal(record_new(&reader), 0);
    n = record_begin(reader, fd, 8, bytes - 8);
    while (n >= 0 && (n = record_read(reader, out, 1 << 20)) > 0) {
    }
    assert_int_equal(n, error);
    if (!strstr(record_message(reader), part))
        fail_msg("\"%s\" does not say \"%s\"", record_message(reader), part);
    record_free(reader);
    free(out);
    close(fd);
}

static void test_bad_frames(void **state)
{
    uint8_t *record, two[512];
    size_t bytes = make_record("hello, world", 12, true, &record);

    (void)state;
    expect_bad(record, bytes - 1, -EBADMSG, "cut");
    expect_bad(record, bytes - 5, -EBADMSG, "cut");
    expect_bad(record, 8 + 5, -EBADMSG, "cut");
    expect_bad(record, 8 + 3, -EBADMSG, "does not hold a zstd frame");
    memcpy(two, record, bytes);
    two[bytes] = 0;
    expect_bad(two, bytes + 1, -EBADMSG, "follow");
    memcpy(two + bytes, record + 8, bytes - 8);
    expect_bad(two, 2 * bytes - 8, -EBADMSG, "follow");
    memcpy(two + 8, "\x50\x2a\x4d\x18\x04\0\0\0skip", 12); /* a skippable frame is not one */
    expect_bad(two, 8 + 12, -EBADMSG, "does not hold a zstd frame");
    memcpy(two + 8, "garbage garbage", 16);
    expect_bad(two, 8 + 16, -EBADMSG, "does not hold a zstd frame");
    free(record);
}

/* Frame header that asks for a 2 GiB window. */
static void test_huge_window(void **state)
{
    static const uint8_t record[] = {0,    0,    0,    0,    0,    0,       0,    9, /* length */
                                     0x28, 0xb5, 0x2f, 0xfd, 0x00, 21 << 3, 0x01, 0, 0};

    (void)state;
    expect_bad(record, sizeof record, -EBADMSG, "memory");
}

/* 100 MB of zeros pack to some 10 kB: more than 16 MiB + 1000 times that. */
static void test_bomb(void **state)
{
    enum { BYTES = 100000000 };
    uint8_t *zeros = calloc(1, BYTES), *record;
    size_t bytes = make_record(zeros, BYTES, true, &record);

    (void)state;
    assert_true(bytes * 1000 + (16 << 20) < BYTES);
    expect_bad(record, bytes, -E2BIG, "more than is allowed");
    free(record);
    free(zeros);
}

/* What is within the limit passes: 16 MiB of zeros. */
static void test_no_bomb(void **state)
{
    enum { BYTES = 16 << 20 };
    uint8_t *zeros = calloc(1, BYTES), *record;
    size_t bytes = make_record(zeros, BYTES, true, &record);
    int fd = file_of(record, bytes);
    RecordReader *reader;

    (void)state;
    assert_int_equal(record_new(&reader), 0);
    assert_int_equal(read_all(reader, fd, bytes, 1 << 16, zeros), BYTES);
    record_free(reader);
    close(fd);
    free(record);
    free(zeros);
}

static void test_shrinks(void **state)
{
    uint8_t *record, out[16];
    size_t bytes = make_record("hello, world", 12, true, &record);
    int fd = file_of(record, bytes);
    RecordReader *reader;

    (void)state;
    assert_int_equal(record_new(&reader), 0);
    assert_int_equal(ftruncate(fd, (off_t)bytes - 2), 0);
    assert_int_equal(record_begin(reader, fd, 8, bytes - 8), -ESTALE);
    assert_int_equal(record_read(reader, out, 1), -ESTALE);
    record_free(reader);
    close(fd);
    free(record);
}

static void test_may_begin(void **state)
{
    uint8_t *record;
    size_t bytes = make_record("hello, world", 12, true, &record);
    int fd = file_of(record, bytes);

    (void)state;
    assert_true(record_may_begin(fd, 0, bytes));
    assert_true(record_may_begin(fd, 0, 10)); /* as far as it exists */
    assert_true(record_may_begin(fd, bytes, bytes));
    assert_false(record_may_begin(fd, 1, bytes)); /* length shifted: far too long */
    assert_false(record_may_begin(fd, bytes + 1, bytes));
    close(fd);
    record[8] ^= 1;
    fd = file_of(record, bytes);
    assert_false(record_may_begin(fd, 0, bytes));
    close(fd);
    free(record);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find),        cmocka_unit_test(test_find_bad_length),
        cmocka_unit_test(test_read),        cmocka_unit_test(test_empty_payload),
        cmocka_unit_test(test_flips),       cmocka_unit_test(test_bad_frames),
        cmocka_unit_test(test_huge_window), cmocka_unit_test(test_bomb),
        cmocka_unit_test(test_no_bomb),     cmocka_unit_test(test_shrinks),
        cmocka_unit_test(test_may_begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
