// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Names out of profiles are hostile text. Each function here appends one name, made safe for one
 * kind of output, to a growing buffer that is used again and again. All return buffer->data (valid
 * until the next call with the same buffer) or NULL when there is no memory. A NULL name is "".
 */

typedef struct NameBuffer {
    char *data;
    size_t length, capacity;
} NameBuffer;

void name_buffer_done(NameBuffer *buffer);
void name_buffer_clear(NameBuffer *buffer);
const char *name_append(NameBuffer *buffer, const char *text, size_t length);

/* Valid UTF-8: each byte that is not part of a well-formed sequence becomes U+FFFD. */
const char *name_append_utf8(NameBuffer *buffer, const char *name);
/* Safe on a terminal: control characters (C0, C1, DEL), bidirectional overrides and bytes that are
 * not UTF-8 become \xNN; with `ascii` all that is not ASCII does. */
const char *name_append_terminal(NameBuffer *buffer, const char *name, bool ascii);
/* One frame of the folded format: ';' becomes ':', blanks and control characters '_'; never
 * empty. */
const char *name_append_folded(NameBuffer *buffer, const char *name);
/* One word of a command line that a shell reads as NAME, safe on a terminal: as it is, in '...', or
 * in
 * $'...' when it holds what a terminal must not see. */
const char *name_append_shell(NameBuffer *buffer, const char *name, bool ascii);
/* Text and attribute values of HTML. */
const char *name_append_html(NameBuffer *buffer, const char *name);
/* One line, for line-based formats: control characters become a blank. */
const char *name_append_line(NameBuffer *buffer, const char *name);

/*
 * Cuts a C++ or Rust name, already safe for the terminal, to `columns`: first the arguments of
 * templates become <...>, then the parameters (...), then the middle an ellipsis. Never cuts
 * inside a UTF-8 sequence. Result replaces the buffer's contents.
 */
const char *name_shorten(NameBuffer *buffer, const char *name, unsigned columns, bool ascii);

/* Columns that valid UTF-8 takes on a terminal. */
unsigned name_columns(const char *name);
/* Last part of a path; "" when NULL. */
const char *name_base(const char *path);
/* Length of the well-formed UTF-8 sequence at `text` (a NUL-terminated string), 0: not one. */
size_t name_sequence(const char *text, uint32_t *ret_code_point);
