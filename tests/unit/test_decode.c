// SPDX-License-Identifier: Apache-2.0
/*
 * Decoding of messages. The bytes are written down by hand, after the protobuf specification, so
 * they do not depend on any encoder; whole files made by protoc are the matter of test_golden.c.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/decode.h"

typedef struct Source {
    const uint8_t *data;
    size_t left;
    int fail_after; /* reads; negative: never */
} Source;

static long source_read(void *context, uint8_t *buffer, size_t bytes)
{
    Source *source = context;

    if (source->fail_after == 0)
        return -EIO;
    source->fail_after -= source->fail_after > 0;
    if (bytes > source->left)
        bytes = source->left;
    if (bytes && buffer)
        memcpy(buffer, source->data, bytes);
    if (bytes)
        source->data += bytes;
    source->left -= bytes;
    return (long)bytes;
}

static MemoryBudget budget = {.limit_bytes = 64 << 20};
static Decoder *decoder;

static int setup(void **state)
{
    (void)state;
    return decoder_new(&budget, &decoder);
}

static int teardown(void **state)
{
    (void)state;
    decoder_free(decoder);
    return budget.used_bytes == 0 ? 0 : -1; /* all of it was given back */
}

static int snapshot(const void *data, size_t bytes, const DecodedSnapshot **ret)
{
    Source source = {data, bytes, -1};

    return decode_snapshot(decoder, source_read, &source, ret);
}

#define SNAPSHOT(literal, ret) snapshot(literal, sizeof(literal) - 1, ret)

static void test_empty(void **state)
{
    const DecodedSnapshot *s;
    const DecodedProcess *p;
    Source source = {NULL, 0, -1};

    (void)state;
    assert_int_equal(SNAPSHOT("", &s), 0);
    assert_int_equal(s->time_ns, 0);
    assert_int_equal(s->changes.count, 0);
    assert_false(s->has_total);
    assert_int_equal(decode_process(decoder, source_read, &source, &p), 0);
    assert_string_equal(p->short_name, "");
    assert_string_equal(p->warning, "");
}

static void test_process(void **state)
{
    static const uint8_t bytes[] = "\x0a\x02"
                                   "ab" /* 1: "ab" */
                                   "\x12\x03"
                                   "/ab"                      /* 2: "/ab" */
                                   "\x18\xac\x02"             /* 3: 300 */
                                   "\x20\x80\x80\x80\x80\x10" /* 4: 1 << 32 */
                                   "\xa0\x06\x01"             /* 100: 1 */
                                   "\xb2\x06\x01"
                                   "x"             /* 102: "x" */
                                   "\xb2\x06\x00"  /* 102: "" */
                                   "\xe0\x06\x01"; /* 108: true */
    Source source = {bytes, sizeof bytes - 1, -1};
    const DecodedProcess *p;

    (void)state;
    assert_int_equal(decode_process(decoder, source_read, &source, &p), 0);
    assert_string_equal(p->short_name, "ab");
    assert_string_equal(p->full_path, "/ab");
    assert_int_equal(p->pid, 300);
    assert_int_equal(p->start_ns, UINT64_C(1) << 32);
    assert_int_equal(p->format_version, 1);
    assert_int_equal(p->argument_count, 2);
    assert_string_equal(p->arguments[0], "x");
    assert_string_equal(p->arguments[1], "");
    assert_true(p->forked);
}

static void test_change(void **state)
{
    const DecodedSnapshot *s;

    (void)state;
    /* timestamp 5; changed { traceId 9 actual { size -1 active 2 overhead 3 count 4 bytes 5 temp 6
     * } } */
    assert_int_equal(SNAPSHOT("\x08\x05"
                              "\x12\x1a\x08\x09\x12\x16"
                              "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
                              "\x10\x02\x18\x03\x20\x04\x28\x05\xa0\x06\x06"
                              "\x12\x02\x08\x0a", /* changed { traceId 10 }, no state */
                              &s),
                     0);
    assert_int_equal(s->time_ns, 5);
    assert_int_equal(s->changes.count, 2);
    assert_int_equal(s->changes.items[0].trace_id, 9);
    assert_true(s->changes.items[0].now.live_bytes == -1);
    assert_int_equal(s->changes.items[0].now.live_count, 2);
    assert_int_equal(s->changes.items[0].now.overhead_bytes, 3);
    assert_int_equal(s->changes.items[0].now.total_count, 4);
    assert_int_equal(s->changes.items[0].now.total_bytes, 5);
    assert_int_equal(s->changes.items[0].now.temporary_count, 6);
    assert_int_equal(s->changes.items[1].trace_id, 10);
    assert_int_equal(s->changes.items[1].now.total_count, 0);
}

