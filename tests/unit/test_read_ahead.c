// SPDX-License-Identifier: Apache-2.0
/*
 * Reading ahead by a thread must be seen by nothing but the clock: the same model, the same damages
 * at the same offsets as reading one record after the other, whatever is wrong with the file, and
 * however the caller takes it, in slices, to the end, or not to the end.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <zstd.h>

#include "base/bits.h"
#include "format/wire.h"
#include "profile/model.h"

enum { RECORDS = 400, STACKS = 50 };

static char path[] = "/tmp/memhawk-ahead-XXXXXX";
static int file = -1;
static uint64_t starts[RECORDS + 1]; /* of the snapshots, and the end */
static WireBuffer body;

static uint8_t *grow(uint8_t *data, size_t bytes, size_t old_capacity, size_t new_capacity)
{
    (void)bytes;
    (void)old_capacity;
    return realloc(data, new_capacity);
}

static void append(const void *data, size_t bytes)
{
    assert_int_equal(write(file, data, bytes), bytes);
}

static void write_record(void)
{
    uint8_t packed[8 + 65536];
    size_t bytes = ZSTD_compress(packed + 8, sizeof packed - 8, body.data, body.bytes, 1);

    assert_false(body.failed || ZSTD_isError(bytes));
    store_be64(packed, bytes);
    append(packed, 8 + bytes);
    body.bytes = 0;
}

static void write_process(void)
{
    wire_string(&body, 1, "ahead");
    wire_string(&body, 2, "/usr/bin/ahead");
    wire_uint(&body, 3, 7);
    wire_uint(&body, 4, 1000);
    wire_uint(&body, 100, 1);
    write_record();
}

/* Live bytes of stack S after snapshot N are (N + 1) * (S + 1). */
static void put_snapshot(int n)
{
    wire_uint(&body, 1, 2000 + 10 * (uint64_t)n);
    for (uint64_t s = 0; s < STACKS; s++) {
        if (n == 0) {
            size_t stack = wire_begin(&body, 4);
            wire_uint(&body, 1, s + 1);
            wire_end(&body, stack);
        }
        size_t change = wire_begin(&body, 2);
        wire_uint(&body, 1, s + 1);
        size_t allocs = wire_begin(&body, 2);
        wire_uint(&body, 1, (uint64_t)(n + 1) * (s + 1));
        wire_end(&body, allocs);
        wire_end(&body, change);
    }
}

/* A whole file of RECORDS snapshots, at whose end `file` stands. */
static void make_file(void)
{
    if (file >= 0)
        close(file);
    file = open(path, O_RDWR | O_TRUNC | O_CLOEXEC);
    assert_true(file >= 0);
    write_process();
    for (int n = 0; n < RECORDS; n++) {
        starts[n] = (uint64_t)lseek(file, 0, SEEK_CUR);
        put_snapshot(n);
        write_record();
    }
    starts[RECORDS] = (uint64_t)lseek(file, 0, SEEK_CUR);
}

static Profile *open_first(uint64_t ahead_least)
{
    ProfileError error = {0};
    Profile *profile;

    if (profile_open_first(path, &profile, &error) < 0)
        fail_msg("%s", error.message);
    profile->ahead_least = ahead_least;
    return profile;
}

static int read_in_slices(Profile *profile, ProfileError *error)
{
    uint64_t left;
    int all = 0, n;

    do {
        n = profile_advance_for(profile, 1, &left, error);
        all += n > 0 ? n : 0;
    } while (n >= 0 && left);
    return n < 0 ? n : all;
}

