// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * A bounded cursor over table bytes. Reading past the end gives 0 and sets `bad`, so that a parser
 * may check once. `address` is the runtime address of `at`, for pc-relative pointers: with tables
 * read in place both are the same.
 */
typedef struct Reader {
    const uint8_t *at, *end;
    uint64_t address;
    bool bad;
} Reader;

static inline const uint8_t *reader_take(Reader *reader, size_t bytes)
{
    if ((size_t)(reader->end - reader->at) < bytes) {
        reader->bad = true;
        reader->at = reader->end;
        return NULL;
    }
    const uint8_t *taken = reader->at;
    reader->at += bytes;
    reader->address += bytes;
    return taken;
}

#define READER_FIXED(name, type)                                                                   \
    static inline type reader_##name(Reader *reader)                                               \
    {                                                                                              \
        type value = 0;                                                                            \
        const uint8_t *from = reader_take(reader, sizeof(type));                                   \
        if (from)                                                                                  \
            memcpy(&value, from, sizeof(type));                                                    \
        return value;                                                                              \
    }
READER_FIXED(u8, uint8_t)
READER_FIXED(u16, uint16_t)
READER_FIXED(u32, uint32_t)
READER_FIXED(u64, uint64_t)
#undef READER_FIXED

static inline uint64_t reader_uleb(Reader *reader)
{
    uint64_t value = 0;
    for (unsigned shift = 0; !reader->bad; shift += 7) {
        uint8_t byte = reader_u8(reader);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            break;
    }
    return value;
}

static inline int64_t reader_sleb(Reader *reader)
{
    uint64_t value = 0;
    for (unsigned shift = 0; !reader->bad;) {
        uint8_t byte = reader_u8(reader);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if (byte & 0x80)
            continue;
        if ((byte & 0x40) && shift < 64)
            value |= ~UINT64_C(0) << shift;
        break;
    }
    return (int64_t)value;
}