static void test_stack_ids(void **state)
{
    const DecodedSnapshot *s;

    (void)state;
    /* packed {1, 300}, then one by one {7}, then packed {8}; ids before traceId; flags 8 */
    assert_int_equal(SNAPSHOT("\x22\x0f\x12\x03\x01\xac\x02\x10\x07\x12\x01\x08\x08\x63\xa0\x06\x08"
                              "\x22\x02\x08\x64",
                              &s),
                     0);
    assert_int_equal(s->stacks.count, 2);
    assert_int_equal(s->stacks.items[0].trace_id, 99);
    assert_int_equal(s->stacks.items[0].flags, 8);
    assert_int_equal(s->stacks.items[0].depth, 4);
    assert_int_equal(s->ptr_ids.items[0], 1);
    assert_int_equal(s->ptr_ids.items[1], 300);
    assert_int_equal(s->ptr_ids.items[2], 7);
    assert_int_equal(s->ptr_ids.items[3], 8);
    assert_int_equal(s->stacks.items[1].depth, 0);
    assert_int_equal(s->stacks.items[1].first, 4);
}

static void test_module(void **state)
{
    const DecodedSnapshot *s;

    (void)state;
    /* loadedSo { filename "a" segment { addr 1 size 2 } addr 16 segment { size 3 } moduleId 4
     * buildId 00 ff } */
    assert_int_equal(SNAPSHOT("\x2a\x17\x0a\x01"
                              "a"
                              "\x1a\x04\x08\x01\x10\x02\x10\x10"
                              "\x1a\x02\x10\x03\xa0\x06\x04\xaa\x06\x02\x00\xff",
                              &s),
                     0);
    assert_int_equal(s->modules.count, 1);
    assert_string_equal(s->modules.items[0].path, "a");
    assert_int_equal(s->modules.items[0].bias, 16);
    assert_int_equal(s->modules.items[0].module_id, 4);
    assert_int_equal(s->modules.items[0].build_id_size, 2);
    assert_int_equal(s->modules.items[0].build_id[1], 0xff);
    assert_int_equal(s->modules.items[0].segment_count, 2);
    assert_int_equal(s->segments.items[0].size, 2);
    assert_int_equal(s->segments.items[1].addr, 0);
    assert_int_equal(s->segments.items[1].size, 3);
}

/* Unknown fields of each wire type, at the top and inside. */
static void test_unknown_fields(void **state)
{
    const DecodedSnapshot *s;

    (void)state;
    assert_int_equal(SNAPSHOT("\x50\x01" /* 10: varint */
                              "\x51"
                              "12345678" /* 10: 64 bit */
                              "\x55"
                              "1234" /* 10: 32 bit */
                              "\x52\x03"
                              "abc"                      /* 10: bytes */
                              "\xf8\xff\xff\xff\x0f\x01" /* 2^29 - 1: varint */
                              "\x12\x0b\x08\x09\x50\x01\x52\x03"
                              "abc"
                              "\x58\x00"
                              "\x22\x05\x08\x01\x1a\x01\x05" /* Stacktrace 3: bytes */
                              "\x08\x07",
                              &s),
                     0);
    assert_int_equal(s->time_ns, 7);
    assert_int_equal(s->changes.items[0].trace_id, 9);
    assert_int_equal(s->stacks.items[0].trace_id, 1);
}

