// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Settings, all from MEMHAWK_* variables (docs/ENVIRONMENT.md). Read once, from /proc/self/environ
 * with raw system calls, because the first allocation may come before libc has its environ. A wrong
 * value gets one line on stderr, when logging allows, and the default.
 */
typedef enum ConfigUnwind { CONFIG_UNWIND_CFI, CONFIG_UNWIND_FP, CONFIG_UNWIND_NONE } ConfigUnwind;
typedef enum ConfigFollow {
    CONFIG_FOLLOW_ALL,
    CONFIG_FOLLOW_NONE,
    CONFIG_FOLLOW_REGEX
} ConfigFollow;
typedef enum ConfigLog {
    CONFIG_LOG_OFF,
    CONFIG_LOG_ERROR,
    CONFIG_LOG_WARN,
    CONFIG_LOG_INFO
} ConfigLog;

typedef struct Config {
    bool enabled;
    unsigned interval_ms; /* 10 .. 3600000 */
    unsigned depth;       /* 1 .. UNWIND_MAX_DEPTH */
    ConfigUnwind unwind;
    ConfigFollow follow;
    ConfigLog log;
    uint32_t root_pid;      /* set by `memhawk run`; 0: not known */
    char output[4096];      /* folder; "": the current one */
    char follow_regex[512]; /* POSIX ERE on the short name */
    char name_filter[512];  /* POSIX ERE, "": all */
} Config;

/* Defaults, then the environment. Wrong values are remembered, and told by config_complain(). */
void config_read(Config *config);
void config_complain(const Config *config);

/* Tests: one setting as if NAME=VALUE stood in the environment; false: not ours or wrong. */
bool config_set(Config *config, const char *assignment);
