// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "export/view.h"
#include "profile/profile.h"
#include "symbol/labels.h"
#include "symbol/symbol.h"

/*
 * A profile with its names, opened the way all verbs do: problems go to stderr as one line each, a
 * terminal sees that something is going on when reading debug information takes long.
 */

typedef struct Session {
    Profile *profile;
    Symbolizer *symbolizer;
    Labels *labels;
} Session;

/* Opens the file and the symbolizer. 0, or a negative errno after one problem line. */
int session_open(const char *path, const SymbolOptions *options, Session *ret_session);
/* Makes or updates the labels, with progress. The same granularity each time. */
int session_label(Session *session, Granularity granularity);
void session_close(Session *session);

/* Lines on stderr: damage, recorder's warning, losses. */
void session_warn(const Session *session);

/*
 * One line with the way out when a good part of the view has no names. Says nothing when names are
 * mostly there.
 */
void session_hint_names(const Session *session, const View *view, bool debuginfod);
