// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdio.h>

#include "profile/profile.h"
#include "symbol/labels.h"

/*
 * One file per output format behind one vtable. An exporter reads a View: the stacks chosen with
 * their values; it never touches the profile's records.
 */

typedef struct ViewStack {
    uint32_t stack; /* profile_stack() index */
    Values values;  /* at the chosen moment, or what was added */
    Values removed; /* with --from/--to: what was removed; else 0 */
} ViewStack;

typedef struct View {
    const Profile *profile;
    const Labels *labels;
    Metric metric;  /* sorts and sizes */
    bool interval;  /* --from/--to were given */
    uint64_t at_ns; /* the moment; interval: its end */
    uint64_t from_ns;
    bool inverted;  /* --inverted: the other direction than the format's own. text: own is
                     * allocating function first, callers below; all others: root first */
    bool color;     /* text: ANSI colours */
    unsigned width; /* text: columns */
    size_t top;     /* text: how many stacks/children; json, folded: stacks; 0: the default */
    Granularity granularity;
    ViewStack *stacks; /* sorted by metric, largest first; stacks with all values 0 left out */
    size_t stack_count;
    const char *title; /* command or window, for headings */
    /* filled by view_build() or view_sort(), see view.h: */
    Symbolizer *symbolizer; /* may be NULL: then lines and offsets are those of the labels */
    Values total;           /* sum over stacks[].values */
    Values total_removed;   /* sum over stacks[].removed */
    bool at_peak;           /* the moment was chosen as the peak */
    bool collapse;          /* direct recursion is shown as one frame; sums unchanged */
    bool ascii;             /* text: no box drawing */
    bool full;              /* text: chains of callers are not cut */
    const char *filter;     /* NULL: none */
    /* values are the sums over all iterations of this window, live ones what they left behind (may
     * be negative); NULL: a moment or an interval */
    const ProfileWindow *window;
} View;

typedef struct Exporter {
    const char *name; /* as in --format */
    const char *extension;
    const char *what;                          /* one line for --help */
    bool binary;                               /* refuse to write to a terminal */
    int (*write)(const View *view, FILE *out); /* 0 or negative errno */
} Exporter;

extern const Exporter export_text, export_json, export_folded, export_html, export_pprof,
    export_speedscope, export_heaptrack;
/* NULL-terminated. */
extern const Exporter *const export_all[];
const Exporter *export_find(const char *name);

/*
 * A differential flame graph as one HTML file, for two profiles, two moments or two windows. The
 * caller has paired the stacks (profile/stack_diff.h) and gives one row for each pair, or for each
 * stack that is on one side only. A row is as wide as the larger of before and after, so that what
 * is gone keeps its place; the colour says by how many bytes (or allocations) a path grew or
 * shrank.
 */
typedef struct ExportDiffFrame {
    const char *function; /* not NULL */
    const char *place;    /* "file:line", NULL: not known */
    const char *module;   /* NULL: not known */
} ExportDiffFrame;

typedef struct ExportDiffRow {
    const uint32_t *path; /* indexes into frames, leaf first */
    size_t depth;
    Values before, after;
} ExportDiffRow;

typedef struct ExportDiff {
    const char *title;                      /* heading */
    const char *before_title, *after_title; /* file names, moments; shown under the heading */
    Metric metric;                          /* shown first; the page can switch to all others */
    bool inverted;                          /* starts with the allocating functions */
    const ExportDiffFrame *frames;
    size_t frame_count;
    const ExportDiffRow *rows;
    size_t row_count;
} ExportDiff;

/* All is borrowed for the call. 0 or negative errno. */
int export_html_diff(const ExportDiff *diff, FILE *out);
