// SPDX-License-Identifier: Apache-2.0
/*
 * Modules of the model. Our files number them and each frame names its module, so a library that
 * was unloaded and another one at the same address are two. Files of the original MemHawk repeat
 * the loaded objects without numbers: there a module is (file name, bias), and a frame belongs to
 * the module that covers its address and was told of last.
 */
#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "profile/model.h"

static int copy_segments(Profile *profile, const DecodedSnapshot *snapshot,
                         const DecodedModule *from, ProfileModule *to)
{
    struct ProfileSegment *segments =
        pool_take(&profile->pool, from->segment_count * sizeof *segments);

    if (!segments)
        return -ENOMEM;
    for (size_t i = 0; i < from->segment_count; i++) {
        const DecodedSegment *segment = &snapshot->segments.items[from->first_segment + i];
        segments[i] = (struct ProfileSegment){.addr = segment->addr, .size = segment->size};
    }
    to->segments = segments;
    to->segment_count = from->segment_count;
    return 0;
}

static int module_new(Profile *profile, const DecodedSnapshot *snapshot, const DecodedModule *from,
                      const char *path, uint32_t *ret_module)
{
    ModuleState *state = vector_put(&profile->modules, &profile->budget);
    ProfileModule *to;

    if (!state)
        return -ENOMEM;
    *ret_module = (uint32_t)(profile->modules.count - 1);
    *state = (ModuleState){.seen = ++profile->modules_seen};
    to = &state->pub;
    to->module_id = from->module_id ? from->module_id : *ret_module + 1;
    to->path = "";
    to->bias = from->bias;
    to->load_ns = from->load_ns;
    to->unload_ns = from->unload_ns;
    to->deleted = from->deleted;
    to->path = pool_text(&profile->pool, path, strlen(path));
    if (!to->path || copy_segments(profile, snapshot, from, to) < 0) {
        profile->modules.count--;
        return -ENOMEM;
    }
    if (from->build_id_size) {
        to->build_id = (const uint8_t *)pool_text(&profile->pool, (const char *)from->build_id,
                                                  from->build_id_size);
        to->build_id_size = to->build_id ? from->build_id_size : 0;
    }
    return 0;
}

static int put_numbered(Profile *profile, const DecodedSnapshot *snapshot,
                        const DecodedModule *from, uint64_t offset)
{
    uint32_t index = id_map_find(&profile->module_ids, from->module_id);
    ProfileModule *module;

    if (index == ID_MAP_NONE) {
        if (module_new(profile, snapshot, from, from->path, &index) < 0)
            return -ENOMEM;
        return id_map_put(&profile->module_ids, from->module_id, index);
    }
    module = &profile->modules.items[index].pub;
    if (strcmp(module->path, from->path) != 0 || module->bias != from->bias)
        model_damage(profile, -EBADMSG, offset, "module %u is defined twice, differently",
                     from->module_id);
    else if (from->unload_ns)
        module->unload_ns = from->unload_ns;
    return 0;
}

/* ---- files that do not number their modules ----------------------------------------------------
 */

static uint64_t module_key(const char *path, uint64_t bias)
{
    uint64_t hash = hash_mix(bias, 1);

    for (; *path; path++)
        hash = hash_mix(hash, (unsigned char)*path);
    return hash | UINT64_C(1) << 63; /* away from the id table's small numbers */
}

static void add_ranges(Profile *profile, uint32_t index, uint64_t offset, int *ret)
{
    const ProfileModule *module = &profile->modules.items[index].pub;

    for (size_t i = 0; i < module->segment_count && *ret == 0; i++)
        *ret = module_map_add(&profile->module_map, &profile->budget,
                              module->bias + module->segments[i].addr, module->segments[i].size,
                              index);
    if (*ret == -E2BIG) {
        model_damage(profile, -E2BIG, offset, "more than %d module segments: the rest is left out",
                     MODULE_RANGES_MAX);
        *ret = 0;
    }
}

static int put_unnumbered(Profile *profile, const DecodedSnapshot *snapshot,
                          const DecodedModule *from, uint64_t offset)
{
    /* The loader's list has no name for the executable itself. */
    const char *path = from->path[0] ? from->path : profile->process.full_path;
    uint64_t key = module_key(path, from->bias);
    uint32_t index = id_map_find(&profile->module_keys, key);
    int ret = 0;

    if (index != ID_MAP_NONE) {
        ModuleState *state = &profile->modules.items[index];
        if (strcmp(state->pub.path, path) == 0 && state->pub.bias == from->bias)
            state->seen = ++profile->modules_seen;
        return 0;
    }
    if (module_new(profile, snapshot, from, path, &index) < 0 ||
        id_map_put(&profile->module_keys, key, index) < 0)
        return -ENOMEM;
    add_ranges(profile, index, offset, &ret);
    return ret;
}

static uint64_t rank_seen(const void *context, uint32_t module)
{
    const Profile *profile = context;

    return profile->modules.items[module].seen;
}

uint32_t model_module_at(const Profile *profile, uint64_t address, bool exact)
{
    return module_map_find(&profile->module_map, exact ? address : address - 1, rank_seen, profile);
}

int model_put_modules(Profile *profile, const DecodedSnapshot *snapshot, uint64_t offset)
{
    for (size_t i = 0; i < snapshot->modules.count; i++) {
        const DecodedModule *module = &snapshot->modules.items[i];
        int ret = module->module_id ? put_numbered(profile, snapshot, module, offset)
                                    : put_unnumbered(profile, snapshot, module, offset);
        if (ret < 0)
            return ret;
    }
    return 0;
}
