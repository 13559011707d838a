// SPDX-License-Identifier: Apache-2.0
/*
 * See wire.h. A submessage reserves one byte for its length; most of ours are shorter than 128
 * bytes and need no more. A longer one is moved by the extra length bytes when it ends.
 */
#include "format/wire.h"

bool wire_grow(WireBuffer *buffer, size_t more)
{
    if (buffer->failed)
        return false;
    if (buffer->capacity - buffer->bytes >= more)
        return true;
    size_t capacity = buffer->capacity ? buffer->capacity : 4096;
    while (capacity - buffer->bytes < more)
        capacity *= 2;
    uint8_t *data =
        buffer->grow ? buffer->grow(buffer->data, buffer->bytes, buffer->capacity, capacity) : NULL;
    if (!data) {
        buffer->failed = true;
        return false;
    }
    buffer->data = data;
    buffer->capacity = capacity;
    return true;
}

void wire_bytes(WireBuffer *buffer, uint32_t field, const void *data, size_t bytes)
{
    if (!bytes)
        return;
    wire_varint(buffer, (uint64_t)field << 3 | 2);
    wire_varint(buffer, bytes);
    if (!wire_reserve(buffer, bytes))
        return;
    memcpy(buffer->data + buffer->bytes, data, bytes);
    buffer->bytes += bytes;
}

void wire_string(WireBuffer *buffer, uint32_t field, const char *text)
{
    wire_bytes(buffer, field, text, strlen(text));
}

size_t wire_begin(WireBuffer *buffer, uint32_t field)
{
    wire_varint(buffer, (uint64_t)field << 3 | 2);
    if (!wire_reserve(buffer, 1))
        return 0;
    buffer->data[buffer->bytes++] = 0;
    return buffer->bytes;
}

void wire_end(WireBuffer *buffer, size_t position)
{
    if (!wire_reserve(buffer, 10))
        return;
    size_t length = buffer->bytes - position;
    size_t extra = 0;
    for (size_t rest = length >> 7; rest; rest >>= 7)
        extra++;
    uint8_t *start = buffer->data + position;
    if (extra)
        memmove(start + extra, start, length);
    uint8_t *at = start - 1;
    for (size_t rest = length;; rest >>= 7) {
        if (rest < 0x80) {
            *at = (uint8_t)rest;
            break;
        }
        *at++ = (uint8_t)(rest | 0x80);
    }
    buffer->bytes += extra;
}
