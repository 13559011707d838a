// SPDX-License-Identifier: Apache-2.0
/*
 * Varints by words against the definition: seven bits a byte, lowest first, the top bit on all but
 * the last. Around each power of two, and whatever lies behind the number in memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "format/varint.h"

static size_t by_definition(uint64_t value, uint8_t *bytes)
{
    size_t count = 0;

    do {
        bytes[count++] = (uint8_t)(value % 128 + (value >= 128 ? 128 : 0));
        value /= 128;
    } while (value);
    return count;
}

static void check(uint64_t value, uint8_t behind)
{
    uint8_t expected[32], written[32];
    uint64_t read = 12345;

    memset(expected, behind, sizeof expected);
    size_t bytes = by_definition(value, expected);

    memset(written, behind, sizeof written);
    const uint8_t *end = varint_put_word(written, value);
    assert_int_equal(end - written, value ? bytes : 0);
    assert_memory_equal(written, expected, value ? bytes : 0);
    for (size_t i = VARINT_MAX_BYTES; i < sizeof written; i++)
        assert_int_equal(written[i], behind);

    end = varint_get_word(expected, &read);
    if (bytes > VARINT_WORD_BYTES) {
        assert_null(end);
        assert_int_equal(read, 12345);
    } else {
        assert_int_equal(end - expected, bytes);
        assert_true(read == value);
    }
}

static void test_all_lengths(void **state)
{
    static const uint8_t behind[] = {0, 1, 0x7f, 0x80, 0xff};

    (void)state;
    for (size_t i = 0; i < sizeof behind; i++) {
        for (unsigned bit = 0; bit < 64; bit++) {
            for (uint64_t near = 0; near < 5; near++) {
                check((UINT64_C(1) << bit) + near, behind[i]);
                check((UINT64_C(1) << bit) - near, behind[i]);
            }
            check((UINT64_C(1) << bit) | UINT64_C(0x0102040810204081), behind[i]);
            check(UINT64_MAX >> bit, behind[i]);
        }
        check(0, behind[i]);
    }
}

/* Longer than it need be, as the format allows. */
static void test_padded(void **state)
{
    static const uint8_t five[] = {0x85, 0x80, 0x80, 0x00, 0xff, 0xff, 0xff, 0xff};
    static const uint8_t endless[] = {0x85, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80};
    uint64_t value = 0;

    (void)state;
    assert_ptr_equal(varint_get_word(five, &value), five + 4);
    assert_int_equal(value, 5);
    assert_null(varint_get_word(endless, &value));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_lengths),
        cmocka_unit_test(test_padded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
