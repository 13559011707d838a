// SPDX-License-Identifier: Apache-2.0
/*
 * What all verbs share: option parsing and problem lines. argp's own messages take two lines and
 * its --help exits by itself, so it runs with ARGP_NO_ERRS and ARGP_NO_HELP; the help option is
 * added by a parent argp, and a wrong option is explained here by looking it up in the verb's
 * table.
 */
#include "cli/cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/term.h"

enum { KEY_HELP = 'h' };

static const struct argp_option help_options[] = {
    {"help", KEY_HELP, NULL, 0, "Print this help and exit", -1},
    {0},
};

/* What the parent argp knows while it parses. */
typedef struct ParseState {
    void *input;
    bool help;
    int next; /* where parsing stood when it failed */
} ParseState;

/* Lines printed so far; tells whether a parser has explained its failure. */
static unsigned lines_printed;

/* argp's remark that "-o X" and "--output=X" are the same is known. */
static char *filter_help(int key, const char *text, void *input)
{
    (void)input;
    return key == ARGP_KEY_HELP_DUP_ARGS_NOTE ? NULL : (char *)text;
}

static void print_help(const struct argp_state *state)
{
    char name[64];
    struct argp_state loud = *state;
    snprintf(name, sizeof(name), "memhawk %s", state->argv[0]);
    loud.flags &= ~(unsigned)ARGP_NO_ERRS;
    loud.name = name;
    argp_state_help(&loud, stdout,
                    ARGP_HELP_SHORT_USAGE | ARGP_HELP_PRE_DOC | ARGP_HELP_LONG |
                        ARGP_HELP_POST_DOC);
}

static error_t parse_help(int key, char *argument, struct argp_state *state)
{
    ParseState *parse = state->input;
    (void)argument;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = parse->input;
        return 0;
    case KEY_HELP:
        print_help(state);
        parse->help = true;
        return ECANCELED; /* nothing after it matters, nor what is missing before it */
    case ARGP_KEY_ERROR:
        parse->next = state->next;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void print_line(const char *prefix, const char *format, va_list arguments)
{
    char *message = NULL;
    if (vasprintf(&message, format, arguments) < 0)
        return;
    fputs("memhawk: ", stderr);
    fputs(prefix, stderr);
    term_write_clean(stderr, message);
    fputc('\n', stderr);
    lines_printed++;
    free(message);
}

void cli_error(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line("", format, arguments);
    va_end(arguments);
}

void cli_warn(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line("warning: ", format, arguments);
    va_end(arguments);
}

const char *cli_strerror(int code)
{
    return strerror(code < 0 ? -code : code);
}

static const struct argp_option *option_find(const struct argp *argp, const char *word)
{
    bool is_long = word[0] == '-' && word[1] == '-';
    size_t length = strcspn(word + 2, "=");
    for (const struct argp_option *o = argp->options; o && (o->name || o->key || o->doc); o++) {
        if (is_long && o->name && strlen(o->name) == length &&
            strncmp(o->name, word + 2, length) == 0)
            return o;
        if (!is_long && o->key == word[1])
            return o;
    }
    return NULL;
}

static void explain_option(const struct argp *argp, const char *verb, const char *word)
{
    const struct argp_option *option = option_find(argp, word);
    if (!option)
        cli_error("%s: %s: no such option; 'memhawk %s --help' lists them", verb, word, verb);
    else if (option->arg)
        cli_error("%s: %s: a value is missing: give %s %s", verb, word, word, option->arg);
    else
        cli_error("%s: %s: this option takes no value: leave it out", verb, word);
}

/* The word that argp could not place; within a cluster of short ones it has not moved on yet. */
static const char *bad_word(int argc, char **argv, int next)
{
    if (next >= 1 && next <= argc && argv[next - 1][0] == '-' && next - 1 > 0)
        return argv[next - 1];
    return next < argc ? argv[next] : argv[argc - 1];
}

bool cli_parse(const struct argp *argp, int argc, char **argv, unsigned argp_flags, void *input,
               int *ret_status)
{
    const struct argp_child children[] = {{argp, 0, NULL, 0}, {0}};
    const struct argp whole = {help_options, parse_help, NULL, NULL, children, filter_help, NULL};
    ParseState parse = {.input = input, .next = argc};
    unsigned lines_before = lines_printed;

    int r = argp_parse(&whole, argc, argv, argp_flags | ARGP_NO_ERRS | ARGP_NO_HELP, NULL, &parse);
    if (parse.help) {
        *ret_status = CLI_OK;
        return false;
    }
    if (r == 0)
        return true;
    if (lines_printed == lines_before) {
        const char *word = bad_word(argc, argv, parse.next);
        if (word[0] == '-' && word[1])
            explain_option(argp, argv[0], word);
        else
            cli_error("%s: %s: one argument too many; see 'memhawk %s --help'", argv[0], word,
                      argv[0]);
    }
    *ret_status = CLI_USAGE;
    return false;
}
