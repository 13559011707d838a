// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The profile's file: memhawk_<name>_<pid>_protobuf.binpb, mode 0600, created anew (O_EXCL,
 * O_NOFOLLOW); where it exists a number is added: memhawk_<name>_<pid>_2_protobuf.binpb. Raw system
 * calls only.
 */

/* Descriptor, or negative errno. */
int output_create(const char *folder, const char *short_name, uint32_t pid);
/* True when FD still is the file that output_create made. */
bool output_is_ours(int fd);
/* Writes all, or shortens the file back to what it was; 0 or negative errno. */
int output_append(int fd, const void *data, size_t bytes);

/* Letters, digits and ._+- of TEXT, other bytes as _, at most capacity - 1 and 64 bytes. */
void output_clean_name(const char *text, char *into, size_t capacity);
