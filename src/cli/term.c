// SPDX-License-Identifier: Apache-2.0
/*
 * The terminal. All names that come out of a profile, and all words of the command line that go
 * into a message, are hostile until they passed term_write_clean(). No shared state.
 */
#include "cli/term.h"

#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "export/names.h"

bool term_has_color(int fd)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    if (no_color && *no_color)
        return false;
    return isatty(fd) && term && *term && strcmp(term, "dumb") != 0;
}

bool term_has_utf8(void)
{
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

unsigned term_width(int fd)
{
    struct winsize size;
    if (ioctl(fd, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
        return 80;
    return size.ws_col < 40 ? 40 : size.ws_col;
}

unsigned term_height(int fd)
{
    struct winsize size;
    return ioctl(fd, TIOCGWINSZ, &size) < 0 ? 0 : size.ws_row;
}

void term_write_clean(FILE *out, const char *s)
{
    NameBuffer buffer = {0};
    const char *clean = name_append_terminal(&buffer, s, !term_has_utf8());
    fputs(clean ? clean : "?", out);
    name_buffer_done(&buffer);
}

void term_write_name(FILE *out, const char *name, unsigned width)
{
    NameBuffer clean = {0}, cut = {0};
    bool ascii = !term_has_utf8();
    const char *text = name_append_terminal(&clean, name, ascii);
    if (text)
        text = name_shorten(&cut, text, width, ascii);
    fputs(text ? text : "?", out);
    name_buffer_done(&clean);
    name_buffer_done(&cut);
}
