// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/bits.h"

/*
 * Varints of the protobuf wire format a word at a time, for the loops that see them by the hundred
 * million: no branch depends on how long a number is, which no processor guesses right. Longer ones
 * than a word, of 57 bits and more, go the usual way.
 *
 *   a number   ...ccccccc bbbbbbb aaaaaaa         groups of seven bits
 *   a word     ...0ccccccc 1bbbbbbb 1aaaaaaa      bytes; the top bit says that more follow
 */

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the first byte of a varint must be the lowest of a word"
#endif

enum { VARINT_WORD_BYTES = 8, VARINT_MAX_BYTES = 10 };

#define VARINT_MORE UINT64_C(0x8080808080808080)

/* Reads one at P, where a whole word must be readable; NULL: it is longer than a word. */
static inline const uint8_t *varint_get_word(const uint8_t *p, uint64_t *ret_value)
{
    uint64_t word, last;

    memcpy(&word, p, sizeof word);
    last = ~word & VARINT_MORE;
    if (UNLIKELY(last == 0))
        return NULL;
    word &= last ^ (last - 1); /* up to the lowest byte that is a last one */
    word &= ~VARINT_MORE;
    word = (word & UINT64_C(0x7f007f007f007f00)) >> 1 | (word & UINT64_C(0x007f007f007f007f));
    word = (word & UINT64_C(0x3fff00003fff0000)) >> 2 | (word & UINT64_C(0x00003fff00003fff));
    word = (word & UINT64_C(0x0fffffff00000000)) >> 4 | (word & UINT64_C(0x000000000fffffff));
    *ret_value = word;
    return p + (__builtin_ctzll(last) >> 3) + 1;
}

__attribute__((cold)) static inline uint8_t *varint_put_long(uint8_t *p, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *p++ = (uint8_t)(value | 0x80);
    *p++ = (uint8_t)value;
    return p;
}

/* Writes one at P, where VARINT_MAX_BYTES must be free, of which it may use those behind it too;
 * returns what follows it. Zero takes no byte, unlike anywhere else: for those who leave it out. */
static inline uint8_t *varint_put_word(uint8_t *p, uint64_t value)
{
    unsigned top = 63 - (unsigned)__builtin_clzll(value | 1);
    unsigned bytes = (top * 9 + 73) / 64; /* top / 7 + 1 */
    uint64_t word = value;

    if (UNLIKELY(top >= 7 * VARINT_WORD_BYTES))
        return varint_put_long(p, value);
    word = (word & UINT64_C(0x00fffffff0000000)) << 4 | (word & UINT64_C(0x000000000fffffff));
    word = (word & UINT64_C(0x0fffc0000fffc000)) << 2 | (word & UINT64_C(0x00003fff00003fff));
    word = (word & UINT64_C(0x3f803f803f803f80)) << 1 | (word & UINT64_C(0x007f007f007f007f));
    word |= VARINT_MORE & ((UINT64_C(1) << (8 * (bytes - 1))) - 1);
    memcpy(p, &word, sizeof word);
    return p + (value ? bytes : 0);
}
