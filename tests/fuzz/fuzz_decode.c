// SPDX-License-Identifier: Apache-2.0
/*
 * Fuzzer of the reading side. The first byte chooses the door:
 *
 *   even   messages without zstd and framing, so that the fuzzer need not find its way through
 *          checksums: [length 16 bit big-endian][Snapshot] ..., the last one takes the rest
 *   odd    a whole profile file, read from a memfd; of every second value of the byte, with a
 * thread that decodes ahead, which must make no difference
 *
 * Whatever was taken in, the model must be whole: indexes in range, times strictly rising, and each
 * question must agree with the others. A violation aborts.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "profile/model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MEMORY_MAX = 64 << 20, QUESTIONS_MAX = 2000 };

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

typedef struct Source {
    const uint8_t *data;
    size_t left;
} Source;

static long source_read(void *context, uint8_t *buffer, size_t bytes)
{
    Source *source = context;

    if (bytes > source->left)
        bytes = source->left;
    if (bytes && buffer)
        memcpy(buffer, source->data, bytes);
    source->data += bytes;
    source->left -= bytes;
    return (long)bytes;
}

static size_t source_ready(void *context, const uint8_t **ret_bytes)
{
    const Source *source = context;

    *ret_bytes = source->data;
    return source->left;
}

/* ---- what must hold ------------------------------------------------------------------------- */

static size_t text_bytes; /* so that reading the texts is not optimised away */

static void check_parts(const Profile *profile)
{
    const ProfileProcess *process = profile_process(profile);

    for (size_t i = 0; i < process->argument_count; i++)
        text_bytes += strlen(process->arguments[i]);
    for (uint32_t i = 0; i < profile_module_count(profile); i++) {
        const ProfileModule *module = profile_module(profile, i);
        text_bytes += strlen(module->path);
        for (size_t k = 0; k < module->segment_count; k++)
            text_bytes += module->segments[k].size;
        for (size_t k = 0; k < module->build_id_size; k++)
            text_bytes += module->build_id[k];
    }
    for (uint32_t i = 0; i < profile_frame_count(profile); i++) {
        uint32_t module = profile_frame(profile, i)->module;
        REQUIRE(module == ID_NONE || module < profile_module_count(profile));
    }
    for (uint32_t i = 0; i < profile_stack_count(profile); i++) {
        const ProfileStack *stack = profile_stack(profile, i);
        for (size_t k = 0; k < stack->depth; k++)
            REQUIRE(stack->frames[k] < profile_frame_count(profile));
    }
    for (size_t i = 1; i < profile_snapshot_count(profile); i++)
        REQUIRE(profile_snapshot(profile, i)->time_ns > profile_snapshot(profile, i - 1)->time_ns ||
                profile_snapshot(profile, i)->time_ns == TIME_LAST - 1);
    for (size_t i = 0; i < profile_mark_count(profile); i++)
        text_bytes += strlen(profile_mark(profile, i)->text);
    for (size_t i = 0; (const void *)profile_damage_at(profile, i) != NULL; i++)
        REQUIRE(profile_damage_at(profile, i)->message[0] &&
                profile_damage_at(profile, i)->code < 0);
}

static void check_windows(const Profile *profile)
{
    for (size_t i = 0; i < profile_window_count(profile); i++) {
        const ProfileWindow *window = profile_window(profile, i);
        uint64_t iterations = 0;
        text_bytes += strlen(window->name);
        for (size_t s = 0; s < window->shape_count; s++) {
            iterations += window->shapes[s].iterations;
            for (size_t r = 0; r < window->shapes[s].row_count; r++)
                REQUIRE(window->shapes[s].rows[r].stack < profile_stack_count(profile));
        }
        REQUIRE(iterations == window->iterations);
    }
}

static int64_t sum_of(const Profile *profile, const Values *values, Metric metric)
{
    Values sum;

    profile_sum(profile, values, &sum);
    return sum.v[metric];
}

static void check_moment(const Profile *profile, size_t snapshot, int64_t series_value,
                         Metric metric, Values *values)
{
    uint64_t time_ns = profile_snapshot(profile, snapshot)->time_ns;

    if ((size_t)profile_snapshot_at(profile, time_ns) != snapshot)
        return; /* times that ran into the end of the number */
    profile_state(profile, time_ns, values);
    REQUIRE(sum_of(profile, values, metric) == series_value);
}

