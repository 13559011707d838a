// SPDX-License-Identifier: Apache-2.0
/*
 * Purpose: memory and look-up tables of the symbolizer.
 *
 * Chunks of 256 KiB are bumped and freed together; a larger request gets a chunk of its own. The
 * map is open addressing with linear probing at a load of at most 1/2; nothing is ever removed.
 * A string is found by the 64-bit hash of its text; texts with the same hash are chained. So names
 * of hundreds of thousands of frames cost one copy each and compare by pointer.
 *
 * One thread at a time; no locks, but for that of SymbolTexts, which is held for one look-up.
 */
#include "symbol/symbol_arena.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"

#define CHUNK_BYTES ((size_t)256 << 10)

struct SymbolChunk {
    struct SymbolChunk *next;
    size_t used, capacity;
    _Alignas(8) char data[];
};

struct SymbolString {
    struct SymbolString *next; /* same hash, other text */
    size_t length;
    char text[];
};

static size_t slot_of(const SymbolMap *map, uint64_t key)
{
    size_t mask = map->capacity - 1;
    size_t at = (size_t)hash_mix(0, key) & mask;
    while (map->slots[at].value && map->slots[at].key != key)
        at = (at + 1) & mask;
    return at;
}

void *symbol_map_find(const SymbolMap *map, uint64_t key)
{
    return map->capacity ? map->slots[slot_of(map, key)].value : NULL;
}

static int map_grow(SymbolMap *map)
{
    SymbolMap bigger = {.capacity = map->capacity ? map->capacity * 2 : 64, .count = map->count};
    bigger.slots = calloc(bigger.capacity, sizeof(*bigger.slots));
    if (!bigger.slots)
        return -ENOMEM;
    for (size_t i = 0; i < map->capacity; i++)
        if (map->slots[i].value)
            bigger.slots[slot_of(&bigger, map->slots[i].key)] = map->slots[i];
    free(map->slots);
    *map = bigger;
    return 0;
}

int symbol_map_put(SymbolMap *map, uint64_t key, void *value)
{
    if (map->count * 2 >= map->capacity) {
        int r = map_grow(map);
        if (r < 0)
            return r;
    }
    struct SymbolMapSlot *slot = &map->slots[slot_of(map, key)];
    map->count += !slot->value;
    *slot = (struct SymbolMapSlot){key, value};
    return 0;
}

void symbol_map_done(SymbolMap *map)
{
    free(map->slots);
    *map = (SymbolMap){0};
}

void *symbol_arena_take(SymbolArena *arena, size_t bytes)
{
    struct SymbolChunk *chunk = arena->chunks;
    bytes = (bytes + 7) & ~(size_t)7;
    if (!chunk || chunk->capacity - chunk->used < bytes) {
        size_t capacity = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;
        chunk = malloc(sizeof(*chunk) + capacity);
        if (!chunk)
            return NULL;
        *chunk = (struct SymbolChunk){.capacity = capacity};
        chunk->next = arena->chunks;
        arena->chunks = chunk;
    }
    void *memory = chunk->data + chunk->used;
    chunk->used += bytes;
    return memset(memory, 0, bytes);
}

static uint64_t text_hash(const char *text, size_t length)
{
    uint64_t hash = length;
    uint64_t word;
    for (; length >= 8; length -= 8, text += 8) {
        memcpy(&word, text, 8);
        hash = hash_mix(hash, word);
    }
    word = 0;
    memcpy(&word, text, length);
    return hash_mix(hash, word);
}

struct SymbolTexts {
    pthread_mutex_t lock;
    SymbolArena arena; /* lock; what was interned is never written again */
};

int symbol_texts_new(SymbolTexts **ret_texts)
{
    SymbolTexts *texts = calloc(1, sizeof(*texts));
    if (!texts)
        return -ENOMEM;
    pthread_mutex_init(&texts->lock, NULL);
    *ret_texts = texts;
    return 0;
}

void symbol_texts_free(SymbolTexts *texts)
{
    if (!texts)
        return;
    symbol_arena_done(&texts->arena);
    pthread_mutex_destroy(&texts->lock);
    free(texts);
}

static const char *intern(SymbolArena *arena, const char *text)
{
    size_t length = strnlen(text, SYMBOL_TEXT_MAX);
    uint64_t hash = text_hash(text, length);
    struct SymbolString *first = symbol_map_find(&arena->strings, hash);
    for (struct SymbolString *s = first; s; s = s->next)
        if (s->length == length && memcmp(s->text, text, length) == 0)
            return s->text;
    struct SymbolString *string = symbol_arena_take(arena, sizeof(*string) + length + 1);
    if (!string)
        return NULL;
    string->next = first;
    string->length = length;
    memcpy(string->text, text, length);
    return symbol_map_put(&arena->strings, hash, string) < 0 ? NULL : string->text;
}

const char *symbol_arena_intern(SymbolArena *arena, const char *text)
{
    if (!text || !arena->shared)
        return text ? intern(arena, text) : NULL;
    pthread_mutex_lock(&arena->shared->lock);
    const char *interned = intern(&arena->shared->arena, text);
    pthread_mutex_unlock(&arena->shared->lock);
    return interned;
}

void symbol_arena_done(SymbolArena *arena)
{
    while (arena->chunks) {
        struct SymbolChunk *next = arena->chunks->next;
        free(arena->chunks);
        arena->chunks = next;
    }
    symbol_map_done(&arena->strings);
}
