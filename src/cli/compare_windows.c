// SPDX-License-Identifier: Apache-2.0
/*
 * Windows by the names that users give: see compare.h. A look-up walks all windows; the one that
 * tells which names are shared does so for each, and only for what is shown. One thread.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/compare.h"

enum { KNOWN_NAMES_MAX = 12, MORE_BYTES = 32 };

static bool has_name(const ProfileWindow *window, const char *text)
{
    return strcmp(window->name, text) == 0;
}

static bool has_name_and_scope(const ProfileWindow *window, const char *text)
{
    size_t length = strlen(window->name);
    return strncmp(window->name, text, length) == 0 &&
           strcmp(text + length, profile_scope_words(window)) == 0;
}

static bool has_end(const ProfileWindow *window, const char *text)
{
    size_t length = strlen(window->name), wanted = strlen(text);
    return wanted > 0 && length > wanted && window->name[length - wanted - 1] == '/' &&
           strcmp(window->name + length - wanted, text) == 0;
}

typedef bool Fits(const ProfileWindow *window, const char *text);

static size_t count_fitting(const Profile *profile, Fits *fits, const char *text,
                            const ProfileWindow **ret_last)
{
    size_t count = 0;
    for (size_t i = 0; i < profile_window_count(profile); i++) {
        const ProfileWindow *window = profile_window(profile, i);
        if (fits(window, text)) {
            *ret_last = window;
            count++;
        }
    }
    return count;
}

static Fits *const rules[] = {has_name, has_name_and_scope, has_end};

/* The first rule that any window fits, NULL: none. */
static Fits *find_rule(const Profile *profile, const char *text, const ProfileWindow **ret_window,
                       size_t *ret_count)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        *ret_count = count_fitting(profile, rules[i], text, ret_window);
        if (*ret_count > 0)
            return rules[i];
    }
    return NULL;
}

int compare_window_by_name(const Profile *profile, const char *text,
                           const ProfileWindow **ret_window)
{
    const ProfileWindow *window;
    size_t count;
    if (!find_rule(profile, text, &window, &count))
        return -ENOENT;
    if (count > 1)
        return -EEXIST;
    *ret_window = window;
    return 0;
}

/* "a, b and 3 more": as many as there is room for. */
static void list_windows(const Profile *profile, Fits *fits, const char *text, char *ret_list,
                         size_t size)
{
    size_t length = 0, shown = 0, left = 0;
    ret_list[0] = '\0';
    for (size_t i = 0; i < profile_window_count(profile); i++) {
        const ProfileWindow *window = profile_window(profile, i);
        if (fits && !fits(window, text))
            continue;
        bool wanted = left == 0 && shown < KNOWN_NAMES_MAX;
        char *title = wanted ? profile_window_title(profile, window) : NULL;
        size_t wants = title ? strlen(title) + 2 : size;
        if (length + wants + MORE_BYTES < size) {
            length += (size_t)snprintf(ret_list + length, size - length, "%s%s", shown ? ", " : "",
                                       title);
            shown++;
        } else {
            left++;
        }
        free(title);
    }
    if (left > 0)
        snprintf(ret_list + length, size - length, shown ? " and %zu more" : "%zu", left);
}

void compare_window_problem(const Profile *profile, const char *text, int code, char *ret_why,
                            size_t size)
{
    const ProfileWindow *window;
    size_t count, length;
    if (profile_window_count(profile) == 0) {
        snprintf(ret_why, size, "the profile has no windows: begin and end one with memhawk.h");
        return;
    }
    snprintf(ret_why, size, "%s",
             code == -EEXIST ? "more than one window is meant: "
                             : "the profile has no such window: it has ");
    length = strlen(ret_why);
    list_windows(profile, code == -EEXIST ? find_rule(profile, text, &window, &count) : NULL, text,
                 ret_why + length, size - length);
}

const ProfileWindow *compare_find_window(const char *verb, const Session *session, const char *name)
{
    char why[1024];
    const ProfileWindow *window;
    int r = compare_window_by_name(session->profile, name, &window);
    if (r == 0)
        return window;
    compare_window_problem(session->profile, name, r, why, sizeof why);
    cli_error("%s: --window %s: %s: %s", verb, name, profile_path(session->profile), why);
    return NULL;
}
