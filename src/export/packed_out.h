// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdio.h>

typedef enum Packing { PACKING_NONE, PACKING_GZIP, PACKING_ZSTD } Packing;

/*
 * A stream that compresses into `out`, which stays open and the caller's. fclose() finishes; its
 * result, like ferror(), says whether all was written. NULL: no memory. For PACKING_NONE use `out`.
 */
FILE *packed_open(FILE *out, Packing packing);
/* By the name of the file that `out` writes to: .gz, .zst, else none. */
Packing packed_by_name(FILE *out);
