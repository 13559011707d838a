// SPDX-License-Identifier: Apache-2.0
#pragma once

/*
 * One line on stderr: "memhawk: " and the parts. Raw write, at most 512 bytes, no allocation, errno
 * untouched. Callers check Config.log first.
 */
void log_parts(const char *const *parts);

#define log_line(...) log_parts((const char *const[]){__VA_ARGS__, (const char *)0})
