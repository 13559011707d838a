// SPDX-License-Identifier: Apache-2.0
/*
 * The browser is a grandchild in a session of its own, so that a Ctrl-C meant for us does not end
 * it, and it never becomes a zombie of ours. There may be threads here, so everything is prepared
 * before the fork. $BROWSER may be a list with colons, and hold arguments and %s for the URL.
 */
#include "cli/view_open.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS_MAX = 16, COMMAND_BYTES = 1000 };

/* WORD with %s replaced; malloc'd. */
static char *put_url(const char *word, const char *url)
{
    const char *mark = strstr(word, "%s");
    char *text = NULL;
    if (!mark)
        return strdup(word);
    return asprintf(&text, "%.*s%s%s", (int)(mark - word), word, url, mark + 2) < 0 ? NULL : text;
}

/* The words to run, NULL-terminated, all malloc'd; false: no browser. */
static bool make_words(const char *url, char *words[WORDS_MAX + 2])
{
    const char *browser = getenv("BROWSER");
    char command[COMMAND_BYTES], *state = NULL;
    size_t count = 0;
    if (browser && *browser)
        snprintf(command, sizeof(command), "%.*s", (int)strcspn(browser, ":"), browser);
    else if (getenv("DISPLAY") || getenv("WAYLAND_DISPLAY"))
        snprintf(command, sizeof(command), "xdg-open");
    else
        return false;
    bool placed = strstr(command, "%s") != NULL;
    for (char *word = strtok_r(command, " ", &state); word && count < WORDS_MAX;
         word = strtok_r(NULL, " ", &state))
        words[count++] = put_url(word, url);
    if (count && !placed)
        words[count++] = strdup(url);
    words[count] = NULL;
    return count > 0;
}

__attribute__((noreturn)) static void run_browser(char *const *words)
{
    sigset_t none;
    setsid();
    if (fork() != 0)
        _exit(0);
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd <= 2 && null >= 0; fd++)
        dup2(null, fd);
    close_range(3, ~0U, 0);
    signal(SIGPIPE, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execvp(words[0], words);
    _exit(127);
}

bool view_open(const char *url)
{
    char *words[WORDS_MAX + 2] = {0};
    bool known = make_words(url, words);
    if (known) {
        pid_t child = fork();
        if (child == 0)
            run_browser(words);
        if (child > 0)
            waitpid(child, NULL, 0); /* it ends at once, having made the browser */
    }
    for (size_t i = 0; words[i]; i++)
        free(words[i]);
    return known;
}
