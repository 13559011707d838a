// SPDX-License-Identifier: Apache-2.0
/*
 * Starts and ends the parts of the live page in their order, and says in one line what kept it from
 * starting: the address first, as it is wrong at once, then what is to be shown. A file that was
 * named and is no profile is an error; one that lies in a folder is told on the page.
 */
#include "cli/view_serve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"

static void explain_address(const char *verb, const ServerOptions *options, int code)
{
    const char *address = options->address ? options->address : "127.0.0.1";
    if (code == -EADDRINUSE && options->port)
        cli_error("%s: --port %u: in use by another program: give another, or none for a free one",
                  verb, options->port);
    else if (code == -EADDRNOTAVAIL)
        cli_error("%s: --listen %s: is no address of this machine", verb, address);
    else if (code == -EINVAL)
        cli_error("%s: --listen %s: no such address or name", verb, address);
    else if (code == -EACCES && options->port)
        cli_error("%s: --port %u: %s: give one from 1024 up", verb, options->port,
                  cli_strerror(code));
    else
        cli_error("%s: cannot listen on %s: %s", verb, address, cli_strerror(code));
}

static int check_paths(const char *verb, const ServeOptions *options)
{
    struct stat st;
    for (size_t i = 0; i < options->path_count; i++) {
        if (stat(options->paths[i], &st) == 0 &&
            (!S_ISDIR(st.st_mode) || access(options->paths[i], R_OK | X_OK) == 0))
            continue; /* a file is opened later, a folder would only look empty */
        int r = -errno;
        cli_error("%s: %s: %s: name a profile or a folder", verb, options->paths[i],
                  cli_strerror(r));
        return r;
    }
    return 0;
}

static bool was_named(const ServeOptions *options, const char *path)
{
    for (size_t i = 0; i < options->path_count; i++)
        if (strcmp(options->paths[i], path) == 0)
            return true;
    return false;
}

/* The files that were named can be read. */
static int check_files(const char *verb, const ServeOptions *options, Hub *hub)
{
    size_t count = hub_list(hub, NULL, 0);
    uint32_t *ids = calloc(count + 1, sizeof(*ids));
    int r = ids ? 0 : -ENOMEM;
    size_t now = ids ? hub_list(hub, ids, count) : 0;
    for (size_t i = 0; i < count && i < now && r == 0; i++) {
        HubProcess *process = hub_glance(hub, ids[i]);
        if (!process)
            continue;
        if (!process->profile && was_named(options, process->path)) {
            cli_error("%s: %s: is no profile: %s", verb, process->path,
                      process->message ? process->message : "cannot be read");
            r = -EINVAL;
        }
        hub_release(hub, process);
    }
    free(ids);
    return r;
}

static int start_hub(const char *verb, const ServeOptions *options, Serve *serve)
{
    const HubOptions hub = {
        .paths = options->paths,
        .path_count = options->path_count,
        .symbols = options->symbols,
        .notify = server_notify,
        .context = serve->server,
    };
    size_t bad = 0;
    int r = hub_new(&hub, &serve->hub, &bad);
    if (r < 0)
        cli_error("%s: %s: %s", verb, bad < options->path_count ? options->paths[bad] : "profiles",
                  cli_strerror(r));
    return r < 0 ? r : check_files(verb, options, serve->hub);
}

/* Where one of 0 to 2 was closed, a connection would get its number, and our words. */
static void fill_standard_descriptors(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO)
        close(fd);
}

int serve_begin(const char *verb, const ServeOptions *options, Serve *ret_serve)
{
    Serve serve = {0};
    fill_standard_descriptors();
    int r = check_paths(verb, options);
    if (r < 0)
        return r;
    r = server_new(&options->server, &serve.server);
    if (r < 0) {
        explain_address(verb, &options->server, r);
        return r;
    }
    r = start_hub(verb, options, &serve);
    if (r == 0) {
        r = server_start(serve.server, serve.hub);
        if (r < 0)
            cli_error("%s: the server does not start: %s", verb, cli_strerror(r));
    }
    if (r < 0)
        serve_end(&serve);
    else
        *ret_serve = serve;
    return r < 0 ? r : 0;
}

void serve_end(Serve *serve)
{
    if (serve->server)
        server_stop(serve->server);
    if (serve->hub)
        hub_free(serve->hub);
    server_free(serve->server);
    *serve = (Serve){0};
}
