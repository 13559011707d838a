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

int symbol_resolve(Symbolizer *symbolizer, const Profile *profile, uint32_t frame,
                   const SymbolFrame **ret_frames)
{
    const ProfileFrame *f = profile_frame(profile, frame);
    const ProfileModule *module =
        f && f->module != ID_NONE ? profile_module(profile, f->module) : NULL;
    if (!module)
        return symbol_resolve_address(symbolizer, NULL, 0, ret_frames);
    SymbolModuleInfo info = info_of(module);
    return symbol_resolve_address(symbolizer, &info, f->address - module->bias - !f->exact,
                                  ret_frames);
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
