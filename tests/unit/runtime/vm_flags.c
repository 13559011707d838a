// SPDX-License-Identifier: Apache-2.0
/* See vm_flags.h. */
#include "vm_flags.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool vm_has_flag(const void *address, const char *flag)
{
    char line[4096], spaced[8];
    uintptr_t start = 0, end = 0;
    bool found = false;
    FILE *smaps = fopen("/proc/self/smaps", "r");
    snprintf(spaced, sizeof(spaced), " %s ", flag);
    while (smaps && fgets(line, sizeof(line), smaps)) {
        unsigned long from, to;
        if (sscanf(line, "%lx-%lx ", &from, &to) == 2) {
            start = from;
            end = to;
        }
        bool holds = (uintptr_t)address >= start && (uintptr_t)address < end;
        if (holds && strncmp(line, "VmFlags:", 8) == 0)
            found = strstr(line, spaced) != NULL;
    }
    if (smaps)
        fclose(smaps);
    return found;
}

bool vm_knows_huge(void)
{
    return access("/sys/kernel/mm/transparent_hugepage", F_OK) == 0;
}
