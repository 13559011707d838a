// SPDX-License-Identifier: Apache-2.0
/*
 * Which profiles belong to a run: those that were not in the output folder before it. Known by the
 * fixed ends of their names only; whose they are stands inside (a process name may itself look like
 * "a_12_3", so the name cannot be split without doubt). n log n in the files of the folder.
 */
#include "cli/run_files.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_START "memhawk_"
#define NAME_END   "_protobuf.binpb"

static bool is_profile_name(const char *name)
{
    size_t length = strlen(name), end = strlen(NAME_END);
    return strncmp(name, NAME_START, strlen(NAME_START)) == 0 && length > end &&
           strcmp(name + length - end, NAME_END) == 0;
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int add_path(RunFiles *files, size_t *capacity, const char *folder, const char *name)
{
    if (files->count == *capacity) {
        size_t grown = *capacity ? *capacity * 2 : 16;
        char **paths = realloc(files->paths, grown * sizeof(*paths));
        if (!paths)
            return -ENOMEM;
        files->paths = paths;
        *capacity = grown;
    }
    if (asprintf(&files->paths[files->count], "%s%s%s", folder,
                 folder[strlen(folder) - 1] == '/' ? "" : "/", name) < 0)
        return -ENOMEM;
    files->count++;
    return 0;
}

int run_files_list(const char *folder, RunFiles *ret_files)
{
    size_t capacity = 0;
    int r = 0;
    struct dirent *entry;
    *ret_files = (RunFiles){0};
    DIR *dir = opendir(folder);
    if (!dir)
        return -errno;
    while (r == 0 && (entry = readdir(dir)))
        if (is_profile_name(entry->d_name))
            r = add_path(ret_files, &capacity, folder, entry->d_name);
    closedir(dir);
    if (ret_files->count)
        qsort(ret_files->paths, ret_files->count, sizeof(*ret_files->paths), compare_paths);
    return r;
}

void run_files_subtract(RunFiles *files, const RunFiles *before)
{
    size_t kept = 0;
    for (size_t i = 0; i < files->count; i++) {
        if (before->count && bsearch(&files->paths[i], before->paths, before->count,
                                     sizeof(*before->paths), compare_paths))
            free(files->paths[i]);
        else
            files->paths[kept++] = files->paths[i];
    }
    files->count = kept;
}

void run_files_free(RunFiles *files)
{
    for (size_t i = 0; i < files->count; i++)
        free(files->paths[i]);
    free(files->paths);
    *files = (RunFiles){0};
}
