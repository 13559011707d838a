// SPDX-License-Identifier: Apache-2.0
/* The protobuf writer against bytes computed by hand and against protoc --decode_raw. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "format/wire.h"

static size_t grow_limit = SIZE_MAX;

static uint8_t *grow(uint8_t *data, size_t bytes, size_t old_capacity, size_t new_capacity)
{
    (void)bytes;
    (void)old_capacity;
    return new_capacity > grow_limit ? NULL : realloc(data, new_capacity);
}

static void expect(WireBuffer *buffer, const void *bytes, size_t count)
{
    assert_false(buffer->failed);
    assert_int_equal(buffer->bytes, count);
    assert_memory_equal(buffer->data, bytes, count);
    buffer->bytes = 0;
}
#define EXPECT(buffer, ...)                                                                        \
    expect(buffer, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static void test_varints(void **state)
{
    WireBuffer buffer = {.grow = grow};

    (void)state;
    wire_varint(&buffer, 0);
    EXPECT(&buffer, 0x00);
    wire_varint(&buffer, 1);
    EXPECT(&buffer, 0x01);
    wire_varint(&buffer, 127);
    EXPECT(&buffer, 0x7f);
    wire_varint(&buffer, 128);
    EXPECT(&buffer, 0x80, 0x01);
    wire_varint(&buffer, 300);
    EXPECT(&buffer, 0xac, 0x02);
    wire_varint(&buffer, 16383);
    EXPECT(&buffer, 0xff, 0x7f);
    wire_varint(&buffer, 16384);
    EXPECT(&buffer, 0x80, 0x80, 0x01);
    wire_varint(&buffer, UINT64_C(0x7fffffffffffffff));
    EXPECT(&buffer, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f);
    wire_varint(&buffer, UINT64_MAX);
    EXPECT(&buffer, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01);
    free(buffer.data);
}

static void test_fields(void **state)
{
    WireBuffer buffer = {.grow = grow};

    (void)state;
    wire_uint(&buffer, 1, 150);
    EXPECT(&buffer, 0x08, 0x96, 0x01);
    wire_uint(&buffer, 15, 1);
    EXPECT(&buffer, 0x78, 0x01);
    wire_uint(&buffer, 16, 1);
    EXPECT(&buffer, 0x80, 0x01, 0x01);
    wire_uint(&buffer, 100, 5);
    EXPECT(&buffer, 0xa0, 0x06, 0x05);
    wire_string(&buffer, 2, "testing");
    EXPECT(&buffer, 0x12, 0x07, 't', 'e', 's', 't', 'i', 'n', 'g');
    wire_bytes(&buffer, 3, "\0\377", 2);
    EXPECT(&buffer, 0x1a, 0x02, 0x00, 0xff);
    wire_uint(&buffer, 1, 0); /* proto3: defaults are left out */
    wire_string(&buffer, 2, "");
    wire_bytes(&buffer, 3, NULL, 0);
    assert_int_equal(buffer.bytes, 0);
    free(buffer.data);
}

static void put_filler(WireBuffer *buffer, size_t count)
{
    for (size_t i = 0; i < count; i++)
        wire_varint(buffer, i % 100);
}

