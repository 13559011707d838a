// SPDX-License-Identifier: Apache-2.0
/*
 * Signals are blocked but for the time inside ppoll(), so the handlers only set a flag and nothing
 * races with drawing. Ctrl-Z puts the terminal back, stops, and takes it again on return. Keys come
 * from standard input when that is a terminal; else there are none. The flags are written by the
 * handlers and read with the signals blocked.
 */
#include "cli/screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "cli/term.h"

static volatile sig_atomic_t quit_asked, stop_asked, was_resized;

static struct {
    bool open, has_keys;
    struct termios before;
    sigset_t mask; /* inside ppoll() */
} screen;

static void on_signal(int signal_number)
{
    if (signal_number == SIGWINCH)
        was_resized = 1;
    else if (signal_number == SIGTSTP)
        stop_asked = 1;
    else
        quit_asked = 1;
}

static const int handled[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH};

static void enter(void)
{
    if (screen.has_keys) {
        struct termios raw = screen.before;
        raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        raw.c_cc[VMIN] = 0;
        raw.c_cc[VTIME] = 0;
        tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
    }
    fputs("\033[?1049h\033[?25l\033[?7l", stdout); /* other screen, no cursor, no wrapping */
    fflush(stdout);
}

static void leave(void)
{
    fputs("\033[?7h\033[?25h\033[?1049l", stdout);
    fflush(stdout);
    if (screen.has_keys)
        tcsetattr(STDIN_FILENO, TCSADRAIN, &screen.before);
}

int screen_open(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigset_t blocked;
    if (screen.open)
        return -EBUSY;
    screen.has_keys = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &screen.before) == 0;
    sigemptyset(&blocked);
    for (size_t i = 0; i < sizeof(handled) / sizeof(*handled); i++) {
        sigaddset(&blocked, handled[i]);
        sigaction(handled[i], &action, NULL);
    }
    sigprocmask(SIG_BLOCK, &blocked, &screen.mask);
    quit_asked = stop_asked = was_resized = 0;
    screen.open = true;
    enter();
    return 0;
}

void screen_close(void)
{
    const struct sigaction by_default = {.sa_handler = SIG_DFL};
    if (!screen.open)
        return;
    leave();
    for (size_t i = 0; i < sizeof(handled) / sizeof(*handled); i++)
        sigaction(handled[i], &by_default, NULL);
    sigprocmask(SIG_SETMASK, &screen.mask, NULL);
    screen.open = false;
}

void screen_draw(const char *status, const char *text)
{
    unsigned height = term_height(STDOUT_FILENO);
    const char *strong = term_has_color(STDOUT_FILENO) ? "\033[7m" : "";
    fputs("\033[H\033[K", stdout); /* first: in a full line it would take the last column away */
    fputs(strong, stdout);
    term_write_name(stdout, status, term_width(STDOUT_FILENO));
    fputs(*strong ? "\033[0m" : "", stdout);
    unsigned row = 1;
    for (; *text && (height == 0 || row < height); row++) {
        size_t length = strcspn(text, "\n");
        fputs("\n\033[K", stdout);
        fwrite(text, 1, length, stdout);
        text += length + (text[length] == '\n');
    }
    fputs(row < height ? "\033[0m\n\033[J" : "\033[0m", stdout);
    fflush(stdout);
}

static void stop_until_continued(void)
{
    stop_asked = 0;
    leave();
    kill(getpid(), SIGSTOP);
    enter();
}

ScreenEvent screen_wait(uint64_t timeout_ns, char *ret_key)
{
    const struct timespec timeout = {(time_t)(timeout_ns / 1000000000),
                                     (long)(timeout_ns % 1000000000)};
    struct pollfd keys = {.fd = screen.has_keys ? STDIN_FILENO : -1, .events = POLLIN};
    int r = ppoll(&keys, 1, &timeout, &screen.mask);
    if (quit_asked)
        return SCREEN_QUIT;
    if (stop_asked) {
        stop_until_continued();
        return SCREEN_RESIZE;
    }
    if (was_resized) {
        was_resized = 0;
        return SCREEN_RESIZE;
    }
    if (r <= 0)
        return SCREEN_TIMEOUT;
    if ((keys.revents & POLLIN) && read(STDIN_FILENO, ret_key, 1) == 1)
        return SCREEN_KEY;
    return SCREEN_QUIT; /* the terminal is gone */
}
