// SPDX-License-Identifier: Apache-2.0
/*
 * Opening and following a profile file. Records are read one by one, decoded whole, and only then
 * applied, so a bad record leaves no trace in the model. Every record holds states, not
 * differences; so when a record is bad but its frame is intact (the next one begins where it
 * should), reading goes on behind it, and the damage is noted. When not even the frame can be
 * trusted, reading stops there for good. A record that is cut at the end of the file is waited for.
 *
 * The file stays open; whether the path still means the same file is checked at each advance.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "profile/model.h"

#define NO_HURRY UINT64_MAX

__attribute__((format(printf, 4, 5))) static int error_set(ProfileError *error, int code,
                                                           uint64_t offset, const char *format, ...)
{
    va_list args;

    if (error) {
        error->code = code;
        error->offset = offset;
        va_start(args, format);
        vsnprintf(error->message, sizeof error->message, format, args);
        va_end(args);
    }
    return code;
}

/* ---- one record ----------------------------------------------------------------------------- */

static long read_record(void *context, uint8_t *buffer, size_t bytes)
{
    return record_read(context, buffer, bytes);
}

/* The reason why the record at hand is bad: the frame's, else the message's. */
static const char *record_reason(const Profile *profile)
{
    const char *reason = record_message(profile->reader);

    return reason[0] ? reason : decode_message(profile->decoder);
}

/* ---- readers -------------------------------------------------------------------------------- */

/* What unpacks and decodes keeps nothing from one record to the next but memory, half a MiB: a run
 * that has ended gives it back, of which there may be thousands in a folder. */
static void readers_put_away(Profile *profile)
{
    record_free(profile->reader);
    decoder_free(profile->decoder);
    profile->reader = NULL;
    profile->decoder = NULL;
}

static int readers_need(Profile *profile)
{
    if (profile->reader && profile->decoder)
        return 0;
    readers_put_away(profile);
    int ret = record_new(&profile->reader);
    if (ret == 0)
        ret = decoder_new(&profile->budget, &profile->decoder);
    return ret;
}

static void ahead_stop(Profile *profile)
{
    read_ahead_free(profile->ahead);
    profile->ahead = NULL;
}

/* A long rest of a file is decoded by another thread while this one takes it in; without one it
 * goes on as it would anyway. */
static void ahead_start(Profile *profile, uint64_t file_bytes)
{
    if (!profile->ahead && !profile->stopped && file_bytes > profile->offset &&
        file_bytes - profile->offset >= profile->ahead_least)
        (void)read_ahead_new(profile->fd, profile->offset, file_bytes, &profile->ahead);
}

/* ---- records -------------------------------------------------------------------------------- */

static int take_process(Profile *profile, uint64_t payload, ProfileError *ret_error)
{
    const DecodedProcess *process;
    int ret =
        record_begin(profile->reader, profile->fd, profile->offset + RECORD_HEADER_BYTES, payload);

    if (ret == 0)
        ret = decode_process(profile->decoder, read_record, profile->reader, &process);
    if (ret == 0 && !process->pid && !process->start_ns && !process->short_name[0])
        return error_set(ret_error, -EBADMSG, profile->offset,
                         "not a profile: the first record does not name a process");
    if (ret < 0)
        return error_set(ret_error, ret, profile->offset, "not a profile: the first record: %s",
                         record_reason(profile));
    ret = model_put_process(profile, process, profile->offset);
    if (ret < 0)
        return error_set(ret_error, ret, profile->offset, "out of memory");
    profile->offset += RECORD_HEADER_BYTES + payload;
    return 0;
}

static void apply_snapshot(Profile *profile, const DecodedSnapshot *snapshot)
{
    int ret = model_put_snapshot(profile, snapshot, profile->offset);

    if (ret == 0)
        return;
    model_damage(profile, ret, profile->offset, "the model would need more than %" PRIu64 " MiB",
                 profile->budget.limit_bytes >> 20);
    profile->stopped = true;
}

/* Applies the snapshot at profile->offset; a bad one is noted and skipped, or reading stops. */
static void take_snapshot(Profile *profile, uint64_t payload, uint64_t file_bytes)
{
    uint64_t offset = profile->offset;
    uint64_t next = offset + RECORD_HEADER_BYTES + payload;
    const DecodedSnapshot *snapshot;
    int ret =
        record_snapshot(profile->reader, profile->decoder, profile->fd, offset, payload, &snapshot);

    if (ret == 0) {
        apply_snapshot(profile, snapshot);
    } else {
        profile->stopped = !record_may_begin(profile->fd, next, file_bytes);
        model_damage(profile, ret, offset, "bad record: %s; %s", record_reason(profile),
                     profile->stopped ? "nothing can be read behind it" : "it is left out");
    }
    if (!profile->stopped)
        profile->offset = next;
}

