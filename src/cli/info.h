// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/session.h"

/* Both print everything that `memhawk info` knows. */
void info_print_text(const Session *session, FILE *out);
/* 0 or negative errno. */
int info_print_json(const Session *session, FILE *out);

/* Build-id as lower-case digits, "" when there is none. */
void info_build_id(const ProfileModule *module, char *ret_text, size_t size);
/* RFC 3339 in UTC with milliseconds; "" for 0. */
void info_time(uint64_t time_ns, char *ret_text, size_t size);