static void same(Profile *a, Profile *b)
{
    assert_int_equal(profile_file_bytes(a), profile_file_bytes(b));
    assert_int_equal(profile_snapshot_count(a), profile_snapshot_count(b));
    assert_int_equal(profile_stack_count(a), profile_stack_count(b));
    assert_int_equal(profile_damage_count(a), profile_damage_count(b));
    for (size_t i = 0; profile_damage_at(a, i); i++) {
        assert_int_equal(profile_damage_at(a, i)->code, profile_damage_at(b, i)->code);
        assert_int_equal(profile_damage_at(a, i)->offset, profile_damage_at(b, i)->offset);
        assert_string_equal(profile_damage_at(a, i)->message, profile_damage_at(b, i)->message);
    }
    for (size_t i = 0; i < profile_snapshot_count(a); i++) {
        const ProfileSnapshot *x = profile_snapshot(a, i), *y = profile_snapshot(b, i);
        assert_int_equal(x->time_ns, y->time_ns);
        assert_memory_equal(&x->total, &y->total, sizeof x->total);
    }
}

/* The file at hand, read without and with; SNAPSHOTS and the first DAMAGE are as expected. */
static void check(size_t snapshots, size_t damages, uint64_t damage)
{
    for (int sliced = 0; sliced < 2; sliced++) {
        Profile *plain = open_first(UINT64_MAX), *ahead = open_first(0);
        ProfileError error = {0};
        int taken = sliced ? read_in_slices(ahead, &error) : profile_advance(ahead, &error);

        assert_int_equal(profile_advance(plain, &error), taken);
        assert_null(ahead->ahead);
        same(plain, ahead);
        assert_int_equal(profile_snapshot_count(ahead), snapshots);
        assert_int_equal(profile_damage_count(ahead), damages);
        if (damages)
            assert_int_equal(profile_damage_at(ahead, 0)->offset, damage);
        profile_close(plain);
        profile_close(ahead);
    }
}

static void overwrite(uint64_t offset, const void *bytes, size_t count)
{
    assert_int_equal(pwrite(file, bytes, count, (off_t)offset), count);
}

static void test_whole(void **state)
{
    Values values;

    (void)state;
    make_file();
    check(RECORDS, 0, 0);
    Profile *profile = open_first(0);
    assert_int_equal(profile_advance(profile, NULL), RECORDS);
    for (uint64_t n = 0; n < RECORDS; n += 37) {
        profile_stack_state(profile, 9, 2000 + 10 * n, &values);
        assert_int_equal(values.v[METRIC_LIVE_BYTES], (n + 1) * 10);
    }
    profile_close(profile);
}

static void test_bad_records(void **state)
{
    static const int bad[] = {0, 1, 15, 16, 17, 200, RECORDS - 1};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        make_file();
        /* the frame's last byte: its content is wrong; then its magic */
        for (int k = 0; k < 2; k++) {
            uint64_t at = k ? starts[bad[i]] + 8 : starts[bad[i] + 1] - 1;
            overwrite(at, "\xff", 1);
            check(RECORDS - 1, bad[i] ? 1 : 2, starts[bad[i]]);
        }
    }
    make_file();
    for (int n = 100; n < 300; n += 2) /* what follows must look like a record */
        overwrite(starts[n] + 8, "\xff", 1);
    check(RECORDS - 100, 100, starts[100]);
}

static void test_bad_lengths(void **state)
{
    (void)state;
    make_file();
    overwrite(starts[77], "\xff\xff", 2);
    check(77, 1, starts[77]);
    make_file();
    overwrite(starts[77] + 7, "\0", 1);
    overwrite(starts[77] + 6, "\0", 1);
    check(77, 1, starts[77]);
    make_file();
    append("garbage behind the last record", 30);
    check(RECORDS, 1, starts[RECORDS]);
    make_file(); /* a bad record with none behind it */
    overwrite(starts[RECORDS - 1] + 8, "\xff", 1);
    append("garbage!garbage!", 16);
    check(RECORDS - 1, 1, starts[RECORDS - 1]);
}

static void test_cut(void **state)
{
    (void)state;
    make_file();
    for (int n = RECORDS - 20; n < RECORDS; n++) {
        assert_int_equal(ftruncate(file, (off_t)starts[n] + n % 9), 0);
        check(n, 0, 0);
        make_file();
    }
}

