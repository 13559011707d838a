// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A full-screen view as `top` has it: the terminal's other screen, keys without Enter, redrawn
 * without flicker. One at a time in a process. The terminal is put back by screen_close(), and on
 * SIGINT, SIGTERM, SIGHUP and SIGTSTP, which screen_wait() reports or handles.
 */

/* 0 or negative errno. */
int screen_open(void);
void screen_close(void);

/* Shows TEXT (lines with colours; not cut to the width) below a STATUS line, cut to the height. */
void screen_draw(const char *status, const char *text);

typedef enum ScreenEvent {
    SCREEN_TIMEOUT,
    SCREEN_KEY,    /* *ret_key */
    SCREEN_RESIZE, /* draw again */
    SCREEN_QUIT,   /* a signal asks to end */
} ScreenEvent;

ScreenEvent screen_wait(uint64_t timeout_ns, char *ret_key);
