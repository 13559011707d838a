// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stddef.h>

#include "profile/profile.h"

/* What has become of the process of a profile. */

typedef enum Liveness {
    LIVENESS_RUNNING,
    LIVENESS_GONE,
    LIVENESS_UNKNOWN, /* on another host, or in a container */
} Liveness;

/* Whether the process of the profile is still there. Reads /proc. */
Liveness liveness_of(const Profile *profile);
/* How the run ended, in words: "exit status 3", "signal 11 (Segmentation fault)", "still running".
 */
void liveness_end_text(const Profile *profile, char *ret_text, size_t size);