static void test_bad_messages(void **state)
{
#define BAD(literal)                                                                               \
    {                                                                                              \
        literal, sizeof(literal) - 1                                                               \
    }
    static const struct {
        const char *data;
        size_t bytes;
    } bad[] = {
        BAD("\x0a\x01"
            "a"), /* timestamp as bytes */
        BAD("\x09"
            "12345678"), /* timestamp as 64 bit */
        BAD("\x10\x00"), /* changed as a number that would be an empty message */
        BAD("\x10\x05"),
        BAD("\x22\x05\x15"
            "1234"),                                             /* ptrId as 32 bit */
        BAD("\x22\x03\x0a\x01\x01"),                             /* traceId as bytes */
        BAD("\x2a\x02\x08\x01"),                                 /* filename as a number */
        BAD("\x12\x03\x0a\x01\x01"),                             /* traceId of a change as bytes */
        BAD("\x00\x00"),                                         /* tag 0 */
        BAD("\x08"),                                             /* cut before its value */
        BAD("\x08\x80"),                                         /* cut inside a number */
        BAD("\x12"),                                             /* cut before a length */
        BAD("\x12\x05\x08\x01"),                                 /* longer than the message */
        BAD("\x12\x04\x08\x01\x12\x05"),                         /* inner longer than outer */
        BAD("\x12\xff\xff\xff\xff\x0f"),                         /* 4 GiB long */
        BAD("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), /* number of 11 bytes */
        BAD("\x22\x07\x12\x05\xff\xff\xff\xff\x1f"),             /* ptrId above 32 bits */
        BAD("\x22\x02\x12\x05"), /* packed ids longer than the stack */
        BAD("\x0f\x00"),         /* wire type 7 */
    };
    const DecodedSnapshot *s;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int ret = snapshot(bad[i].data, bad[i].bytes, &s);
        if (ret != -EBADMSG)
            fail_msg("message %zu: %d", i, ret);
        assert_true(decode_message(decoder)[0]);
    }
    /* The decoder is as good as new. */
    assert_int_equal(SNAPSHOT("\x08\x05", &s), 0);
    assert_int_equal(s->time_ns, 5);
    assert_string_equal(decode_message(decoder), "");
}

static size_t source_window; /* how much of what is left lies ready */

static size_t source_ready(void *context, const uint8_t **ret_bytes)
{
    const Source *source = context;

    *ret_bytes = source->data;
    return source->left < source_window ? source->left : source_window;
}

static size_t put_bytes(uint8_t *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
    return bytes;
}

static size_t put_number(uint8_t *to, uint64_t value)
{
    size_t bytes = 0;

    for (; value >= 0x80; value >>= 7)
        to[bytes++] = (uint8_t)(value | 0x80);
    to[bytes++] = (uint8_t)value;
    return bytes;
}

/* One change in some shape: numbers of any length, sometimes a field that nobody knows, or two
 * parts in the other order, which is nanopb's to read. */
static size_t put_change(uint8_t *to, uint64_t seed)
{
    static const uint8_t tags[] = {1 << 3, 2 << 3, 3 << 3, 4 << 3, 5 << 3};
    uint8_t allocs[120], id[11] = {1 << 3};
    size_t bytes = 0, at = 0;
    size_t id_bytes = 1 + put_number(id + 1, seed % 3 ? seed % 200 : seed >> 40);

    for (size_t i = 0; i < 5; i++) {
        if (!(seed >> (8 + i) & 1))
            continue;
        allocs[bytes++] = tags[i];
        bytes += put_number(allocs + bytes, seed * (i + 1) >> (seed >> (16 + i) & 31));
    }
    if (seed % 11 == 0)
        bytes += put_bytes(allocs + bytes, "\xa0\x06\x07", 3); /* temporary */
    if (seed % 17 == 0)
        bytes += put_bytes(allocs + bytes, "\xf8\x07\x01", 3); /* unknown */
    to[at++] = 2 << 3 | 2;
    to[at++] = (uint8_t)(id_bytes + 2 + bytes);
    bool turned = seed % 19 == 0;
    if (!turned)
        at += put_bytes(to + at, id, id_bytes);
    to[at++] = 2 << 3 | 2;
    to[at++] = (uint8_t)bytes;
    memcpy(to + at, allocs, bytes);
    at += bytes;
    if (turned)
        at += put_bytes(to + at, id, id_bytes);
    return at;
}

