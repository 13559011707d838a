// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stddef.h>

/*
 * Huge pages for tables that are read all over: the processor then finds the memory of 2 MiB by one
 * entry of its TLB instead of 512. Asked for only where most of the 2 MiB is sure to be used, and
 * refused where it is not, because with "always" in /sys/kernel/mm/transparent_hugepage/enabled one
 * touched byte would take 2 MiB. Both are hints: nothing depends on what the kernel makes of them.
 * Async-signal-safe, no locks, errno untouched.
 *
 * Neither is said where the kernel's setting makes nothing of it: there are sandboxes that end
 * programs for advice that malloc does not give (OpenSSH's), and leaves are mapped at any time.
 */
enum { HUGE_BYTES = 2 << 20 };

/* Reads the kernel's setting; at boot. Before, both are said. */
void huge_init(void);
/* SETTING: what /sys/kernel/mm/transparent_hugepage/enabled holds; "" when it is not there. */
void huge_know(const char *setting);
/* Zeroed pages at a multiple of HUGE_BYTES (where address space is short: at any page); NULL: none.
 * Given back by sys_unmap(). */
void *huge_map(size_t bytes);
void huge_want(void *start, size_t bytes);
void huge_refuse(void *start, size_t bytes);
