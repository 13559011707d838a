// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>

#include "export/export.h"

/* What stands above the tree of a text report: program, span, key figures, losses in one line. */
int text_head_write(const View *view, FILE *out);
/* The line above one tree: what it shows and its sum. */
void text_heading_write(const View *view, bool removed, FILE *out);

/* "the peak, ", "the end, " (of a run that is known to have ended) or "": before the view's time.
 */
const char *moment_words(const View *view);

/* "window parse, 1,000 iterations, 1 unfinished". malloc'd, NULL: no memory. */
char *window_text(const ProfileWindow *window);

/* Nothing is known between two snapshots: "as of the snapshot at 1.53 s" when that is not the
 * moment that the view is of, else NULL (or when there is no memory). malloc'd. */
char *as_of_text(const View *view);

/* "12 releases not seen, 3 stacks cut"; "" when nothing was lost. malloc'd, NULL: no memory. */
char *losses_text(const Profile *profile);
/* "exit status 0", "signal 9 (Killed)", "still running". Static or in the buffer; reads /proc. */
const char *end_text(const Profile *profile, char *buffer, size_t capacity);
/* The command line, arguments with blanks quoted; not escaped. malloc'd, NULL: no memory. */
char *command_text(const Profile *profile);
