// SPDX-License-Identifier: Apache-2.0
/*
 * Figures as people read them: bytes with binary prefixes, counts with separators, shares, times.
 * Locale-independent on purpose, so that output can be compared between machines. Rounding is done
 * before the unit is chosen: 1048575 bytes are "1.0 MiB", not "1024.0 KiB". No state, any thread.
 */
#include "export/numbers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* value/unit with one decimal, climbing through the units until it is below base. */
static const char *scaled(char *buffer, int64_t value, double base, const char *const *units,
                          size_t unit_count)
{
    double x = (double)value;
    size_t unit = 0;
    while (unit + 1 < unit_count && (x >= base - 0.05 || x <= -(base - 0.05))) {
        x /= base;
        unit++;
    }
    snprintf(buffer, NUMBER_BYTES, "%.1f%s", x, units[unit]);
    return buffer;
}

const char *number_bytes(char buffer[NUMBER_BYTES], int64_t bytes)
{
    static const char *const units[] = {" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"};
    if (bytes > -1024 && bytes < 1024) {
        snprintf(buffer, NUMBER_BYTES, "%" PRId64 " B", bytes);
        return buffer;
    }
    return scaled(buffer, bytes, 1024, units, 7);
}

const char *number_count(char buffer[NUMBER_BYTES], int64_t count)
{
    char digits[24];
    uint64_t magnitude = count < 0 ? -(uint64_t)count : (uint64_t)count;
    int length = snprintf(digits, sizeof(digits), "%" PRIu64, magnitude);
    char *out = buffer;
    if (count < 0)
        *out++ = '-';
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            *out++ = ',';
        *out++ = digits[i];
    }
    *out = '\0';
    return buffer;
}

const char *number_count_short(char buffer[NUMBER_BYTES], int64_t count, unsigned columns)
{
    static const char *const units[] = {"", " k", " M", " G", " T", " P", " E"};
    number_count(buffer, count);
    return strlen(buffer) <= columns ? buffer : scaled(buffer, count, 1000, units, 7);
}

const char *number_percent(char buffer[NUMBER_BYTES], int64_t part, int64_t whole)
{
    if (whole == 0)
        snprintf(buffer, NUMBER_BYTES, "-");
    else
        snprintf(buffer, NUMBER_BYTES, "%.1f %%", 100.0 * (double)part / (double)whole);
    return buffer;
}

const char *number_duration(char buffer[NUMBER_BYTES], uint64_t ns)
{
    uint64_t s = (ns + 500000000) / 1000000000;
    if (ns < UINT64_C(9999500))
        snprintf(buffer, NUMBER_BYTES, "%.2f ms", (double)ns / 1e6);
    else if (ns < UINT64_C(59995000000))
        snprintf(buffer, NUMBER_BYTES, "%.2f s", (double)ns / 1e9);
    else if (s < 3600)
        snprintf(buffer, NUMBER_BYTES, "%u min %02u s", (unsigned)(s / 60), (unsigned)(s % 60));
    else
        snprintf(buffer, NUMBER_BYTES, "%" PRIu64 " h %02u min %02u s", s / 3600,
                 (unsigned)(s / 60 % 60), (unsigned)(s % 60));
    return buffer;
}

bool metric_is_bytes(Metric metric)
{
    return metric == METRIC_LIVE_BYTES || metric == METRIC_TOTAL_BYTES || metric == METRIC_OVERHEAD;
}

const char *metric_words(Metric metric)
{
    static const char *const words[METRIC_MAX] = {
        [METRIC_LIVE_BYTES] = "live bytes",
        [METRIC_LIVE_COUNT] = "live allocations",
        [METRIC_TOTAL_BYTES] = "bytes ever allocated",
        [METRIC_TOTAL_COUNT] = "allocations ever made",
        [METRIC_TEMPORARY] = "temporary allocations",
        [METRIC_OVERHEAD] = "allocator overhead",
    };
    return metric < METRIC_MAX ? words[metric] : "";
}

const char *metric_words_of_window(Metric metric)
{
    return metric == METRIC_TOTAL_COUNT   ? "allocations"
           : metric == METRIC_TOTAL_BYTES ? "bytes allocated"
                                          : metric_words(metric);
}

const char *number_metric(char buffer[NUMBER_BYTES], Metric metric, int64_t value)
{
    return metric_is_bytes(metric) ? number_bytes(buffer, value) : number_count(buffer, value);
}
