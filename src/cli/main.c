// SPDX-License-Identifier: Apache-2.0
/*
 * Entry of the command `memhawk`. Finds the verb and hands over the rest of the command line; all
 * else is in the verbs. Called as `symbolizer` (the name that the published design gives to the
 * process that reads profiles) it is an alias, see alias_symbolizer(). Output that could not be
 * written fails the command, as in coreutils: `memhawk report F > /dev/full` must not say 0.
 */
#include "cli/cli.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

static int alias_symbolizer(void)
{
    cli_error("symbolizer: pushing profiles to a server is not part of this release; "
              "'memhawk report FILE' reads them");
    return CLI_USAGE;
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2) {
        cli_print_overview(stderr);
        return CLI_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        cli_print_overview(stdout);
        return CLI_OK;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        puts("memhawk " MEMHAWK_VERSION);
        return CLI_OK;
    }
    const Verb *verb = verb_find(argv[1]);
    if (verb)
        return verb->run(argc - 1, argv + 1);
    cli_error("%s: no such %s; 'memhawk --help' lists them", argv[1],
              argv[1][0] == '-' ? "option" : "verb");
    return CLI_USAGE;
}

int main(int argc, char **argv)
{
    setlocale(LC_CTYPE, "");
    const char *name = argc > 0 ? strrchr(argv[0], '/') : NULL;
    name = name ? name + 1 : argc > 0 ? argv[0] : "memhawk";
    if (strcmp(name, "symbolizer") == 0)
        return alias_symbolizer();
    int status = dispatch(argc, argv);
    if (ferror(stdout) || (fflush(stdout) != 0 && errno != EBADF)) {
        cli_error("standard output: %s", strerror(errno));
        return status ? status : CLI_FAILED;
    }
    return status;
}
