// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdio.h>

#include "profile/profile.h"

/* Writes all that the model says about a profile as text, one fact a line; for golden files. */
void profile_dump(const Profile *profile, FILE *out);