/* Changes taken where they lie are those that nanopb reads, however much lies ready. */
static void test_ready_changes(void **state)
{
    static const size_t windows[] = {0, 1, 2, 7, 40, 97, 1000, SIZE_MAX};
    enum { CHANGES = 400 };
    static uint8_t message[CHANGES * 130];
    static DecodedChange expected[CHANGES];
    const DecodedSnapshot *s;
    uint64_t seed = 88172645463325252u;
    size_t bytes = 0;

    (void)state;
    for (int i = 0; i < CHANGES; i++) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        bytes += put_change(message + bytes, seed);
        if (i % 50 == 49)
            bytes += put_bytes(message + bytes, "\x08\x05", 2); /* the time */
    }
    assert_int_equal(snapshot(message, bytes, &s), 0);
    assert_int_equal(s->changes.count, CHANGES);
    memcpy(expected, s->changes.items, sizeof expected);
    decoder_set_ready(decoder, source_ready);
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
        source_window = windows[i];
        assert_int_equal(snapshot(message, bytes, &s), 0);
        assert_int_equal(s->changes.count, CHANGES);
        assert_int_equal(s->time_ns, 5);
        assert_memory_equal(s->changes.items, expected, sizeof expected);
        assert_int_equal(snapshot(message, bytes - 1, &s), -EBADMSG);
    }
    decoder_set_ready(decoder, NULL);
}

/* Cut anywhere, a message must fail unless the cut is between two fields. */
static void test_every_cut(void **state)
{
    static const char whole[] =
        "\x08\x05\x12\x06\x08\x09\x12\x02\x08\x01\x22\x05\x12\x03\x01\xac\x02";
    static const size_t between[] = {0, 2, 10, 17};
    const DecodedSnapshot *s;

    (void)state;
    for (size_t bytes = 0; bytes < sizeof whole; bytes++) {
        bool good = false;
        for (size_t i = 0; i < sizeof between / sizeof *between; i++)
            good |= between[i] == bytes;
        if (snapshot(whole, bytes, &s) != (good ? 0 : -EBADMSG))
            fail_msg("cut to %zu bytes", bytes);
    }
}

static void test_source_fails(void **state)
{
    static const uint8_t bytes[] = "\x08\x05\x12\x02\x08\x09";
    const DecodedSnapshot *s;

    (void)state;
    for (int after = 0; after < 6; after++) {
        Source source = {bytes, sizeof bytes - 1, after};
        assert_int_equal(decode_snapshot(decoder, source_read, &source, &s), -EIO);
    }
}

static void test_text(void **state)
{
    size_t bytes = DECODE_TEXT_MAX + 2;
    uint8_t *data = malloc(bytes + 16);
    const DecodedProcess *p;
    Source source;

    (void)state;
    /* 1: DECODE_TEXT_MAX times 'x' (length 0x10000 is 80 80 04) */
    memcpy(data, "\x0a\x80\x80\x04", 4);
    memset(data + 4, 'x', bytes);
    source = (Source){data, 4 + DECODE_TEXT_MAX, -1};
    assert_int_equal(decode_process(decoder, source_read, &source, &p), 0);
    assert_int_equal(strlen(p->short_name), DECODE_TEXT_MAX);
    data[1] = 0x81; /* one more */
    source = (Source){data, 4 + DECODE_TEXT_MAX + 1, -1};
    assert_int_equal(decode_process(decoder, source_read, &source, &p), -EBADMSG);
    assert_non_null(strstr(decode_message(decoder), "text too long"));
    free(data);
}

/* A million empty changes are 2 bytes each in the message and more in memory. */
static void test_budget(void **state)
{
    enum { COUNT = 2000000 };
    uint8_t *data = malloc(2 * COUNT);
    const DecodedSnapshot *s;

    (void)state;
    for (int i = 0; i < COUNT; i++)
        memcpy(data + 2 * i, "\x12\x00", 2);
    assert_int_equal(snapshot(data, 2 * COUNT, &s), -ENOMEM);
    assert_true(budget.used_bytes <= budget.limit_bytes);
    assert_int_equal(SNAPSHOT("\x08\x05", &s), 0);
    assert_true(budget.used_bytes < 1 << 20); /* given back */
    free(data);
}

