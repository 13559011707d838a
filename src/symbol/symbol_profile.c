// SPDX-License-Identifier: Apache-2.0
/*
 * Purpose: the symbolizer asked by frames and modules of a Profile. Only this file and labels.c
 * know both. Runtime addresses become addresses in the file's terms here: minus the load bias, and
 * minus 1 for return addresses, which name the instruction after the call.
 */
#include <errno.h>

#include "symbol/symbol.h"

static SymbolModuleInfo info_of(const ProfileModule *module)
{
    return (SymbolModuleInfo){.path = module->path,
                              .build_id = module->build_id,
                              .build_id_size = module->build_id_size,
                              .segments = module->segments,
                              .segment_count = module->segment_count,
                              .deleted = module->deleted};
}

bool symbol_frame_info(const Profile *profile, uint32_t frame, SymbolModuleInfo *ret_info,
                       uint64_t *ret_file_pc)
{
    const ProfileFrame *f = profile_frame(profile, frame);
    const ProfileModule *module =
        f && f->module != ID_NONE ? profile_module(profile, f->module) : NULL;
    if (!module)
        return false;
    *ret_info = info_of(module);
    *ret_file_pc = f->address - module->bias - !f->exact;
    return true;
}

void symbol_module_info(const Profile *profile, uint32_t index, SymbolModuleInfo *ret_info)
{
    *ret_info = info_of(profile_module(profile, index));
}

int symbol_resolve(Symbolizer *symbolizer, const Profile *profile, uint32_t frame,
                   const SymbolFrame **ret_frames)
{
    SymbolModuleInfo info;
    uint64_t file_pc = 0;
    bool inside = symbol_frame_info(profile, frame, &info, &file_pc);
    return symbol_resolve_address(symbolizer, inside ? &info : NULL, file_pc, ret_frames);
}

SymbolSource symbol_source(Symbolizer *symbolizer, const Profile *profile, uint32_t index,
                           const char **ret_path)
{
    const ProfileModule *module =
        index < profile_module_count(profile) ? profile_module(profile, index) : NULL;
    if (!module) {
        if (ret_path)
            *ret_path = NULL;
        return SYMBOL_NONE;
    }
    SymbolModuleInfo info = info_of(module);
    return symbol_source_of(symbolizer, &info, ret_path);
}
