// SPDX-License-Identifier: Apache-2.0
/*
 * Purpose: Swift names through the Swift toolchain's own demangler, where it is installed.
 *
 * There is no library for it, so `swift-demangle` is started on the first Swift name as a child
 * with two pipes and kept; each name is one line in, one line out (option -compact). It is asked
 * only for names of printable ASCII, and given up on for ever if it does not answer within two
 * seconds, answers too long, or goes away. It ends by itself when our end of its input closes.
 *
 * Thread-safe by one lock held during a question.
 */
#include "symbol/demangle.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define NAME_BYTES_MAX   4096
#define ANSWER_BYTES_MAX 65536
#define PATIENCE_MS      2000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static enum { NOT_STARTED, RUNNING, GIVEN_UP } state;
static int channel = -1; /* socket to the child's input and output */

bool demangle_swift_is(const char *raw)
{
    static const char *const prefixes[] = {"$s", "$S", "_$s", "_$S", "_T0"};
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
        if (strncmp(raw, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

static void give_up(void)
{
    if (channel >= 0)
        close(channel);
    channel = -1;
    state = GIVEN_UP;
}

static void start(void)
{
    int ends[2];
    state = GIVEN_UP;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return;
    posix_spawn_file_actions_t actions;
    pid_t pid;
    char *arguments[] = {"swift-demangle", "-compact", NULL};
    int r = posix_spawn_file_actions_init(&actions);
    if (r == 0) {
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
        r = posix_spawnp(&pid, arguments[0], &actions, NULL, arguments, environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    close(ends[1]);
    channel = ends[0];
    if (r == 0)
        state = RUNNING;
    else
        give_up();
}

static bool send_line(const char *raw, size_t length)
{
    char line[NAME_BYTES_MAX + 1];
    memcpy(line, raw, length);
    line[length] = '\n';
    return send(channel, line, length + 1, MSG_NOSIGNAL) == (ssize_t)(length + 1);
}

/* One line without its end into ANSWER; false: none came. */
static bool receive_line(char *answer)
{
    size_t used = 0;
    while (used < ANSWER_BYTES_MAX) {
        struct pollfd wait = {.fd = channel, .events = POLLIN};
        if (poll(&wait, 1, PATIENCE_MS) <= 0)
            return false;
        ssize_t n = recv(channel, answer + used, ANSWER_BYTES_MAX - used, 0);
        if (n <= 0)
            return false;
        char *end = memchr(answer + used, '\n', (size_t)n);
        used += (size_t)n;
        if (end) {
            *end = '\0';
            return end + 1 == answer + used;
        }
    }
    return false;
}

static char *ask(const char *raw, size_t length)
{
    char *answer = malloc(ANSWER_BYTES_MAX);
    if (!answer || !send_line(raw, length) || !receive_line(answer)) {
        give_up();
        free(answer);
        return NULL;
    }
    char *text = answer[0] && strcmp(answer, raw) != 0 ? strdup(answer) : NULL;
    free(answer);
    return text;
}

char *demangle_swift(const char *raw)
{
    size_t length = strlen(raw);
    for (size_t i = 0; i < length; i++)
        if (raw[i] <= ' ' || raw[i] > '~')
            return NULL;
    if (length > NAME_BYTES_MAX)
        return NULL;
    pthread_mutex_lock(&lock);
    if (state == NOT_STARTED)
        start();
    char *text = state == RUNNING ? ask(raw, length) : NULL;
    pthread_mutex_unlock(&lock);
    return text;
}
