// SPDX-License-Identifier: Apache-2.0
/*
 * LD_PRELOAD is a list split at blanks and colons with no way to quote, so a path that holds one
 * cannot be preloaded; that is said instead of letting the loader complain about half a name. Only
 * the child's environment is changed. The id of the child is not known when its environment is
 * made: an entry with room for it is, and the child fills it in. Single-threaded, allocates.
 */
#include "cli/preload.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

/* From the folder of the executable: as installed, as staged, and in the build tree. */
static const char *const places[] = {
    MEMHAWK_LIB_FROM_BIN "/libmemhawk.so",
    "../lib/libmemhawk.so",
    "../runtime/libmemhawk.so",
};

/* An entry with room for any pid. */
#define ROOT_PID      "MEMHAWK_ROOT_PID"
#define ROOT_PID_ROOM "          "

static char *check_library(char *path)
{
    if (!path)
        return NULL;
    if (access(path, R_OK) < 0) {
        cli_error("%s: %s: point MEMHAWK_LIB to libmemhawk.so", path, strerror(errno));
    } else if (strpbrk(path, " :")) {
        cli_error("%s: LD_PRELOAD cannot hold a path with a blank or colon: install MemHawk "
                  "somewhere else",
                  path);
    } else {
        return path;
    }
    free(path);
    return NULL;
}

char *preload_find_library(void)
{
    const char *given = getenv("MEMHAWK_LIB");
    char own[PATH_MAX], path[2 * PATH_MAX];
    if (given && *given) {
        char *real = realpath(given, NULL);
        return check_library(real ? real : strdup(given));
    }
    ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);
    char *slash = n > 0 ? memrchr(own, '/', (size_t)n) : NULL;
    if (!slash) {
        cli_error("/proc/self/exe: not readable: mount /proc, or set MEMHAWK_LIB");
        return NULL;
    }
    *slash = 0;
    for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
        snprintf(path, sizeof(path), "%s/%s", own, places[i]);
        char *real = realpath(path, NULL);
        if (real)
            return check_library(real);
    }
    cli_error("libmemhawk.so: not found beside %s: install it, or set MEMHAWK_LIB", own);
    return NULL;
}

static bool is_variable(const char *entry, const char *name)
{
    size_t length = strlen(name);
    return strncmp(entry, name, length) == 0 && entry[length] == '=';
}

static char *make_entry(const char *name, const char *value, const char *tail)
{
    char *entry;
    bool has_tail = tail && *tail;
    int n = asprintf(&entry, "%s=%s%s%s", name, value, has_tail ? ":" : "", has_tail ? tail : "");
    return n < 0 ? NULL : entry;
}

static bool is_replaced(const char *entry, const PreloadSetting *settings, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (settings[i].value && is_variable(entry, settings[i].name))
            return true;
    return is_variable(entry, "LD_PRELOAD") || is_variable(entry, ROOT_PID);
}

char **preload_environment(const char *library, const PreloadSetting *settings, size_t count)
{
    size_t inherited = 0, used = 0;
    while (environ[inherited])
        inherited++;
    char **copy = calloc(inherited + count + 3, sizeof(*copy));
    if (!copy)
        return NULL;
    bool good = true;
    for (size_t i = 0; i < inherited && good; i++)
        if (!is_replaced(environ[i], settings, count))
            good = (copy[used++] = strdup(environ[i])) != NULL;
    for (size_t i = 0; i < count && good; i++)
        if (settings[i].value)
            good = (copy[used++] = make_entry(settings[i].name, settings[i].value, NULL)) != NULL;
    if (good)
        good = (copy[used++] = make_entry(ROOT_PID, ROOT_PID_ROOM, NULL)) != NULL;
    if (good)
        good = (copy[used++] = make_entry("LD_PRELOAD", library, getenv("LD_PRELOAD"))) != NULL;
    if (good)
        return copy;
    preload_free_environment(copy);
    return NULL;
}

void preload_put_root_pid(char **environment, pid_t pid)
{
    for (char **entry = environment; *entry; entry++)
        if (strcmp(*entry, ROOT_PID "=" ROOT_PID_ROOM) == 0)
            snprintf(*entry + strlen(ROOT_PID "="), sizeof(ROOT_PID_ROOM), "%d", (int)pid);
}

void preload_free_environment(char **environment)
{
    for (char **entry = environment; entry && *entry; entry++)
        free(*entry);
    free(environment);
}
