// SPDX-License-Identifier: Apache-2.0
/*
 * The verb table. A new verb is one file with one `const Verb`, a declaration in cli.h, a line
 * here, its man page in docs/man and its options in tools/completion/memhawk.bash (the test
 * `cli-options` compares the three). The order is that of `memhawk --help`.
 */
#include "cli/cli.h"

#include <string.h>

const Verb *const verbs[] = {
    &verb_run, &verb_view, &verb_report, &verb_info, &verb_diff, &verb_check, &verb_help, NULL,
};

const Verb *verb_find(const char *name)
{
    for (const Verb *const *verb = verbs; *verb; verb++)
        if (strcmp((*verb)->name, name) == 0)
            return *verb;
    return NULL;
}
