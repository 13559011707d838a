// SPDX-License-Identifier: Apache-2.0
/* Which encoding a header asks for, and that zlib and zstd take back what was made. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include <cmocka.h>

#include "base/bits.h"
#include "web/compress.h"

static void test_choice(void **state)
{
    static const struct {
        const char *accept;
        Encoding want;
    } rows[] = {
        {NULL, ENCODING_NONE},           {"", ENCODING_NONE},
        {"gzip", ENCODING_GZIP},         {"GZip", ENCODING_GZIP},
        {"zstd", ENCODING_ZSTD},         {"gzip, deflate, br, zstd", ENCODING_ZSTD},
        {"zstd,gzip", ENCODING_ZSTD},    {"gzip, deflate, br", ENCODING_GZIP},
        {"deflate, br", ENCODING_NONE},  {"gzip;q=0", ENCODING_NONE},
        {"gzip;q=0.000", ENCODING_NONE}, {"gzip;q=0.001", ENCODING_GZIP},
        {"gzip ; q=1.0", ENCODING_GZIP}, {"zstd;q=0, gzip;q=0.5", ENCODING_GZIP},
        {"x-gzip", ENCODING_NONE},       {"gzipped", ENCODING_NONE},
        {"gzi", ENCODING_NONE},          {" \t,, gzip", ENCODING_GZIP},
        {",;=", ENCODING_NONE},          {"*", ENCODING_NONE}, /* allowed, not asked for */
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (encoding_choose(rows[i].accept) != rows[i].want)
            fail_msg("%s: %d", rows[i].accept, encoding_choose(rows[i].accept));
    assert_null(encoding_name(ENCODING_NONE));
    assert_string_equal(encoding_name(ENCODING_GZIP), "gzip");
    assert_string_equal(encoding_name(ENCODING_ZSTD), "zstd");
}

static char *make_text(size_t size)
{
    char *text = malloc(size + 1);
    assert_non_null(text);
    for (size_t i = 0; i < size; i++)
        text[i] = (char)(i % 7 ? 'a' + i % 26 : (i * 2654435761U) >> 13);
    return text;
}

static void test_gzip(void **state)
{
    (void)state;
    for (size_t size = 0; size < 300000; size = size * 3 + 1) {
        char *text = make_text(size), *packed, *back = malloc(size + 1);
        size_t packed_size;
        assert_int_equal(encoding_compress(ENCODING_GZIP, text, size, &packed, &packed_size), 0);
        z_stream stream = {.next_in = (Bytef *)packed,
                           .avail_in = (uInt)packed_size,
                           .next_out = (Bytef *)back,
                           .avail_out = (uInt)size + 1};
        assert_int_equal(inflateInit2(&stream, MAX_WBITS + 16), Z_OK);
        assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
        assert_int_equal(stream.total_out, size);
        assert_int_equal(stream.avail_in, 0);
        assert_memory_equal(back, text, size);
        inflateEnd(&stream);
        free(text);
        free(packed);
        free(back);
    }
}

static void test_zstd(void **state)
{
    (void)state;
    for (size_t size = 0; size < 300000; size = size * 3 + 1) {
        char *text = make_text(size), *packed, *back = malloc(size + 1);
        size_t packed_size;
        assert_int_equal(encoding_compress(ENCODING_ZSTD, text, size, &packed, &packed_size), 0);
        assert_int_equal(ZSTD_decompress(back, size + 1, packed, packed_size), size);
        assert_memory_equal(back, text, size);
        assert_true(size < 1000 || packed_size < size);
        free(text);
        free(packed);
        free(back);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_gzip),
        cmocka_unit_test(test_zstd),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
