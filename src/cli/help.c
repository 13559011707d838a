// SPDX-License-Identifier: Apache-2.0
/*
 * `memhawk help [VERB]`, the same texts as `memhawk --help` and `memhawk VERB --help`.
 */
#include "cli/cli.h"

#include <string.h>

void cli_print_overview(FILE *out)
{
    fputs("Usage: memhawk VERB [OPTION...] ...\n"
          "Heap profiler that counts every allocation and keeps the counts per call stack.\n\n",
          out);
    for (const Verb *const *verb = verbs; *verb; verb++)
        fprintf(out, "  %-9s %s\n", (*verb)->name, (*verb)->summary);
    fputs("\n"
          "  -h, --help     Print this help and exit\n"
          "  -V, --version  Print the version and exit\n\n"
          "'memhawk VERB --help' lists the options of a verb; memhawk(1) and\n"
          "memhawk-VERB(1) are the manual pages. To begin:\n\n"
          "  memhawk run -- PROGRAM ARGS...\n",
          out);
}

static int run_help(int argc, char **argv)
{
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        cli_print_overview(stdout);
        return CLI_OK;
    }
    const Verb *verb = verb_find(argv[1]);
    if (!verb) {
        cli_error("help: %s: no such verb; 'memhawk --help' lists them", argv[1]);
        return CLI_USAGE;
    }
    if (verb == &verb_help) {
        cli_print_overview(stdout);
        return CLI_OK;
    }
    char *words[] = {(char *)verb->name, (char *)"--help", NULL};
    return verb->run(2, words);
}

const Verb verb_help = {
    .name = "help",
    .summary = "Print the help of a verb",
    .run = run_help,
};
