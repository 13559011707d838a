// SPDX-License-Identifier: Apache-2.0
/*
 * `memhawk view`: shows profiles on a page in the browser, live while they grow. Prints the address
 * and how to stop, opens the page, and serves until a signal comes. The signals are blocked before
 * any thread begins and taken by the main thread alone; one that was ignored stays so (nohup). A
 * symbol server that does not answer holds the end up for END_SECONDS, no longer.
 */
#include "cli/cli.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/bits.h"
#include "cli/symbol_args.h"
#include "cli/view_open.h"
#include "cli/view_serve.h"

enum { KEY_PORT = 256, KEY_LISTEN, KEY_NO_OPEN };
enum { END_SECONDS = 2 };

typedef struct ViewInput {
    ServeOptions serve;
    SymbolArgs symbols;
    bool no_open;
    const char **paths; /* as many as words on the command line */
} ViewInput;

static const struct argp_option view_options[] = {
    {"port", KEY_PORT, "N", 0, "Listen on port N (default: a free one)"},
    {"listen", KEY_LISTEN, "ADDR", 0,
     "Listen on this address of the machine, for others to look (default 127.0.0.1)"},
    {"no-open", KEY_NO_OPEN, NULL, 0, "Only print the address, open no browser"},
    SYMBOL_ARG_OPTIONS(1),
    {0},
};

static error_t parse_port(const char *text, ViewInput *input)
{
    char *end;
    errno = 0;
    unsigned long port = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno || port > UINT16_MAX) {
        cli_error("view: --port %s: give a number from 0 to 65535", text);
        return EINVAL;
    }
    input->serve.server.port = (uint16_t)port;
    return 0;
}

static error_t parse_view(int key, char *argument, struct argp_state *state)
{
    ViewInput *input = state->input;
    switch (key) {
    case KEY_PORT:
        return parse_port(argument, input);
    case KEY_LISTEN:
        input->serve.server.address = argument;
        return 0;
    case KEY_NO_OPEN:
        input->no_open = true;
        return 0;
    case ARGP_KEY_ARG:
        input->paths[input->serve.path_count++] = argument;
        return 0;
    case ARGP_KEY_END:
        if (input->serve.path_count == 0)
            input->paths[input->serve.path_count++] = ".";
        return 0;
    }
    return symbol_args_parse("view", key, argument, &input->symbols);
}

static const struct argp view_argp = {
    view_options,
    parse_view,
    "[FILE|FOLDER...]",
    "Shows profiles on a page in the browser, live while their programs run. Profiles that appear "
    "in a FOLDER later are shown too; without any, the current folder.\v"
    "Everybody who has the whole address, with its token, can look; the default address is "
    "reached from this machine only.",
    NULL,
    NULL,
    NULL,
};

static void block_signals(sigset_t *ret_waited)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    struct sigaction action;
    sigemptyset(ret_waited);
    for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
        if (sigaction(ends[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(ret_waited, ends[i]);
    sigprocmask(SIG_BLOCK, ret_waited, NULL);
    signal(SIGPIPE, SIG_IGN); /* visitors leave when they like */
}

static void leave_now(int signal_number)
{
    (void)signal_number;
    _exit(CLI_OK);
}

static int serve_until_signal(ViewInput *input)
{
    sigset_t waited;
    Serve serve;
    int signal_number;
    block_signals(&waited);
    if (serve_begin("view", &input->serve, &serve) < 0)
        return CLI_FAILED;
    printf("%s\n", server_url(serve.server));
    printf("Ctrl-C ends it, or: kill %d\n", (int)getpid());
    fflush(stdout);
    if (!input->no_open)
        view_open(server_open_url(serve.server));
    while (sigwait(&waited, &signal_number) != 0)
        ;
    signal(SIGALRM, leave_now);
    alarm(END_SECONDS);
    serve_end(&serve);
    return CLI_OK;
}

static int run_view(int argc, char **argv)
{
    ViewInput input = {0};
    int status;
    input.paths = calloc((size_t)argc + 1, sizeof(*input.paths));
    if (!input.paths)
        return CLI_FAILED;
    if (cli_parse(&view_argp, argc, argv, 0, &input, &status)) {
        input.serve.paths = input.paths;
        input.serve.symbols = input.symbols.options;
        status = serve_until_signal(&input);
    }
    free(input.paths);
    return status;
}

const Verb verb_view = {
    .name = "view",
    .summary = "Show profiles on a live page in the browser",
    .run = run_view,
};
