// SPDX-License-Identifier: Apache-2.0
/*
 * Full frames for the formats that carry addresses. With a symbolizer they come from it (it caches
 * them, so each is a look-up); without one, all that is known is the address and its module. One
 * reader holds the frames of one address at a time.
 */
#include "export/frames.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/names.h"

void frame_reader_init(FrameReader *reader, const View *view)
{
    *reader = (FrameReader){.view = view};
}

void frame_reader_done(FrameReader *reader)
{
    free(reader->frames);
    free(reader->unknown);
    *reader = (FrameReader){0};
}

const char *frame_module_path(const View *view, const ProfileFrame *frame)
{
    return frame->module == ID_NONE ? "[unknown]"
                                    : profile_module(view->profile, frame->module)->path;
}

uint64_t frame_offset(const View *view, const ProfileFrame *frame)
{
    uint64_t address = frame->address - (frame->exact || frame->address == 0 ? 0 : 1);
    return frame->module == ID_NONE ? address
                                    : address - profile_module(view->profile, frame->module)->bias;
}

void module_build_id(const ProfileModule *module, char *ret_hex, size_t capacity)
{
    size_t used = 0;
    ret_hex[0] = '\0';
    for (size_t i = 0; module->build_id && i < module->build_id_size && used + 3 <= capacity; i++)
        used += (size_t)snprintf(ret_hex + used, capacity - used, "%02x", module->build_id[i]);
}

static const char *unknown_name(FrameReader *reader, const ProfileFrame *frame)
{
    const char *module = name_base(frame_module_path(reader->view, frame));
    free(reader->unknown);
    if (asprintf(&reader->unknown, "0x%" PRIx64 " (in %s)", frame_offset(reader->view, frame),
                 module) < 0)
        reader->unknown = NULL;
    return reader->unknown;
}

int frame_reader_get(FrameReader *reader, uint32_t frame, const ExportFrame **ret_frames)
{
    const ProfileFrame *f = profile_frame(reader->view->profile, frame);
    const SymbolFrame *symbols = NULL;
    int count = reader->view->symbolizer ? symbol_resolve(reader->view->symbolizer,
                                                          reader->view->profile, frame, &symbols)
                                         : 0;
    if (count < 0)
        return count;
    size_t needed = count ? (size_t)count : 1;
    if (needed > reader->capacity) {
        ExportFrame *frames = realloc(reader->frames, needed * sizeof(*frames));
        if (!frames)
            return -ENOMEM;
        reader->frames = frames;
        reader->capacity = needed;
    }
    for (size_t i = 0; i < needed; i++) {
        const SymbolFrame *s = count ? &symbols[i] : &(const SymbolFrame){0};
        const char *function = s->function ? s->function : s->raw;
        reader->frames[i] = (ExportFrame){.function = function,
                                          .raw = s->raw,
                                          .file = s->file,
                                          .line = s->line,
                                          .inlined = i + 1 < needed,
                                          .known = function != NULL};
        if (!function && !(reader->frames[i].function = unknown_name(reader, f)))
            return -ENOMEM;
    }
    *ret_frames = reader->frames;
    return (int)needed;
}
