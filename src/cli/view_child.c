// SPDX-License-Identifier: Apache-2.0
/*
 * A fork that serves, and a socket pair between the two:
 *
 *     server → us    its two addresses, a line each, when it serves; a byte when somebody looks
 *     us → server    nothing: when our end closes, by our end or our death, it ends
 *
 * The server leaves the terminal's process group, so that Ctrl-C means the program alone, and holds
 * neither the program's pipes open (a reader waits for their end) nor any descriptor that we were
 * started with. Standard error is kept until it serves, for problem lines.
 */
#include "cli/view_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bits.h"
#include "cli/cli.h"
#include "cli/view_serve.h"

enum { OPENING_MS = 10000 }; /* a browser that has to start first */

static void tell_visited(void *context)
{
    const int *fd = context;
    send(*fd, "v", 1, MSG_NOSIGNAL | MSG_DONTWAIT); /* one is enough: what does not fit is lost */
}

static void replace_by_null(int first, int last)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = first; fd <= last && null >= 0; fd++)
        dup2(null, fd);
    if (null > 2)
        close(null);
}

/* Keeps 0 to 2 and FD, which becomes 3. */
static int close_others(int fd)
{
    if (fd != 3)
        dup3(fd, 3, O_CLOEXEC);
    close_range(4, ~0U, 0);
    return 3;
}

__attribute__((noreturn)) static void run_server(const char *folder, int fd)
{
    sigset_t all;
    char byte, addresses[900];
    Serve serve;
    setpgid(0, 0);
    replace_by_null(0, 1);
    fd = close_others(fd);
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    const ServeOptions options = {
        .server = {.visited = tell_visited, .context = &fd},
        .paths = &folder,
        .path_count = 1,
    };
    if (serve_begin("run", &options, &serve) < 0)
        _exit(CLI_FAILED);
    int size = snprintf(addresses, sizeof(addresses), "%s\n%s\n", server_url(serve.server),
                        server_open_url(serve.server));
    replace_by_null(2, 2);
    if (send(fd, addresses, (size_t)size, MSG_NOSIGNAL) == size)
        while (read(fd, &byte, 1) < 0 && errno == EINTR)
            ;
    _exit(CLI_OK); /* at once: a symbol file being read could take seconds to let go */
}

/* Both lines come in one message. */
static int read_addresses(ViewChild *child)
{
    char text[900];
    ssize_t n;
    do
        n = read(child->fd, text, sizeof(text) - 1);
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        return -ECHILD;
    text[n] = 0;
    return sscanf(text, "%399s %399s", child->url, child->open_url) == 2 ? 0 : -EIO;
}

static void stop(ViewChild *child)
{
    close(child->fd);
    while (child->pid > 0 && waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    child->pid = -1;
}

int view_child_start(const char *folder, ViewChild *ret_child)
{
    ViewChild child = {.pid = -1};
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0) {
        cli_error("run: --view: %s", strerror(errno));
        return -errno;
    }
    fflush(stdout);
    child.pid = fork();
    if (child.pid == 0) {
        close(fds[0]);
        run_server(folder, fds[1]);
    }
    close(fds[1]);
    child.fd = fds[0];
    int r = child.pid < 0 ? -errno : read_addresses(&child);
    if (child.pid < 0)
        cli_error("run: --view: cannot make a process: %s", cli_strerror(r));
    if (r < 0)
        stop(&child);
    else
        *ret_child = child;
    return r;
}

static bool is_gone(pid_t pid)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid != 0;
}

/* Takes the signals that would end us, and SIGCHLD, out of the way: a descriptor to read them from.
 */
static int open_signals(sigset_t *ret_before)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD};
    sigset_t waited;
    sigemptyset(&waited);
    for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
        sigaddset(&waited, ends[i]);
    sigprocmask(SIG_BLOCK, &waited, ret_before);
    return signalfd(-1, &waited, SFD_CLOEXEC);
}

/* Somebody has looked by now, or does within PATIENCE_MS; a signal ends the patience. */
static bool was_visited(const ViewChild *child, int signals, int patience_ms)
{
    struct pollfd fds[] = {{.fd = child->fd, .events = POLLIN}, {.fd = signals, .events = POLLIN}};
    char byte;
    return poll(fds, 2, patience_ms) > 0 && (fds[0].revents & POLLIN) &&
           recv(child->fd, &byte, 1, MSG_DONTWAIT) == 1;
}

/* Sleeps until a signal that would end us, or until the server is gone. */
static void wait_for_end(pid_t server, int signals)
{
    struct signalfd_siginfo info = {.ssi_signo = SIGCHLD};
    while (info.ssi_signo == SIGCHLD && !is_gone(server))
        if (read(signals, &info, sizeof(info)) < 0 && errno != EINTR)
            return;
}

/* Somebody sits there who can press Ctrl-C. */
static bool is_attended(void)
{
    return isatty(STDERR_FILENO) && tcgetpgrp(STDERR_FILENO) == getpgrp();
}

void view_child_finish(ViewChild *child, bool opened)
{
    sigset_t before;
    int signals = is_attended() ? open_signals(&before) : -1;
    if (signals >= 0) {
        if (was_visited(child, signals, opened ? OPENING_MS : 0)) {
            fprintf(stderr, "The page stays until Ctrl-C: %s\n", child->url);
            replace_by_null(1, 1); /* who reads the program's output need not wait with us */
            wait_for_end(child->pid, signals);
        }
        close(signals);
    }
    stop(child); /* what was typed stays blocked: the exit status is the program's */
}
