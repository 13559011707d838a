// SPDX-License-Identifier: Apache-2.0
/*
 * Knows the frames that stand between "the code that wants memory" and malloc. A short table of
 * prefixes of demangled names; containers are not in it, for "the vector grew" is what one wants to
 * read. Return types and cv-qualifiers that the demangler puts in front of template functions do
 * not occur for these names. Only the leaf end of a stack is looked at. No state, any thread.
 */
#include "export/alloc_site.h"

#include <string.h>

#include "base/bits.h"

static const char *const prefixes[] = {
    /* C++: the standard library's own way from a container to malloc */
    "operator new(",
    "operator new[](",
    "std::__new_allocator<",
    "__gnu_cxx::new_allocator<",
    "__gnu_cxx::__alloc_traits<",
    "std::allocator_traits<",
    "std::allocator<",
    "std::__allocate_guarded<",
    "std::__libcpp_allocate",
    "std::__1::__libcpp_allocate",
    "std::__1::allocator<",
    "std::__1::allocator_traits<",
    /* Rust */
    "__rust_alloc",
    "__rust_realloc",
    "__rdl_alloc",
    "__rdl_realloc",
    "__rg_alloc",
    "__rg_realloc",
    "alloc::alloc::",
    "<alloc::alloc::Global as ",
    "<alloc::alloc::Global>::",
    "std::alloc::",
    "std::sys::alloc::",
    "<std::alloc::System as ",
};

bool alloc_site_is_plumbing(const char *function)
{
    if (strcmp(function, "operator new") == 0 || strcmp(function, "operator new[]") == 0)
        return true;
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
        if (strncmp(function, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

size_t alloc_site_skip(const Labels *labels, const uint32_t *path, size_t depth)
{
    size_t skip = 0;
    while (skip + 1 < depth && alloc_site_is_plumbing(labels_get(labels, path[skip])->function))
        skip++;
    return skip;
}

size_t alloc_site_skip_start(const Labels *labels, const uint32_t *path, size_t depth)
{
    static const char *const starts[] = {
        "_start", "__libc_start_main",      "start_thread", "__libc_start_main_impl",
        "clone3", "__libc_start_call_main", "__clone3",     "__clone",
        "clone"};
    size_t skip = 0;
    while (skip + 1 < depth) {
        uint32_t label = path[depth - 1 - skip];
        bool known = false;
        for (size_t i = 0; label < labels_count(labels) && i < ARRAY_SIZE(starts); i++)
            known = known || strcmp(labels_get(labels, label)->function, starts[i]) == 0;
        if (!known)
            break;
        skip++;
    }
    return skip;
}
