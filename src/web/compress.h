// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stddef.h>

/* Content encodings of HTTP. */

typedef enum Encoding { ENCODING_NONE, ENCODING_GZIP, ENCODING_ZSTD } Encoding;

/* "gzip", "zstd"; NULL for none. */
const char *encoding_name(Encoding encoding);
/* The best that an Accept-Encoding header (NULL: not given) allows. */
Encoding encoding_choose(const char *accept);
/* Compresses SIZE bytes at the fastest level into a malloc'd *ret_data. -ENOMEM. */
int encoding_compress(Encoding encoding, const void *data, size_t size, char **ret_data,
                      size_t *ret_size);