/* Applies the one at profile->offset if it was decoded ahead; false: it is to be taken here. */
static bool take_ahead(Profile *profile)
{
    AheadRecord record;

    if (!profile->ahead)
        return false;
    if (!read_ahead_next(profile->ahead, &record) || record.offset != profile->offset) {
        ahead_stop(profile);
        return false;
    }
    if (!record.snapshot)
        return false;
    apply_snapshot(profile, record.snapshot);
    if (!profile->stopped)
        profile->offset += RECORD_HEADER_BYTES + record.payload_bytes;
    return true;
}

/* ---- following ------------------------------------------------------------------------------ */

/* Size of the file, or -ESTALE when it is no longer the one that was opened. */
static int check_file(Profile *profile, uint64_t *ret_bytes, ProfileError *ret_error)
{
    struct stat st;

    if (fstat(profile->fd, &st) < 0)
        return error_set(ret_error, -errno, 0, "%s", strerror(errno));
    *ret_bytes = (uint64_t)st.st_size;
    if (*ret_bytes < profile->offset)
        return error_set(ret_error, -ESTALE, *ret_bytes,
                         "the file became shorter than what was read of it");
    if (stat(profile->path, &st) == 0 &&
        (st.st_dev != profile->device || st.st_ino != profile->inode))
        return error_set(ret_error, -ESTALE, 0, "another file has taken its place");
    return 0;
}

static void look_at_tail(Profile *profile, uint64_t file_bytes)
{
    profile->tail.code = 0;
    if (profile->ended && !profile->stopped && profile->offset < file_bytes)
        error_set(&profile->tail, -ENODATA, profile->offset,
                  "%" PRIu64 " bytes follow the end of the run and are no whole record",
                  file_bytes - profile->offset);
}

/* 1: took the next record, 0: there is none, negative errno. */
static int take_next(Profile *profile, uint64_t file_bytes, ProfileError *ret_error)
{
    uint64_t payload;

    if (take_ahead(profile))
        return 1;
    int found = record_find(profile->fd, profile->offset, file_bytes, &payload);
    if (found == -EBADMSG) {
        model_damage(profile, -EBADMSG, profile->offset,
                     "what follows is no record; nothing can be read behind it");
        profile->stopped = true;
        return 0;
    }
    if (found < 0)
        return error_set(ret_error, found, profile->offset, "read: %s", strerror(-found));
    if (found > 0) {
        int ret = readers_need(profile);
        if (ret < 0)
            return error_set(ret_error, ret, profile->offset, "out of memory");
        take_snapshot(profile, payload, file_bytes);
    }
    return found;
}

/* Until nothing whole is left, or the time is over: then *ret_left is what the file has beyond. */
static int take_snapshots(Profile *profile, uint64_t file_bytes, uint64_t until_ns,
                          uint64_t *ret_left, ProfileError *ret_error)
{
    int taken = 0, found = 1;

    *ret_left = 0;
    ahead_start(profile, file_bytes);
    while (!profile->stopped && found > 0) {
        uint64_t payload;
        if (taken && until_ns != NO_HURRY && clock_ns(CLOCK_MONOTONIC) >= until_ns &&
            record_find(profile->fd, profile->offset, file_bytes, &payload) > 0) {
            *ret_left = file_bytes - profile->offset;
            return taken;
        }
        found = take_next(profile, file_bytes, ret_error);
        taken += found > 0;
    }
    ahead_stop(profile);
    if (found < 0)
        return found;
    look_at_tail(profile, file_bytes);
    if (profile->ended || profile->stopped)
        readers_put_away(profile);
    return taken;
}

static int advance(Profile *profile, uint64_t until_ns, uint64_t *ret_left, ProfileError *ret_error)
{
    uint64_t file_bytes = 0;
    int ret = check_file(profile, &file_bytes, ret_error);

    *ret_left = 0;
    if (ret < 0)
        ahead_stop(profile);
    if (ret < 0 || profile->stopped)
        return ret;
    return take_snapshots(profile, file_bytes, until_ns, ret_left, ret_error);
}

int profile_advance(Profile *profile, ProfileError *ret_error)
{
    uint64_t left;

    return advance(profile, NO_HURRY, &left, ret_error);
}

