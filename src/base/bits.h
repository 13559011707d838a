// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdint.h>
#include <string.h>

/* Branch hints, byte order and hashing. */

#define LIKELY(x)   __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define COLD        __attribute__((cold, noinline))
#define EXPORT      __attribute__((visibility("default")))
/* On declarations of data used in the hooks: no detour through the GOT. */
#define HIDDEN        __attribute__((visibility("hidden")))
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static inline uint64_t load_be64(const void *p)
{
    uint64_t v;
    memcpy(&v, p, 8);
    return __builtin_bswap64(v);
}

static inline void store_be64(void *p, uint64_t v)
{
    v = __builtin_bswap64(v);
    memcpy(p, &v, 8);
}

/*
 * Mixes one word into a running hash; good enough for open addressing on the high or low bits.
 * Multiply and fold the 128-bit product, the "mum" construction (Vladimir Makarov's mum-hash; also
 * the core of wyhash).
 */
static inline uint64_t hash_mix(uint64_t hash, uint64_t word)
{
    unsigned __int128 product = (unsigned __int128)(hash ^ word ^ UINT64_C(0x9e3779b97f4a7c15)) *
                                (UINT64_C(0xe7037ed1a0b428db) ^ (word << 1));
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}
