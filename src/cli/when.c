// SPDX-License-Identifier: Apache-2.0
/*
 * Moments on the command line. Decimal seconds are read digit by digit (a double would lose
 * nanoseconds of long runs, and strtod follows the locale). RFC 3339 wants a zone; a time without
 * one would mean something else on another machine, so it is refused. No shared state.
 */
#include "cli/when.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "profile/profile.h"

#define NS_PER_S UINT64_C(1000000000)

/* Reads ".123" to nanoseconds; digits past the ninth are dropped. Moves *text behind them. */
static int parse_fraction(const char **text, uint64_t *ret_ns)
{
    uint64_t ns = 0, unit = NS_PER_S / 10;
    const char *p = *text + 1;
    if (!isdigit((unsigned char)*p))
        return -EINVAL;
    for (; isdigit((unsigned char)*p); p++) {
        ns += (uint64_t)(*p - '0') * unit;
        unit /= 10;
    }
    *text = p;
    *ret_ns = ns;
    return 0;
}

static int parse_seconds(const char *text, uint64_t *ret_ns)
{
    uint64_t seconds = 0, ns = 0;
    if (!isdigit((unsigned char)*text))
        return -EINVAL;
    for (; isdigit((unsigned char)*text); text++) {
        seconds = seconds * 10 + (uint64_t)(*text - '0');
        if (seconds > UINT64_MAX / NS_PER_S / 2)
            return -EINVAL;
    }
    if (*text == '.' && parse_fraction(&text, &ns) < 0)
        return -EINVAL;
    if (*text == 's')
        text++;
    if (*text)
        return -EINVAL;
    *ret_ns = seconds * NS_PER_S + ns;
    return 0;
}

/* N digits as a number between LOW and HIGH; moves *text. */
static int parse_digits(const char **text, int n, int low, int high, int *ret_value)
{
    int value = 0;
    for (int i = 0; i < n; i++, (*text)++) {
        if (!isdigit((unsigned char)**text))
            return -EINVAL;
        value = value * 10 + (**text - '0');
    }
    if (value < low || value > high)
        return -EINVAL;
    *ret_value = value;
    return 0;
}

static bool take(const char **text, char c)
{
    if (toupper((unsigned char)**text) != c)
        return false;
    (*text)++;
    return true;
}

/* "Z" or "+HH:MM"; seconds east of Greenwich. */
static int parse_zone(const char **text, long *ret_offset_s)
{
    int hours, minutes, sign = **text == '-' ? -1 : 1;
    if (take(text, 'Z')) {
        *ret_offset_s = 0;
        return 0;
    }
    if (!take(text, '+') && !take(text, '-'))
        return -EINVAL;
    if (parse_digits(text, 2, 0, 23, &hours) < 0 || !take(text, ':') ||
        parse_digits(text, 2, 0, 59, &minutes) < 0)
        return -EINVAL;
    *ret_offset_s = sign * (hours * 3600L + minutes * 60L);
    return 0;
}

static int parse_rfc3339(const char *text, uint64_t *ret_ns)
{
    struct tm tm = {0};
    uint64_t ns = 0;
    long offset_s;
    int year;
    if (parse_digits(&text, 4, 1970, 2500, &year) < 0 || !take(&text, '-') ||
        parse_digits(&text, 2, 1, 12, &tm.tm_mon) < 0 || !take(&text, '-') ||
        parse_digits(&text, 2, 1, 31, &tm.tm_mday) < 0 || (!take(&text, 'T') && !take(&text, ' ')))
        return -EINVAL;
    if (parse_digits(&text, 2, 0, 23, &tm.tm_hour) < 0 || !take(&text, ':') ||
        parse_digits(&text, 2, 0, 59, &tm.tm_min) < 0 || !take(&text, ':') ||
        parse_digits(&text, 2, 0, 60, &tm.tm_sec) < 0)
        return -EINVAL;
    if (*text == '.' && parse_fraction(&text, &ns) < 0)
        return -EINVAL;
    if (parse_zone(&text, &offset_s) < 0 || *text)
        return -EINVAL;
    tm.tm_year = year - 1900;
    tm.tm_mon--;
    struct tm date = {.tm_year = tm.tm_year, .tm_mon = tm.tm_mon, .tm_mday = tm.tm_mday};
    timegm(&date);
    if (date.tm_mday != tm.tm_mday)
        return -EINVAL; /* 31 February */
    time_t t = timegm(&tm);
    if (t - offset_s < 0)
        return -EINVAL;
    *ret_ns = (uint64_t)(t - offset_s) * NS_PER_S + ns;
    return 0;
}

int when_parse(const char *text, uint64_t start_ns, uint64_t *ret_time_ns)
{
    uint64_t ns;
    if (strcmp(text, "start") == 0) {
        *ret_time_ns = TIME_FIRST;
        return 0;
    }
    if (strcmp(text, "end") == 0) {
        *ret_time_ns = TIME_LAST;
        return 0;
    }
    if (parse_seconds(text, &ns) == 0) {
        *ret_time_ns = start_ns + ns;
        return 0;
    }
    int r = parse_rfc3339(text, &ns);
    if (r == 0)
        *ret_time_ns = ns;
    return r;
}

int when_check(const char *text)
{
    uint64_t ns;
    return when_parse(text, 0, &ns);
}
