// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>

/* Whether "VmFlags:" of the mapping at an address, in /proc/self/smaps, has a flag of two letters:
 * "hg" huge pages are wanted, "nh" they are refused. */
bool vm_has_flag(const void *address, const char *flag);
/* Whether the kernel knows huge pages at all. */
bool vm_knows_huge(void);
