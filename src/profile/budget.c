// SPDX-License-Identifier: Apache-2.0
/*
 * Reader of budget files: a subset of TOML, line by line.
 *
 * Own code, because no C library in Debian fits: inih cuts section names at 49 bytes without a word
 * (window names have 255) and cannot tell the handler the line; the TOML libraries are for C++. The
 * subset: comments, [section] with a bare or quoted name, key = integer or quoted text. No nesting,
 * no escapes in quotes but \" and \\. What TOML forbids is an error here too (twice the same key or
 * section), and an unknown key is an error that names the nearest known one.
 *
 * Linear in the text. No globals, any thread.
 */
#include "profile/budget.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILE_MAX = 1 << 20, LINE_BYTES = 1024 };

typedef struct Parser {
    Budget *budget;
    BudgetError *error;
    unsigned line;
} Parser;

static const struct {
    const char *name;
    bool bytes;
} limits[BUDGET_LIMITS] = {
    [BUDGET_ALLOCATIONS] = {"max-allocations", false},
    [BUDGET_BYTES] = {"max-bytes", true},
    [BUDGET_PEAK] = {"max-peak", true},
    [BUDGET_LIVE_AT_END] = {"max-live-at-end", true},
    [BUDGET_TEMPORARY] = {"max-temporary", false},
};

const char *budget_limit_name(BudgetLimit limit)
{
    return limits[limit].name;
}

bool budget_limit_is_bytes(BudgetLimit limit)
{
    return limits[limit].bytes;
}

