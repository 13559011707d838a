// SPDX-License-Identifier: Apache-2.0
/*
 * `memhawk info`: what is known about a profile without any view of its stacks: the process, the
 * modules and where their names come from, span, size, losses, end, marks and windows. Text for
 * people, JSON for programs; both from the same getters. docs/JSON.md has the fields.
 */
#include "cli/info.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "cli/cli.h"

enum { KEY_JSON = 256, KEY_SYSROOT, KEY_DEBUG_DIR, KEY_DEBUGINFOD, DEBUG_DIRS_MAX = 16 };

typedef struct InfoOptions {
    const char *path;
    bool json;
    SymbolOptions symbols;
    const char *debug_dirs[DEBUG_DIRS_MAX + 1];
    size_t debug_dir_count;
} InfoOptions;

static const struct argp_option info_options[] = {
    {"json", KEY_JSON, NULL, 0, "Print JSON"},
    {"sysroot", KEY_SYSROOT, "DIR", 0, "Find the program's files below DIR"},
    {"debug-dir", KEY_DEBUG_DIR, "DIR", 0,
     "Find debug files by build-id below DIR too (can be given again)"},
    {"debuginfod", KEY_DEBUGINFOD, NULL, 0, "Ask the servers in $DEBUGINFOD_URLS"},
    {0},
};

static error_t check_folder(const char *option, const char *path)
{
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return 0;
    cli_error("info: %s %s: is no folder: give one that exists", option, path);
    return EINVAL;
}

static error_t add_debug_dir(const char *path, InfoOptions *options)
{
    if (options->debug_dir_count == DEBUG_DIRS_MAX) {
        cli_error("info: --debug-dir %s: at most %d can be given", path, DEBUG_DIRS_MAX);
        return EINVAL;
    }
    options->debug_dirs[options->debug_dir_count++] = path;
    options->symbols.debug_dirs = options->debug_dirs;
    return check_folder("--debug-dir", path);
}

static error_t parse_info(int key, char *argument, struct argp_state *state)
{
    InfoOptions *options = state->input;
    switch (key) {
    case KEY_JSON:
        options->json = true;
        return 0;
    case KEY_SYSROOT:
        options->symbols.sysroot = argument;
        return check_folder("--sysroot", argument);
    case KEY_DEBUG_DIR:
        return add_debug_dir(argument, options);
    case KEY_DEBUGINFOD:
        options->symbols.debuginfod = true;
        return 0;
    case ARGP_KEY_ARG:
        if (options->path) {
            cli_error("info: %s: one file at a time: run info once for each", argument);
            return EINVAL;
        }
        options->path = argument;
        return 0;
    case ARGP_KEY_END:
        if (options->path)
            return 0;
        cli_error("info: no profile: name one, as in 'memhawk info memhawk_*.binpb'");
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp info_argp = {
    info_options,
    parse_info,
    "FILE",
    "Tells what a profile holds: process, modules and where their names come from, span, "
    "snapshots, "
    "size, losses, how the program ended, marks and windows.",
    NULL,
    NULL,
    NULL,
};

void info_build_id(const ProfileModule *module, char *ret_text, size_t size)
{
    size_t used = 0;
    ret_text[0] = 0;
    for (size_t i = 0; module->build_id && i < module->build_id_size && used + 3 <= size; i++)
        used += (size_t)snprintf(ret_text + used, size - used, "%02x", module->build_id[i]);
}

void info_time(uint64_t time_ns, char *ret_text, size_t size)
{
    time_t seconds = (time_t)(time_ns / 1000000000);
    struct tm tm;
    ret_text[0] = 0;
    if (time_ns == 0 || !gmtime_r(&seconds, &tm))
        return;
    size_t used = strftime(ret_text, size, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(ret_text + used, size - used, ".%03uZ", (unsigned)(time_ns / 1000000 % 1000));
}

static int run_info(int argc, char **argv)
{
    InfoOptions options = {0};
    Session session;
    int status, r = 0;
    if (!cli_parse(&info_argp, argc, argv, 0, &options, &status))
        return status;
    if (session_open(options.path, &options.symbols, &session) < 0)
        return CLI_FAILED;
    if (options.json)
        r = info_print_json(&session, stdout);
    else
        info_print_text(&session, stdout);
    if (r < 0)
        cli_error("info: %s", cli_strerror(r));
    session_close(&session);
    return r < 0 ? CLI_FAILED : CLI_OK;
}

const Verb verb_info = {
    .name = "info",
    .summary = "Tell what a profile holds: process, modules, span, losses, end",
    .run = run_info,
};
