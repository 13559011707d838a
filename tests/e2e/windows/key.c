// SPDX-License-Identifier: Apache-2.0
/* For diff: built as it is, with -DADDED (one added call), -DINSERTED (a frame between), at -O0 and
 * -O2. */
#include <stdlib.h>
#include <string.h>

#include "memhawk.h"

#define SITE __attribute__((noinline, noclone))

static void *volatile sink;

static SITE char *copy_text(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = malloc(size);
    sink = copy;
    return memcpy(copy, text, size);
}

#ifdef ADDED
static SITE char *make_key(const char *text)
{
    char *key = malloc(40);
    sink = key;
    return strncpy(key, text, 39);
}
#endif

static SITE void insert(const char *text)
{
    char *copy = copy_text(text);
#ifdef ADDED
    free(make_key(text));
#endif
    free(copy);
}

#ifdef INSERTED
static SITE void insert_checked(const char *text)
{
    if (*text)
        insert(text);
    sink = NULL;
}
#define insert insert_checked
#endif

static SITE void parse(void)
{
    insert("alpha");
    insert("beta");
    void *scratch = malloc(512);
    sink = scratch;
    free(scratch);
}

int main(void)
{
    for (int i = 0; i < 50; i++) {
        memhawk_window w = memhawk_window_begin("parse", MEMHAWK_THREAD);
        parse();
        memhawk_window_end(w);
    }
    return 0;
}
