// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/*
 * The live page beside a program: served by a process of its own, which has nothing of the
 * program's (descriptors, process group) and ends with us, whatever ends us.
 */

typedef struct ViewChild {
    pid_t pid;
    int fd; /* to it; the end of the line is the end of it */
    char url[400], open_url[400];
} ViewChild;

/* Returns when the page of the profiles in FOLDER is being served. Negative errno after one problem
 * line. To be called before any thread is made. */
int view_child_start(const char *folder, ViewChild *ret_child);
/*
 * After the program's end. Where somebody sits at a terminal and has looked at the page (OPENED: a
 * browser was started and may still be on its way), says so in a line and goes on serving until a
 * signal that would end us; else, as in CI, not. Then ends the server.
 */
void view_child_finish(ViewChild *child, bool opened);
