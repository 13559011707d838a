// SPDX-License-Identifier: Apache-2.0
/*
 * Reads the settings; a table of names and parsers. Runs once, before anything is counted, on the
 * thread of the first allocation; no libc calls that allocate.
 */
#include "runtime/config.h"

#include <fcntl.h>
#include <string.h>

#include "base/bits.h"
#include "base/sys.h"
#include "runtime/log.h"
#include "unwind/unwind.h"

typedef struct Setting {
    const char *name;
    bool (*parse)(Config *config, const char *value);
    const char *allowed;
} Setting;

static const Setting *wrong[16];
static size_t wrong_count;

static bool parse_number(const char *text, unsigned long low, unsigned long high,
                         unsigned long *ret_value)
{
    unsigned long value = 0;
    if (!*text)
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9' || value > high)
            return false;
        value = value * 10 + (unsigned long)(*text - '0');
    }
    if (value < low || value > high)
        return false;
    *ret_value = value;
    return true;
}

static int find_word(const char *value, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(value, words[i]) == 0)
            return (int)i;
    return -1;
}

static bool copy_text(char *into, size_t capacity, const char *value)
{
    size_t length = strlen(value);
    if (length >= capacity)
        return false;
    memcpy(into, value, length + 1);
    return true;
}

static bool set_enable(Config *config, const char *value)
{
    unsigned long number;
    if (!parse_number(value, 0, 1, &number))
        return false;
    config->enabled = number;
    return true;
}

static bool set_interval(Config *config, const char *value)
{
    unsigned long number;
    if (!parse_number(value, 10, 3600000, &number))
        return false;
    config->interval_ms = (unsigned)number;
    return true;
}

static bool set_depth(Config *config, const char *value)
{
    unsigned long number;
    if (!parse_number(value, 1, UNWIND_MAX_DEPTH, &number))
        return false;
    config->depth = (unsigned)number;
    return true;
}

static bool set_unwind(Config *config, const char *value)
{
    static const char *const words[] = {"cfi", "fp", "none"};
    int found = find_word(value, words, ARRAY_SIZE(words));
    if (found >= 0)
        config->unwind = (ConfigUnwind)found;
    return found >= 0;
}

static bool set_log(Config *config, const char *value)
{
    static const char *const words[] = {"off", "error", "warn", "info"};
    int found = find_word(value, words, ARRAY_SIZE(words));
    if (found >= 0)
        config->log = (ConfigLog)found;
    return found >= 0;
}

static bool set_follow(Config *config, const char *value)
{
    static const char *const words[] = {"all", "none"};
    int found = find_word(value, words, ARRAY_SIZE(words));
    config->follow = found >= 0 ? (ConfigFollow)found : CONFIG_FOLLOW_REGEX;
    return found >= 0 || copy_text(config->follow_regex, sizeof(config->follow_regex), value);
}

static bool set_output(Config *config, const char *value)
{
    return copy_text(config->output, sizeof(config->output), value);
}

static bool set_name_filter(Config *config, const char *value)
{
    return copy_text(config->name_filter, sizeof(config->name_filter), value);
}

static bool set_root_pid(Config *config, const char *value)
{
    unsigned long number;
    if (!parse_number(value, 1, INT32_MAX, &number))
        return false;
    config->root_pid = (uint32_t)number;
    return true;
}

static const Setting settings[] = {
    {"MEMHAWK_ENABLE", set_enable, "0 or 1"},
    {"MEMHAWK_INTERVAL_MS", set_interval, "10 to 3600000"},
    {"MEMHAWK_DEPTH", set_depth, "1 to 256"},
    {"MEMHAWK_UNWIND", set_unwind, "cfi, fp or none"},
    {"MEMHAWK_LOG", set_log, "off, error, warn or info"},
    {"MEMHAWK_FOLLOW", set_follow, "none, all or a regular expression below 512 bytes"},
    {"MEMHAWK_OUTPUT", set_output, "a folder, below 4096 bytes"},
    {"MEMHAWK_NAME_FILTER", set_name_filter, "a regular expression below 512 bytes"},
    {"MEMHAWK_ROOT_PID", set_root_pid, "set by memhawk run"},
};

bool config_set(Config *config, const char *assignment)
{
    for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
        size_t length = strlen(settings[i].name);
        if (strncmp(assignment, settings[i].name, length) != 0 || assignment[length] != '=')
            continue;
        if (settings[i].parse(config, assignment + length + 1))
            return true;
        if (wrong_count < ARRAY_SIZE(wrong))
            wrong[wrong_count++] = &settings[i];
        return false;
    }
    return false;
}

/* Hands each NUL-terminated string of the file to config_set; longer ones than the buffer cannot be
 * ours and are skipped. */
static void read_environ(Config *config, int fd)
{
    static char buffer[16384];
    size_t have = 0;
    bool skipping = false;
    for (;;) {
        long got = sys_read_all(fd, buffer + have, sizeof(buffer) - have);
        if (got <= 0)
            return;
        have += (size_t)got;
        size_t from = 0;
        for (size_t at = 0; at < have; at++) {
            if (buffer[at])
                continue;
            if (!skipping && strncmp(buffer + from, "MEMHAWK_", 8) == 0)
                config_set(config, buffer + from);
            skipping = false;
            from = at + 1;
        }
        if (from == 0 && have == sizeof(buffer)) {
            skipping = true;
            from = have;
        }
        memmove(buffer, buffer + from, have - from);
        have -= from;
    }
}

void config_read(Config *config)
{
    *config = (Config){.enabled = true, .interval_ms = 1000, .depth = 64, .log = CONFIG_LOG_WARN};
    long fd = sys_call(SYS_openat, AT_FDCWD, "/proc/self/environ", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    read_environ(config, (int)fd);
    sys_call(SYS_close, fd);
}

void config_complain(const Config *config)
{
    for (size_t i = 0; i < wrong_count; i++)
        if (config->log >= CONFIG_LOG_WARN)
            log_line("wrong value for ", wrong[i]->name, ", allowed: ", wrong[i]->allowed,
                     "; using the default");
    wrong_count = 0;
}
