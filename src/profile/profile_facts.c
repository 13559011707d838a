// SPDX-License-Identifier: Apache-2.0
/*
 * What a profile is about: plain access to the model's parts, each O(1). Split from profile.c,
 * which reads the file, and profile_query.c, which computes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/model.h"

static const char *const metric_names[METRIC_MAX] = {
    [METRIC_LIVE_BYTES] = "live-bytes",   [METRIC_LIVE_COUNT] = "live-count",
    [METRIC_TOTAL_BYTES] = "total-bytes", [METRIC_TOTAL_COUNT] = "total-count",
    [METRIC_TEMPORARY] = "temporary",     [METRIC_OVERHEAD] = "overhead",
};

const char *metric_name(Metric metric)
{
    return metric_names[metric];
}

int metric_find(const char *name, Metric *ret_metric)
{
    for (int m = 0; m < METRIC_MAX; m++) {
        if (strcmp(metric_names[m], name) == 0) {
            *ret_metric = (Metric)m;
            return 0;
        }
    }
    return -EINVAL;
}

const ProfileError *profile_damage(const Profile *profile)
{
    return profile_damage_at(profile, 0);
}

const ProfileError *profile_damage_at(const Profile *profile, size_t index)
{
    if (index < profile->damage_count && index < DAMAGES_KEPT)
        return &profile->damages[index];
    return index == profile->damage_count && profile->tail.code ? &profile->tail : NULL;
}

size_t profile_damage_count(const Profile *profile)
{
    return profile->damage_count + (profile->tail.code != 0);
}

const char *profile_path(const Profile *profile)
{
    return profile->path;
}

int profile_reopen(const Profile *profile)
{
    char path[40];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", profile->fd);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

uint64_t profile_file_bytes(const Profile *profile)
{
    return profile->offset;
}

uint64_t profile_memory_bytes(const Profile *profile)
{
    return profile->budget.used_bytes;
}

bool profile_is_ended(const Profile *profile)
{
    return profile->ended;
}

const ProfileProcess *profile_process(const Profile *profile)
{
    return &profile->process;
}

size_t profile_module_count(const Profile *profile)
{
    return profile->modules.count;
}

const ProfileModule *profile_module(const Profile *profile, uint32_t index)
{
    return &profile->modules.items[index].pub;
}

size_t profile_frame_count(const Profile *profile)
{
    return profile->frames.count;
}

const ProfileFrame *profile_frame(const Profile *profile, uint32_t index)
{
    return &profile->frames.items[index].pub;
}

size_t profile_stack_count(const Profile *profile)
{
    return profile->stacks.count;
}

const ProfileStack *profile_stack(const Profile *profile, uint32_t index)
{
    return &profile->stacks.items[index].pub;
}

size_t profile_snapshot_count(const Profile *profile)
{
    return profile->snapshots.count;
}

const ProfileSnapshot *profile_snapshot(const Profile *profile, size_t index)
{
    return &profile->snapshots.items[index];
}

const ProfileLosses *profile_losses(const Profile *profile)
{
    return &profile->losses;
}

EndReason profile_end(const Profile *profile, int *ret_status)
{
    if (ret_status)
        *ret_status = profile->end_status;
    return (EndReason)profile->end_reason;
}

const Values *profile_inherited(const Profile *profile)
{
    return &profile->inherited;
}

size_t profile_mark_count(const Profile *profile)
{
    return profile->marks.count;
}

const ProfileMark *profile_mark(const Profile *profile, size_t index)
{
    return &profile->marks.items[index];
}

size_t profile_window_count(const Profile *profile)
{
    return profile->windows.count;
}

const ProfileWindow *profile_window(const Profile *profile, size_t index)
{
    return &profile->windows.items[index].pub;
}

static bool window_has_title(const ProfileWindow *window, const char *text)
{
    size_t length = strlen(window->name);
    return strncmp(window->name, text, length) == 0 &&
           strcmp(text + length, profile_scope_words(window)) == 0;
}

const ProfileWindow *profile_window_find(const Profile *profile, const char *text)
{
    const ProfileWindow *titled = NULL;
    for (size_t i = 0; i < profile->windows.count; i++) {
        const ProfileWindow *window = &profile->windows.items[i].pub;
        if (strcmp(window->name, text) == 0)
            return window;
        if (!titled && window_has_title(window, text))
            titled = window;
    }
    return titled;
}

static char *title_of(const ProfileWindow *window, bool shared)
{
    char *title;
    int length = asprintf(&title, "%s%s", window->name, shared ? profile_scope_words(window) : "");
    return length < 0 ? NULL : title;
}

char *profile_window_title(const Profile *profile, const ProfileWindow *window)
{
    size_t sharing = 0;
    for (size_t i = 0; i < profile->windows.count; i++)
        sharing += strcmp(profile->windows.items[i].pub.name, window->name) == 0;
    return title_of(window, sharing > 1);
}

static int compare_names(const void *a, const void *b)
{
    const WindowState *const *x = a, *const *y = b;
    return strcmp((*x)->pub.name, (*y)->pub.name);
}

/* Sorted by name, those that share one are neighbours. */
char **profile_window_titles(const Profile *profile)
{
    size_t count = profile->windows.count;
    const WindowState *items = profile->windows.items;
    char **titles = calloc(count + 1, sizeof(*titles));
    const WindowState **sorted = calloc(count + 1, sizeof(*sorted));
    bool ok = titles && sorted;
    for (size_t i = 0; ok && i < count; i++)
        sorted[i] = &items[i];
    if (ok)
        qsort(sorted, count, sizeof(*sorted), compare_names);
    for (size_t i = 0; ok && i < count; i++) {
        bool shared = (i > 0 && compare_names(&sorted[i - 1], &sorted[i]) == 0) ||
                      (i + 1 < count && compare_names(&sorted[i], &sorted[i + 1]) == 0);
        char *title = title_of(&sorted[i]->pub, shared);
        titles[sorted[i] - items] = title;
        ok = title != NULL;
    }
    free(sorted);
    if (ok)
        return titles;
    profile_window_titles_free(profile, titles);
    return NULL;
}

void profile_window_titles_free(const Profile *profile, char **titles)
{
    for (size_t i = 0; titles && i < profile->windows.count; i++)
        free(titles[i]);
    free(titles);
}