static void test_windows(void **state)
{
    const DecodedSnapshot *s;

    (void)state;
    /* 109 window { id 1 name "w" scope 1 begun 3 }
     * 110 shape { window 1 shape 2 row { trace 3 allocations 4 } row { trace 5 } (says nothing) }
     * 111 iterations { 1, 2, 7, 8, 9, 6 }   108 mark { 5 "m" 6 } */
    assert_int_equal(SNAPSHOT("\xea\x06\x09\x08\x01\x12\x01"
                              "w"
                              "\x18\x01\x20\x03"
                              "\xf2\x06\x0e\x08\x01\x10\x02\x1a\x04\x08\x03\x10\x04\x1a\x02\x08\x05"
                              "\xfa\x06\x0c\x08\x01\x10\x02\x18\x07\x20\x08\x28\x09\x30\x06"
                              "\xe2\x06\x07\x08\x05\x12\x01"
                              "m"
                              "\x18\x06",
                              &s),
                     0);
    assert_string_equal(s->windows.items[0].name, "w");
    assert_int_equal(s->windows.items[0].scope, 1);
    assert_int_equal(s->windows.items[0].begun, 3);
    assert_int_equal(s->shapes.items[0].shape_id, 2);
    assert_int_equal(s->shapes.items[0].row_count, 1);
    assert_int_equal(s->rows.items[0].trace_id, 3);
    assert_int_equal(s->rows.items[0].allocations, 4);
    assert_int_equal(s->iterations.items[0].iterations, 7);
    assert_int_equal(s->iterations.items[0].duration_ns, 8);
    assert_int_equal(s->iterations.items[0].max_peak_bytes, 9);
    assert_int_equal(s->iterations.items[0].min_peak_bytes, 6);
    assert_int_equal(s->marks.items[0].time_ns, 5);
    assert_string_equal(s->marks.items[0].text, "m");
    assert_int_equal(s->marks.items[0].thread_id, 6);
}

static uint8_t *put_varint(uint8_t *p, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *p++ = (uint8_t)(value | 0x80);
    *p++ = (uint8_t)value;
    return p;
}

/*
 * Changes in the usual shape take a short way; with an unknown field added they take the long one.
 * Both must give what was put in, for numbers of every length.
 */
static void test_short_and_long_way(void **state)
{
    static const uint64_t tags[6] = {1 << 3, 2 << 3, 3 << 3, 4 << 3, 5 << 3, 100 << 3};
    uint64_t seed = 12345;

    (void)state;
    for (int round = 0; round < 4000; round++) {
        uint8_t inner[128], change[160], message[200];
        uint8_t *p = inner, *q = change, *r = message;
        uint64_t want[6] = {0}, id;
        const DecodedSnapshot *s;

        for (int i = 0; i < 6; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            if ((seed >> 60) == 0)
                continue; /* a field left out is 0 */
            want[i] = seed >> (seed >> 33) % 64;
            p = put_varint(put_varint(p, tags[i]), want[i]);
        }
        if (round % 2)
            p = put_varint(put_varint(p, 50 << 3), 1);
        id = seed >> 32;
        q = put_varint(put_varint(q, 1 << 3), id);
        q = put_varint(put_varint(q, 2 << 3 | 2), (uint64_t)(p - inner));
        memcpy(q, inner, (size_t)(p - inner));
        q += p - inner;
        r = put_varint(put_varint(r, 2 << 3 | 2), (uint64_t)(q - change));
        memcpy(r, change, (size_t)(q - change));
        r += q - change;
        assert_int_equal(snapshot(message, (size_t)(r - message), &s), 0);
        assert_int_equal(s->changes.count, 1);
        assert_int_equal(s->changes.items[0].trace_id, id);
        assert_true(s->changes.items[0].now.live_bytes == (int64_t)want[0]);
        assert_true(s->changes.items[0].now.live_count == (int64_t)want[1]);
        assert_true(s->changes.items[0].now.overhead_bytes == (int64_t)want[2]);
        assert_true(s->changes.items[0].now.total_count == want[3]);
        assert_true(s->changes.items[0].now.total_bytes == want[4]);
        assert_true(s->changes.items[0].now.temporary_count == want[5]);
    }
}

/* `actual` twice: protobuf merges the two. */
static void test_merged(void **state)
{
    const DecodedSnapshot *s;

    (void)state;
    assert_int_equal(SNAPSHOT("\x12\x0c\x08\x09\x12\x04\x08\x01\x10\x02\x12\x02\x08\x05", &s), 0);
    assert_int_equal(s->changes.items[0].now.live_bytes, 5);
    assert_int_equal(s->changes.items[0].now.live_count, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_empty),         TEST(test_process),
        TEST(test_change),        TEST(test_stack_ids),
        TEST(test_module),        TEST(test_unknown_fields),
        TEST(test_bad_messages),  TEST(test_every_cut),
        TEST(test_ready_changes), TEST(test_source_fails),
        TEST(test_text),          TEST(test_budget),
        TEST(test_windows),       TEST(test_short_and_long_way),
        TEST(test_merged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
