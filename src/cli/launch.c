// SPDX-License-Identifier: Apache-2.0
/*
 * All signals are blocked before fork and taken with sigwaitinfo() in one loop, so none can arrive
 * at a bad moment and no handler is ever installed: the child gets back the mask as it was, and the
 * dispositions stay as inherited (SIGCHLD apart: an inherited SIG_IGN would reap the child behind
 * our back; it is restored in the child). What a signal means to the launcher:
 *
 *   SIGCHLD                 the child ended, or stopped
 *   from the terminal       the child is in the same process group and got it too: ignored
 *   from another process    handed on, unless the child itself sent it (kill(0, ...))
 *   SIGCONT                 handed on when the child is still stopped
 *
 * When a job-control signal stops the child, the launcher stops itself, so that the shell takes the
 * terminal back. It does not for SIGSTOP, which comes from debuggers and schedulers that know only
 * the child. A failing exec reports its errno over a close-on-exec pipe. Single-threaded.
 */
#include "cli/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/preload.h"

typedef struct Inherited {
    sigset_t mask;
    struct sigaction on_child; /* disposition of SIGCHLD */
} Inherited;

typedef struct Waiter {
    pid_t child;
    bool ended;
    bool stopped;
    int stop_signal;
    int status;
} Waiter;

/* What a shell does with an executable text without "#!". */
static void exec_by_shell(const char *path, char *const *arguments, char *const *environment)
{
    size_t count = 0;
    while (arguments[count])
        count++;
    char **words = calloc(count + 2, sizeof(*words));
    if (!words)
        return;
    words[0] = (char *)"sh";
    words[1] = (char *)path;
    for (size_t i = 1; i < count; i++)
        words[i + 1] = arguments[i];
    execve("/bin/sh", words, environment);
}

__attribute__((noreturn)) static void run_child(const char *path, char *const *arguments,
                                                char **environment, int error_fd,
                                                const Inherited *inherited)
{
    sigaction(SIGCHLD, &inherited->on_child, NULL);
    sigprocmask(SIG_SETMASK, &inherited->mask, NULL);
    preload_put_root_pid(environment, getpid());
    execve(path, arguments, environment);
    if (errno == ENOEXEC)
        exec_by_shell(path, arguments, environment);
    int error = errno;
    while (write(error_fd, &error, sizeof(error)) < 0 && errno == EINTR)
        ;
    _exit(127);
}

static int read_exec_error(int fd)
{
    int error = 0;
    ssize_t n;
    do
        n = read(fd, &error, sizeof(error));
    while (n < 0 && errno == EINTR);
    close(fd);
    return n == sizeof(error) ? error : 0;
}

/* Signals that a fault in the launcher itself raises stay open. */
static void fill_waited(sigset_t *set)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
    sigfillset(set);
    for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++)
        sigdelset(set, faults[i]);
}

/* Takes over all changes of the child's state; true when it has stopped since the last call. */
static bool reap(Waiter *waiter)
{
    bool stopped_now = false;
    int status;
    while (!waiter->ended &&
           waitpid(waiter->child, &status, WNOHANG | WUNTRACED | WCONTINUED) > 0) {
        waiter->stopped = stopped_now = WIFSTOPPED(status);
        if (WIFSTOPPED(status)) {
            waiter->stop_signal = WSTOPSIG(status);
        } else if (!WIFCONTINUED(status)) {
            waiter->ended = true;
            waiter->status = status;
        }
    }
    return stopped_now;
}

static bool is_job_stop(int signal_number)
{
    return signal_number == SIGTSTP || signal_number == SIGTTIN || signal_number == SIGTTOU;
}

static bool has_terminal(void)
{
    int fd = open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return false;
    close(fd);
    return true;
}

/* Returns when someone continues us; the SIGCONT is then pending. */
static void stop_self(void)
{
    kill(getpid(), SIGSTOP);
}

static void hand_on(const Waiter *waiter, const siginfo_t *info)
{
    if (!waiter->ended && info->si_code <= 0 && info->si_pid != waiter->child)
        kill(waiter->child, info->si_signo);
}

static void take_signal(Waiter *waiter, const siginfo_t *info)
{
    bool stopped_now = reap(waiter);
    if (stopped_now && is_job_stop(waiter->stop_signal) && has_terminal())
        stop_self();
    switch (info->si_signo) {
    case SIGCHLD:
        return;
    case SIGCONT:
        if (waiter->stopped && !waiter->ended)
            kill(waiter->child, SIGCONT);
        return;
    case SIGTSTP:
    case SIGTTIN:
    case SIGTTOU:
        if (info->si_code > 0) {
            /* typed when the child had stopped itself by other means */
            if (waiter->stopped && !stopped_now)
                stop_self();
            return;
        }
        break;
    }
    hand_on(waiter, info);
}

static void wait_child(Waiter *waiter)
{
    sigset_t waited;
    siginfo_t info;
    fill_waited(&waited);
    while (!waiter->ended)
        if (sigwaitinfo(&waited, &info) > 0)
            take_signal(waiter, &info);
    /* A Ctrl-C meant for the program must not hit us when the mask is restored. */
    const struct timespec now = {0};
    while (sigtimedwait(&waited, &info, &now) > 0)
        ;
}

int launch(const char *path, char *const *arguments, char **environment, LaunchResult *ret_result)
{
    const struct sigaction by_default = {.sa_handler = SIG_DFL};
    Inherited inherited;
    sigset_t blocked;
    int fds[2];

    if (pipe2(fds, O_CLOEXEC) < 0)
        return -errno;
    fill_waited(&blocked);
    sigprocmask(SIG_BLOCK, &blocked, &inherited.mask);
    sigaction(SIGCHLD, &by_default, &inherited.on_child);
    pid_t pid = fork();
    if (pid == 0)
        run_child(path, arguments, environment, fds[1], &inherited);
    int fork_error = errno;
    close(fds[1]);
    Waiter waiter = {.child = pid};
    LaunchResult result = {.pid = pid};
    result.exec_error = read_exec_error(fds[0]);
    if (pid > 0)
        wait_child(&waiter);
    result.status = waiter.status;
    sigprocmask(SIG_SETMASK, &inherited.mask, NULL);
    if (pid < 0)
        return -fork_error;
    *ret_result = result;
    return 0;
}

int launch_exit_status(const LaunchResult *result)
{
    if (result->exec_error)
        return result->exec_error == ENOENT ? 127 : 126;
    return WIFSIGNALED(result->status) ? 128 + WTERMSIG(result->status)
                                       : WEXITSTATUS(result->status);
}
