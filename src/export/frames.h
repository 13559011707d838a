// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "export/export.h"

/*
 * The frames of a stack in full: each address with its inline expansion, file, line and offset,
 * whatever the granularity of the view. For json, pprof and heaptrack.
 */

typedef struct ExportFrame {
    const char *function; /* never NULL; unknown: "0x1234 (in libfoo.so)" as in labels */
    const char *raw;      /* NULL: unknown */
    const char *file;     /* NULL: unknown */
    uint32_t line;        /* 0: unknown */
    bool inlined;         /* into the next one */
    bool known;
} ExportFrame;

typedef struct FrameReader {
    const View *view;
    ExportFrame *frames; /* of the last call */
    size_t capacity;
    char *unknown;
} FrameReader;

void frame_reader_init(FrameReader *reader, const View *view);
void frame_reader_done(FrameReader *reader);
/* Innermost first, at least one; valid until the next call on this reader. */
int frame_reader_get(FrameReader *reader, uint32_t frame, const ExportFrame **ret_frames);

/* "[unknown]" outside of all modules. */
const char *frame_module_path(const View *view, const ProfileFrame *frame);
/* Address in the file's own terms of the code that was running: return addresses minus 1. */
uint64_t frame_offset(const View *view, const ProfileFrame *frame);
/* Lower-case hex; "" when the module has none. */
void module_build_id(const ProfileModule *module, char *ret_hex, size_t capacity);