static int fail(Parser *parser, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int fail(Parser *parser, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    parser->error->line = parser->line;
    vsnprintf(parser->error->message, sizeof parser->error->message, format, args);
    va_end(args);
    return -EINVAL;
}

/* ---- amounts ------------------------------------------------------------------------------ */

static int unit_of(const char *text, double *ret_factor)
{
    static const struct {
        const char *name;
        double factor;
    } units[] = {{"", 1},
                 {"B", 1},
                 {"KiB", 1024.0},
                 {"MiB", 1048576.0},
                 {"kB", 1000.0},
                 {"KB", 1000.0},
                 {"GiB", 1073741824.0},
                 {"MB", 1000000.0},
                 {"GB", 1e9},
                 {"TiB", 1099511627776.0}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(text, units[i].name) == 0) {
            *ret_factor = units[i].factor;
            return 0;
        }
    return -EINVAL;
}

/* Copies digits, "_" between digits left out, and at most one "." if allowed. */
static const char *take_number(const char *text, bool fraction, char digits[32], bool *ret_whole)
{
    size_t n = 0;
    bool whole = true;
    for (;; text++) {
        bool digit = isdigit((unsigned char)*text);
        bool dot = *text == '.' && fraction && whole && n > 0 && isdigit((unsigned char)text[1]);
        bool gap = *text == '_' && n > 0 && isdigit((unsigned char)text[-1]) &&
                   isdigit((unsigned char)text[1]);
        if (!digit && !dot && !gap)
            break;
        whole = whole && !dot;
        if (!gap && n < 31)
            digits[n++] = *text;
    }
    digits[n] = '\0';
    *ret_whole = whole;
    return text;
}

int budget_amount(const char *text, bool bytes, uint64_t *ret_amount)
{
    char digits[32];
    bool whole;
    double factor = 1;
    while (*text == ' ')
        text++;
    const char *rest = take_number(text, bytes, digits, &whole);
    if (!digits[0])
        return -EINVAL;
    while (*rest == ' ')
        rest++;
    if (bytes ? unit_of(rest, &factor) < 0 : *rest != '\0')
        return -EINVAL;
    if (whole) {
        errno = 0;
        uint64_t value = strtoull(digits, NULL, 10);
        if (errno != 0 || strlen(digits) >= 31 || value > (uint64_t)INT64_MAX / (uint64_t)factor)
            return -ERANGE;
        *ret_amount = value * (uint64_t)factor;
        return 0;
    }
    double value = strtod(digits, NULL) * factor;
    if (value >= 9e18)
        return -ERANGE;
    *ret_amount = (uint64_t)value;
    return 0;
}

/* ---- lines
 * --------------------------------------------------------------------------------------- */

static size_t edit_distance(const char *a, const char *b)
{
    size_t row[32], b_length = strlen(b);
    if (b_length > 30)
        b_length = 30;
    for (size_t j = 0; j <= b_length; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1] && i < 64; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t best = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[b_length];
}

static int find_limit(Parser *parser, const char *key, BudgetLimit *ret_limit)
{
    int nearest = 0;
    for (int i = 0; i < BUDGET_LIMITS; i++) {
        if (strcmp(key, limits[i].name) == 0) {
            *ret_limit = (BudgetLimit)i;
            return 0;
        }
        if (edit_distance(key, limits[i].name) < edit_distance(key, limits[nearest].name))
            nearest = i;
    }
    if (edit_distance(key, limits[nearest].name) <= 4)
        return fail(parser, "unknown key \"%.60s\"; did you mean %s?", key, limits[nearest].name);
    return fail(parser,
                "unknown key \"%.60s\"; keys are max-allocations, max-bytes, max-peak, "
                "max-live-at-end, max-temporary",
                key);
}

static char *skip_blanks(char *text)
{
    while (*text == ' ' || *text == '\t')
        text++;
    return text;
}

static bool is_end(const char *text)
{
    return *text == '\0' || *text == '#';
}

/* Takes a quoted text at *text (which is a quote) in place; *text moves behind it. */
static int take_quoted(Parser *parser, char **text, char **ret_value)
{
    char quote = **text, *from = *text + 1, *to = from;
    *ret_value = from;
    for (; *from && *from != quote; from++) {
        if (quote == '"' && *from == '\\') {
            if (from[1] != '"' && from[1] != '\\')
                return fail(parser, "after \\ only \" or \\ may stand");
            from++;
        }
        *to++ = *from;
    }
    if (*from != quote)
        return fail(parser, "missing closing quote");
    *text = from + 1;
    *to = '\0';
    return 0;
}

static char *take_bare(char **text)
{
    char *begin = *text;
    while (isalnum((unsigned char)**text) || **text == '_' || **text == '-')
        (*text)++;
    return begin;
}

static int add_section(Parser *parser, const char *window)
{
    Budget *budget = parser->budget;
    for (size_t i = 0; window && i < budget->section_count; i++) {
        const BudgetSection *other = &budget->sections[i];
        if (other->window && strcmp(other->window, window) == 0)
            return fail(parser, "section \"%.60s\" is there already, on line %u", window,
                        other->line);
    }
    BudgetSection *sections =
        realloc(budget->sections, (budget->section_count + 1) * sizeof *sections);
    if (!sections)
        return -ENOMEM;
    budget->sections = sections;
    BudgetSection *section = &sections[budget->section_count];
    *section = (BudgetSection){.line = parser->line};
    if (window && !(section->window = strdup(window)))
        return -ENOMEM;
    budget->section_count++;
    return 0;
}

static int parse_section(Parser *parser, char *text)
{
    char *name, *end, closing;
    text = skip_blanks(text + 1);
    if (*text == '[')
        return fail(parser, "[[...]] is not known here; a section is [window]");
    if (*text == '"' || *text == '\'') {
        int r = take_quoted(parser, &text, &name);
        if (r < 0)
            return r;
        end = NULL;
    } else {
        name = take_bare(&text);
        end = text;
    }
    text = skip_blanks(text);
    closing = *text;
    if (closing != ']')
        return fail(parser, end == name || end ? "a window's name with other characters than A-Z "
                                                 "a-z 0-9 _ - needs quotes: [\"a/b\"]"
                                               : "missing ] after the section's name");
    if (!is_end(skip_blanks(text + 1)))
        return fail(parser, "unexpected text after ]");
    if (end)
        *end = '\0';
    if (!*name)
        return fail(parser, "a section needs the name of a window");
    return add_section(parser, name);
}

static int parse_value(Parser *parser, BudgetLimit limit, char *text, uint64_t *ret_value)
{
    char *value;
    bool quoted = *text == '"' || *text == '\'';
    if (quoted) {
        int r = take_quoted(parser, &text, &value);
        if (r < 0)
            return r;
    } else {
        value = text;
        text += strcspn(text, "#");
        if (*text)
            *text++ = '\0', text += strlen(text);
        for (char *last = value + strlen(value); last > value && isspace((unsigned char)last[-1]);)
            *--last = '\0';
    }
    if (!is_end(skip_blanks(text)))
        return fail(parser, "unexpected text after the value of %s", limits[limit].name);
    int r = budget_amount(value, limits[limit].bytes, ret_value);
    if (r == -ERANGE)
        return fail(parser, "%s = %.60s: too large", limits[limit].name, value);
    if (r == 0 && !quoted && strspn(value, "0123456789_") != strlen(value))
        return fail(parser, "%s: a size with a unit needs quotes: \"%.60s\"", limits[limit].name,
                    value);
    if (r < 0)
        return fail(parser, "%s = %.60s: wants %s", limits[limit].name, value,
                    limits[limit].bytes ? "bytes, as 4096 or \"4 KiB\"" : "a whole number");
    return 0;
}

static int parse_key(Parser *parser, char *text)
{
    BudgetLimit limit = BUDGET_LIMITS;
    uint64_t value = 0;
    char *key = take_bare(&text), *end = text;
    text = skip_blanks(text);
    if (end == key || *text != '=')
        return fail(parser, "wants key = value, or [window]");
    text = skip_blanks(text + 1);
    *end = '\0';
    int r = find_limit(parser, key, &limit);
    r = r < 0 ? r : parse_value(parser, limit, text, &value);
    if (r == 0 && parser->budget->section_count == 0)
        r = add_section(parser, NULL);
    if (r < 0)
        return r;
    BudgetSection *section = &parser->budget->sections[parser->budget->section_count - 1];
    if (section->is_set[limit])
        return fail(parser, "%s is set twice in this section", key);
    section->is_set[limit] = true;
    section->max[limit] = value;
    return 0;
}

static int parse_line(Parser *parser, const char *begin, size_t length)
{
    char line[LINE_BYTES];
    if (length > 0 && begin[length - 1] == '\r')
        length--;
    if (length >= sizeof line)
        return fail(parser, "line longer than %d bytes", LINE_BYTES - 1);
    if (memchr(begin, '\0', length))
        return fail(parser, "a zero byte: not a text file");
    memcpy(line, begin, length);
    line[length] = '\0';
    char *text = skip_blanks(line);
    if (is_end(text))
        return 0;
    return *text == '[' ? parse_section(parser, text) : parse_key(parser, text);
}

/* A section without a limit would pass whatever happens. */
static int check_sections(Parser *parser)
{
    const Budget *budget = parser->budget;
    for (size_t i = 0; i < budget->section_count; i++) {
        bool has_limit = false;
        for (int limit = 0; limit < BUDGET_LIMITS; limit++)
            has_limit = has_limit || budget->sections[i].is_set[limit];
        parser->line = budget->sections[i].line;
        if (!has_limit)
            return fail(parser, "section \"%.60s\" has no limit", budget->sections[i].window);
    }
    parser->line = 0;
    return budget->section_count ? 0 : fail(parser, "no limit in it");
}

int budget_parse(const char *text, size_t length, Budget **ret_budget, BudgetError *ret_error)
{
    *ret_error = (BudgetError){0};
    Parser parser = {.budget = calloc(1, sizeof(Budget)), .error = ret_error};
    int r = parser.budget ? 0 : -ENOMEM;
    if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        text += 3, length -= 3; /* a byte order mark */

    for (const char *at = text, *end = text + length; r == 0 && at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t line_length = newline ? (size_t)(newline - at) : (size_t)(end - at);
        parser.line++;
        r = parse_line(&parser, at, line_length);
        at += line_length + 1;
    }
    if (r == 0)
        r = check_sections(&parser);
    if (r < 0) {
        budget_free(parser.budget);
        return r;
    }
    *ret_budget = parser.budget;
    return 0;
}

void budget_free(Budget *budget)
{
    if (!budget)
        return;
    for (size_t i = 0; i < budget->section_count; i++)
        free(budget->sections[i].window);
    free(budget->sections);
    free(budget);
}

int budget_read(const char *path, Budget **ret_budget, BudgetError *ret_error)
{
    *ret_error = (BudgetError){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    char *text = malloc(FILE_MAX);
    size_t length = 0;
    ssize_t n = text ? 1 : -1;
    while (n > 0 && length < FILE_MAX) {
        n = read(fd, text + length, FILE_MAX - length);
        length += n > 0 ? (size_t)n : 0;
    }
    int r = !text ? -ENOMEM : n < 0 ? -errno : 0;
    close(fd);
    if (r == 0 && length == FILE_MAX) {
        snprintf(ret_error->message, sizeof ret_error->message, "larger than 1 MiB: not a budget");
        r = -EINVAL;
    }
    if (r == 0)
        r = budget_parse(text, length, ret_budget, ret_error);
    free(text);
    return r;
}
