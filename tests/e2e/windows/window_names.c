// SPDX-License-Identifier: Apache-2.0
/*
 * Names of windows: 10,000 of them, "name N" with N / 1000 + (N < 1000) allocations of a byte in
 * it; one name in both scopes; and names that end alike.
 */
#include <stdio.h>
#include <stdlib.h>

#include "memhawk.h"

static void *volatile sink;

static void window(const char *name, int scope, int allocations)
{
    memhawk_window w = memhawk_window_begin(name, scope);
    for (int i = 0; i < allocations; i++) {
        sink = malloc(1);
        free(sink);
    }
    memhawk_window_end(w);
}

int main(void)
{
    static char buffer[1 << 12];
    int begun = 0;
    char name[32];
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    for (int i = 0; i < 10000; i++) {
        snprintf(name, sizeof name, "name %d", i);
        memhawk_window w = memhawk_window_begin(name, MEMHAWK_THREAD);
        begun += w != 0;
        memhawk_window_end(w);
        window(name, MEMHAWK_THREAD, i / 1000 + (i < 1000));
    }
    printf("begun %d\n", begun);
    for (int i = 0; i < 3; i++)
        window("same", MEMHAWK_THREAD, 1);
    for (int i = 0; i < 5; i++)
        window("same", MEMHAWK_PROCESS, 2);
    window("a/b/only", MEMHAWK_THREAD, 0);
    window("a/twice", MEMHAWK_THREAD, 0);
    window("b/twice", MEMHAWK_THREAD, 0);
    window("last", MEMHAWK_THREAD, 9);
    return 0;
}