static void check_questions(const Profile *profile)
{
    size_t stacks = profile_stack_count(profile), count = profile_snapshot_count(profile);
    Values *values = malloc((stacks + 1) * sizeof *values);
    Values *more = malloc((stacks + 1) * sizeof *more);
    SeriesPoint *points = malloc((count + 1) * sizeof *points);
    uint32_t *top = malloc((stacks + 1) * sizeof *top);
    uint64_t time_ns, bytes;

    REQUIRE(values && more && points && top);
    for (int m = 0; m < METRIC_MAX; m++) {
        REQUIRE(profile_series(profile, (Metric)m, NULL, 0, TIME_FIRST, TIME_LAST, points, count) ==
                (int)count);
        for (size_t i = 0; i < count; i += 1 + count / 4)
            check_moment(profile, i, points[i].value, (Metric)m, values);
        profile_state(profile, TIME_LAST, values);
        if (count)
            REQUIRE(points[count - 1].value == sum_of(profile, values, (Metric)m));
        int n = profile_top(profile, values, (Metric)m, top, stacks);
        for (int i = 1; i < n; i++)
            REQUIRE(values[top[i - 1]].v[m] >= values[top[i]].v[m]);
    }
    profile_peak(profile, &time_ns);
    profile_state(profile, time_ns, values);
    profile_between(profile, TIME_FIRST, time_ns, values, more);
    profile_between(profile, time_ns, TIME_LAST, values, more);
    profile_peak_between(profile, time_ns, TIME_LAST, &time_ns, &bytes);
    free(values);
    free(more);
    free(points);
    free(top);
}

static void check_model(const Profile *profile)
{
    check_parts(profile);
    check_windows(profile);
    if (profile_stack_count(profile) * profile_snapshot_count(profile) < QUESTIONS_MAX * 16)
        check_questions(profile);
}

/* ---- the two doors -------------------------------------------------------------------------- */

static void feed_messages(const uint8_t *data, size_t size)
{
    MemoryBudget budget = {.limit_bytes = MEMORY_MAX};
    const DecodedProcess *process;
    Decoder *decoder;
    Profile *profile;
    int ret = 0;

    REQUIRE(model_new(MEMORY_MAX, &profile) == 0);
    REQUIRE(decoder_new(&budget, &decoder) == 0);
    decoder_set_ready(decoder, source_ready);
    profile->process = (ProfileProcess){.short_name = "", .full_path = "/exe"};
    while (size >= 2 && ret == 0) {
        const DecodedSnapshot *snapshot;
        size_t bytes = (size_t)data[0] << 8 | data[1];
        Source source = {data + 2, bytes < size - 2 ? bytes : size - 2};
        data += 2 + source.left;
        size -= 2 + source.left;
        Source again = source;
        if (decode_snapshot(decoder, source_read, &source, &snapshot) == 0)
            ret = model_put_snapshot(profile, snapshot, 0);
        else if (decode_process(decoder, source_read, &again, &process) == 0)
            ret = model_put_process(profile, process, 0);
    }
    decoder_free(decoder);
    REQUIRE(budget.used_bytes == 0);
    if (ret == 0)
        check_model(profile);
    profile_close(profile);
}

static void check_ahead(const Profile *profile, const char *path)
{
    ProfileError error = {0};
    Profile *ahead;

    REQUIRE(profile_open_first(path, &ahead, &error) == 0);
    ahead->ahead_least = 0;
    REQUIRE(profile_advance(ahead, &error) >= 0);
    REQUIRE(profile_file_bytes(ahead) == profile_file_bytes(profile));
    REQUIRE(profile_snapshot_count(ahead) == profile_snapshot_count(profile));
    REQUIRE(profile_stack_count(ahead) == profile_stack_count(profile));
    REQUIRE(profile_damage_count(ahead) == profile_damage_count(profile));
    for (size_t i = 0; profile_damage_at(ahead, i); i++)
        REQUIRE(
            profile_damage_at(ahead, i)->offset == profile_damage_at(profile, i)->offset &&
            !strcmp(profile_damage_at(ahead, i)->message, profile_damage_at(profile, i)->message));
    profile_close(ahead);
}

static void feed_file(const uint8_t *data, size_t size, bool with_ahead)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    ProfileError error = {0};
    Profile *profile;
    char path[64];

    REQUIRE(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (profile_open(path, &profile, &error) == 0) {
        check_model(profile);
        if (with_ahead)
            check_ahead(profile, path);
        REQUIRE(profile_advance(profile, &error) == 0);
        REQUIRE(profile_file_bytes(profile) <= size);
        profile_close(profile);
    } else {
        REQUIRE(error.code < 0 && error.message[0]);
    }
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    if (data[0] & 1)
        feed_file(data + 1, size - 1, data[0] & 2);
    else
        feed_messages(data + 1, size - 1);
    return 0;
}
