// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdio.h>

/*
 * Where a verb writes its result: standard output, or a file that appears whole or not at all
 * (written beside its place, then renamed over it). Devices and pipes are written as they are.
 * Problems are told in one line.
 */
typedef struct OutFile {
    FILE *stream;
    char *path;      /* NULL: standard output */
    char *temporary; /* NULL: written in place */
} OutFile;

/* PATH NULL or "-": standard output. 0 or negative errno. */
int out_file_open(const char *path, OutFile *ret_file);
/* Puts the file in its place when CODE (the result of writing) is 0, else removes it. Returns 0, or
 * CODE, or the error of closing. */
int out_file_close(OutFile *file, int code);
