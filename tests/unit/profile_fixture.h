// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "profile/profile.h"

/*
 * Profiles for tests, made by tests/make_profile.py, that is by protoc and zstd and none of our
 * code. Fails the running cmocka test when something does not work. PATH has room for 64 bytes and
 * names a temporary file, which the caller unlinks.
 */
void fixture_make_from(const char *schema, const char *description_path, char *ret_path);
void fixture_make(const char *schema, const char *description, char *ret_path);
/* Makes a profile, opens it, unlinks the file. */
Profile *fixture_open(const char *schema, const char *description);