/* Lengths where one more length byte is needed. */
static void test_lengths(void **state)
{
    static const struct {
        size_t length, head_bytes;
        uint8_t head[5];
    } cases[] = {
        {0, 2, {0x12, 0x00}},
        {1, 2, {0x12, 0x01}},
        {127, 2, {0x12, 0x7f}},
        {128, 3, {0x12, 0x80, 0x01}},
        {16383, 3, {0x12, 0xff, 0x7f}},
        {16384, 4, {0x12, 0x80, 0x80, 0x01}},
        {2097151, 4, {0x12, 0xff, 0xff, 0x7f}},
        {2097152, 5, {0x12, 0x80, 0x80, 0x80, 0x01}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        WireBuffer buffer = {.grow = grow};
        wire_varint(&buffer, 99); /* what stands before must stay */
        size_t at = wire_begin(&buffer, 2);
        put_filler(&buffer, cases[i].length);
        wire_end(&buffer, at);
        assert_false(buffer.failed);
        assert_int_equal(buffer.bytes, 1 + cases[i].head_bytes + cases[i].length);
        assert_int_equal(buffer.data[0], 99);
        assert_memory_equal(buffer.data + 1, cases[i].head, cases[i].head_bytes);
        for (size_t byte = 0; byte < cases[i].length; byte++)
            assert_int_equal(buffer.data[1 + cases[i].head_bytes + byte], byte % 100);
        free(buffer.data);
    }
}

/* The inner message's longer length makes the outer one pass 127, or not. */
static void test_nested(void **state)
{
    (void)state;
    /* Inner 122 + 2 = 124, outer 124 + 2 = 126; inner 127 -> outer 129; inner 128 -> outer 131. */
    static const struct {
        size_t inner;
        uint8_t head[6];
        size_t head_bytes;
    } cases[] = {
        {123, {0x0a, 0x7d, 0x12, 0x7b}, 4},
        {125, {0x0a, 0x7f, 0x12, 0x7d}, 4},
        {126, {0x0a, 0x80, 0x01, 0x12, 0x7e}, 5},
        {127, {0x0a, 0x81, 0x01, 0x12, 0x7f}, 5},
        {128, {0x0a, 0x83, 0x01, 0x12, 0x80, 0x01}, 6},
        {16380, {0x0a, 0xff, 0x7f, 0x12, 0xfc, 0x7f}, 6},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        WireBuffer buffer = {.grow = grow};
        size_t outer = wire_begin(&buffer, 1);
        size_t inner = wire_begin(&buffer, 2);
        put_filler(&buffer, cases[i].inner);
        wire_end(&buffer, inner);
        wire_end(&buffer, outer);
        assert_int_equal(buffer.bytes, cases[i].head_bytes + cases[i].inner);
        assert_memory_equal(buffer.data, cases[i].head, cases[i].head_bytes);
        free(buffer.data);
    }
}

/* protoc reads it and prints the same tree. */
static void test_protoc(void **state)
{
    (void)state;
    WireBuffer buffer = {.grow = grow};
    size_t outer = wire_begin(&buffer, 3);
    for (int i = 1; i <= 2000; i++) {
        size_t inner = wire_begin(&buffer, 2);
        wire_uint(&buffer, 1, (uint64_t)i * 1000003);
        wire_end(&buffer, inner);
    }
    wire_end(&buffer, outer);
    wire_uint(&buffer, 100, UINT64_MAX);

    char path[] = "/tmp/memhawk-wire-XXXXXX", command[128], line[128];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, buffer.data, buffer.bytes), buffer.bytes);
    close(fd);
    (void)snprintf(command, sizeof(command), "protoc --decode_raw <%s", path);
    FILE *output = popen(command, "r");
    assert_non_null(output);
    uint64_t found = 0;
    unsigned long long value, last = 0;
    while (fgets(line, sizeof(line), output)) {
        if (sscanf(line, "    1: %llu", &value) == 1)
            assert_int_equal(value, ++found * 1000003);
        else if (sscanf(line, "100: %llu", &value) == 1)
            last = value;
    }
    assert_int_equal(pclose(output), 0);
    unlink(path);
    assert_int_equal(found, 2000);
    assert_int_equal(last, UINT64_MAX);
    free(buffer.data);
}

/* Memory ends: nothing is written out of bounds and the buffer says so. */
static void test_no_memory(void **state)
{
    (void)state;
    static const char text[5000] = {1};
    WireBuffer none = {0}, buffer = {.grow = grow};
    wire_uint(&none, 1, 1);
    assert_true(none.failed);
    assert_int_equal(none.bytes, 0);

    grow_limit = 4096;
    size_t at = wire_begin(&buffer, 1);
    wire_bytes(&buffer, 2, text, 3000);
    assert_false(buffer.failed);
    wire_bytes(&buffer, 2, text, sizeof(text));
    assert_true(buffer.failed);
    size_t bytes = buffer.bytes;
    wire_end(&buffer, at);
    wire_uint(&buffer, 1, 7);
    wire_string(&buffer, 1, "x");
    wire_end(&buffer, wire_begin(&buffer, 4));
    assert_int_equal(buffer.bytes, bytes);
    assert_int_equal(buffer.capacity, 4096);
    grow_limit = SIZE_MAX;
    free(buffer.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_varints), cmocka_unit_test(test_fields),
        cmocka_unit_test(test_lengths), cmocka_unit_test(test_nested),
        cmocka_unit_test(test_protoc),  cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
