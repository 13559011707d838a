// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <stdio.h>

/* The terminal: what it can do, and text of unknown origin made harmless for it. */

/* Colours are wanted: a terminal that is not "dumb", and NO_COLOR is not set. */
bool term_has_color(int fd);
/* The locale can show more than ASCII. */
bool term_has_utf8(void);
/* Columns of the terminal, at least 40; 80 when it is none. */
unsigned term_width(int fd);
/* 0 when it is none. */
unsigned term_height(int fd);

/* Writes a name, path or message that no control character can leave. */
void term_write_clean(FILE *out, const char *s);
/* The same in at most WIDTH columns, see name_shorten(). */
void term_write_name(FILE *out, const char *name, unsigned width);