/* It reads what was there when it began; what came since is taken too, at once or later. */
static void test_grows(void **state)
{
    ProfileError error = {0};
    uint64_t left;

    (void)state;
    make_file();
    Profile *profile = open_first(0);
    assert_int_equal(profile_advance_for(profile, 0, &left, &error), 1);
    assert_int_equal(left, starts[RECORDS] - starts[1]);
    put_snapshot(RECORDS);
    write_record();
    assert_int_equal(profile_advance(profile, &error), RECORDS);
    assert_int_equal(profile_advance(profile, &error), 0);
    put_snapshot(RECORDS + 1);
    write_record();
    assert_int_equal(profile_advance(profile, &error), 1);
    assert_int_equal(profile_snapshot_count(profile), RECORDS + 2);
    assert_null(profile_damage(profile));
    profile_close(profile);
}

static void test_shrinks(void **state)
{
    ProfileError error = {0};
    uint64_t left;

    (void)state;
    make_file();
    Profile *profile = open_first(0);
    assert_int_equal(profile_advance_for(profile, 0, &left, &error), 1);
    assert_int_equal(ftruncate(file, 100), 0);
    assert_int_equal(profile_advance_for(profile, 0, &left, &error), -ESTALE);
    assert_int_equal(error.offset, 100);
    assert_null(profile->ahead);
    assert_int_equal(profile_snapshot_count(profile), 1);
    profile_close(profile);
}

static void test_closed_early(void **state)
{
    uint64_t left;

    (void)state;
    make_file();
    for (int i = 0; i < 50; i++) {
        Profile *profile = open_first(0);
        for (int k = 0; k < i; k++)
            profile_advance_for(profile, 0, &left, NULL);
        assert_int_equal(profile_snapshot_count(profile), i);
        profile_close(profile);
    }
}

/* More at once than there may be threads: the rest reads by itself. */
static void test_many(void **state)
{
    enum { MANY = 12 };
    Profile *profiles[MANY];
    uint64_t left;
    int with = 0;

    (void)state;
    make_file();
    for (int i = 0; i < MANY; i++) {
        profiles[i] = open_first(0);
        assert_int_equal(profile_advance_for(profiles[i], 0, &left, NULL), 1);
        with += profiles[i]->ahead != NULL;
    }
    assert_true(with <= 4);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(profile_advance(profiles[i], NULL), RECORDS - 1);
        profile_close(profiles[i]);
    }
}

/* Where there is one processor only, this tests nothing. */
static void test_is_at_work(void **state)
{
    ReadAhead *ahead;
    AheadRecord record;

    (void)state;
    make_file();
    int ret = read_ahead_new(file, starts[0], starts[3], &ahead);
    if (ret == -EAGAIN)
        skip();
    assert_int_equal(ret, 0);
    for (int n = 0; n < 3; n++) {
        assert_true(read_ahead_next(ahead, &record));
        assert_int_equal(record.offset, starts[n]);
        assert_int_equal(record.offset + 8 + record.payload_bytes, starts[n + 1]);
        assert_non_null(record.snapshot);
        assert_int_equal(record.snapshot->time_ns, 2000 + 10 * n);
        assert_int_equal(record.snapshot->changes.count, STACKS);
    }
    assert_false(read_ahead_next(ahead, &record));
    assert_false(read_ahead_next(ahead, &record));
    read_ahead_free(ahead);
}

static int setup(void **state)
{
    (void)state;
    body.grow = grow;
    close(mkstemp(path));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    free(body.data);
    close(file);
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_is_at_work),  cmocka_unit_test(test_whole),
        cmocka_unit_test(test_bad_records), cmocka_unit_test(test_bad_lengths),
        cmocka_unit_test(test_cut),         cmocka_unit_test(test_grows),
        cmocka_unit_test(test_shrinks),     cmocka_unit_test(test_closed_early),
        cmocka_unit_test(test_many),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