int profile_advance_for(Profile *profile, uint64_t most_ns, uint64_t *ret_left_bytes,
                        ProfileError *ret_error)
{
    return advance(profile, clock_ns(CLOCK_MONOTONIC) + most_ns, ret_left_bytes, ret_error);
}

/* ---- opening -------------------------------------------------------------------------------- */

static int open_file(Profile *profile, const char *path, uint64_t *ret_bytes, ProfileError *error)
{
    struct stat st;

    profile->path = strdup(path);
    if (!profile->path)
        return error_set(error, -ENOMEM, 0, "out of memory");
    /* Without O_NONBLOCK a FIFO would make us wait. */
    profile->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (profile->fd < 0 || fstat(profile->fd, &st) < 0)
        return error_set(error, -errno, 0, "%s", strerror(errno));
    if (!S_ISREG(st.st_mode))
        return error_set(error, -EINVAL, 0, "not a regular file");
    profile->device = st.st_dev;
    profile->inode = st.st_ino;
    *ret_bytes = (uint64_t)st.st_size;
    return 0;
}

static int read_first(Profile *profile, uint64_t file_bytes, ProfileError *ret_error)
{
    uint64_t payload;
    int found = record_find(profile->fd, 0, file_bytes, &payload);

    if (found == 0 && file_bytes == 0)
        return error_set(ret_error, -ENODATA, 0, "the file is empty");
    if (found == 0)
        return error_set(ret_error, -ENODATA, 0, "not a profile, or its first record is cut");
    if (found == -EBADMSG)
        return error_set(ret_error, -EBADMSG, 0, "not a profile: it does not begin with a record");
    if (found < 0)
        return error_set(ret_error, found, 0, "read: %s", strerror(-found));
    return take_process(profile, payload, ret_error);
}

int profile_open_first(const char *path, Profile **ret_profile, ProfileError *ret_error)
{
    Profile *profile;
    uint64_t file_bytes = 0;
    int ret = model_new(MODEL_MEMORY_MAX, &profile);

    if (ret < 0)
        return error_set(ret_error, ret, 0, "out of memory");
    ret = open_file(profile, path, &file_bytes, ret_error);
    if (ret < 0)
        goto fail;
    ret = readers_need(profile);
    if (ret < 0) {
        error_set(ret_error, ret, 0, "out of memory");
        goto fail;
    }
    ret = read_first(profile, file_bytes, ret_error);
    if (ret < 0)
        goto fail;
    *ret_profile = profile;
    return 0;

fail:
    profile_close(profile);
    return ret;
}

int profile_open(const char *path, Profile **ret_profile, ProfileError *ret_error)
{
    Profile *profile;
    struct stat st;
    uint64_t left;
    int ret = profile_open_first(path, &profile, ret_error);

    if (ret < 0)
        return ret;
    /* not profile_advance(): whatever stands at the path by now, this file is read */
    if (fstat(profile->fd, &st) < 0)
        ret = error_set(ret_error, -errno, 0, "%s", strerror(errno));
    else
        ret = take_snapshots(profile, (uint64_t)st.st_size, NO_HURRY, &left, ret_error);
    if (ret < 0) {
        profile_close(profile);
        return ret;
    }
    *ret_profile = profile;
    return 0;
}

void profile_close(Profile *profile)
{
    if (!profile)
        return;
    for (size_t i = 0; i < profile->windows.count; i++) {
        vector_done(&profile->windows.items[i].shapes, &profile->budget);
        vector_done(&profile->windows.items[i].spans, &profile->budget);
    }
    vector_done(&profile->windows, &profile->budget);
    vector_done(&profile->modules, &profile->budget);
    vector_done(&profile->frames, &profile->budget);
    vector_done(&profile->stacks, &profile->budget);
    vector_done(&profile->series_pages, &profile->budget);
    vector_done(&profile->snapshots, &profile->budget);
    vector_done(&profile->marks, &profile->budget);
    vector_done(&profile->module_map.ranges, &profile->budget);
    id_map_done(&profile->module_ids);
    id_map_done(&profile->module_keys);
    id_map_done(&profile->frame_ids);
    id_map_done(&profile->stack_ids);
    id_map_done(&profile->window_ids);
    id_map_done(&profile->shape_ids);
    pool_done(&profile->pool);
    ahead_stop(profile);
    readers_put_away(profile);
    if (profile->fd >= 0)
        close(profile->fd);
    free(profile->path);
    free(profile);
}
