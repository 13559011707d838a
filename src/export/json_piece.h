// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdio.h>

#include <jansson.h>

#include "profile/profile.h"

/*
 * Large JSON documents written in pieces: jansson makes each piece, the writer only puts commas
 * and the outermost brackets between them, so memory is that of the largest piece.
 */

/* Dumps and releases a piece; NULL (no memory while it was built) gives -ENOMEM. */
int json_piece_write(json_t *piece, FILE *out);
/* The same, safe inside an HTML script element: <, > and & as \u00xx, all ASCII. */
int json_piece_write_html(json_t *piece, FILE *out);
/* A string with U+FFFD for what is not UTF-8; JSON null for NULL. NULL: no memory. */
json_t *json_name(const char *name);
/* "0x1f" : addresses and offsets, which do not fit into JSON numbers. */
json_t *json_hex(uint64_t value);
/* {"live_bytes": ..., "live_count": ..., ...} */
json_t *json_values(const Values *values);
/* "live_bytes": metric_name() with underscores. Static. */
const char *json_metric_key(Metric metric);
