// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * Writer for the protobuf wire format (protobuf.dev, "Encoding") into memory that grows through a
 * callback: what the recorder needs and nothing else. No allocation of its own, no libc beyond
 * memcpy/memmove. After a failed growth the buffer is `failed` and further writes do nothing.
 */
typedef struct WireBuffer {
    uint8_t *data;
    size_t bytes;
    size_t capacity;
    bool failed;
    /* Gives a larger block holding the same `bytes` bytes, or NULL; frees the old one itself. */
    uint8_t *(*grow)(uint8_t *data, size_t bytes, size_t old_capacity, size_t new_capacity);
} WireBuffer;

/* The slow side of wire_reserve. */
bool wire_grow(WireBuffer *buffer, size_t more);

/* Room for MORE bytes behind `bytes`; false: failed. */
static inline bool wire_reserve(WireBuffer *buffer, size_t more)
{
    return __builtin_expect(buffer->capacity - buffer->bytes >= more && !buffer->failed, 1) ||
           wire_grow(buffer, more);
}

/* Writes a varint at AT, where ten bytes are free; returns what follows it. */
static inline uint8_t *wire_put_varint(uint8_t *at, uint64_t value)
{
    while (value >= 0x80) {
        *at++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *at++ = (uint8_t)value;
    return at;
}

static inline void wire_varint(WireBuffer *buffer, uint64_t value)
{
    if (!wire_reserve(buffer, 10))
        return;
    buffer->bytes = (size_t)(wire_put_varint(buffer->data + buffer->bytes, value) - buffer->data);
}

/* A varint field; zero is left out, as proto3 does. */
static inline void wire_uint(WireBuffer *buffer, uint32_t field, uint64_t value)
{
    if (!value)
        return;
    wire_varint(buffer, (uint64_t)field << 3);
    wire_varint(buffer, value);
}

/* A length-delimited field; empty is left out. */
void wire_bytes(WireBuffer *buffer, uint32_t field, const void *data, size_t bytes);
void wire_string(WireBuffer *buffer, uint32_t field, const char *text);

/* Submessage: begin returns a position that end takes; they nest. */
size_t wire_begin(WireBuffer *buffer, uint32_t field);
void wire_end(WireBuffer *buffer, size_t position);
