// SPDX-License-Identifier: Apache-2.0
/* The profile's file: numbering, links, modes, names, and what a full disk leaves behind. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/output.h"

static char folder[] = "/tmp/memhawk-output-XXXXXX";

static const char *inside(const char *name)
{
    static char path[256];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static off_t size_of(const char *name)
{
    struct stat info;
    return lstat(inside(name), &info) == 0 ? info.st_size : -1;
}

static void create(const char *name, uint32_t pid, const char *expected)
{
    assert_int_equal(size_of(expected), -1);
    int fd = output_create(folder, name, pid);
    assert_true(fd >= 0);
    assert_int_equal(output_append(fd, "record", 6), 0);
    assert_true(output_is_ours(fd));
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    close(fd);
    assert_int_equal(size_of(expected), 6);
}

static void test_numbering(void **state)
{
    struct stat info;

    (void)state;
    umask(0);
    create("app", 77, "memhawk_app_77_protobuf.binpb");
    create("app", 77, "memhawk_app_77_2_protobuf.binpb");
    create("app", 77, "memhawk_app_77_3_protobuf.binpb");
    create("app", 4294967295, "memhawk_app_4294967295_protobuf.binpb");
    assert_int_equal(lstat(inside("memhawk_app_77_protobuf.binpb"), &info), 0);
    assert_int_equal(info.st_mode & 07777, 0600);
}

/* Links, also to nowhere, are never followed: the next number is taken. */
static void test_links(void **state)
{
    (void)state;
    char target[300];
    (void)snprintf(target, sizeof(target), "%s", inside("victim"));
    assert_int_equal(symlink(target, inside("memhawk_l_1_protobuf.binpb")), 0);
    int fd = open(target, O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(symlink("/nowhere/at/all", inside("memhawk_l_1_2_protobuf.binpb")), 0);
    create("l", 1, "memhawk_l_1_3_protobuf.binpb");
    assert_int_equal(size_of("victim"), 0);
}

static void test_refused(void **state)
{
    (void)state;
    char longest[4400];
    memset(longest, 'a', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = 0;
    assert_int_equal(output_create("/nowhere/at/all", "x", 1), -ENOENT);
    assert_int_equal(output_create(inside("memhawk_app_77_protobuf.binpb"), "x", 1), -ENOTDIR);
    assert_int_equal(output_create(longest, "x", 1), -ENAMETOOLONG);
}

static void test_ours(void **state)
{
    (void)state;
    int fd = output_create(folder, "ours", 1);
    assert_true(output_is_ours(fd));
    int other = open("/dev/null", O_WRONLY);
    dup2(other, fd); /* what a program may do with a number that it takes for its own */
    assert_false(output_is_ours(fd));
    close(fd);
    close(other);
    assert_false(output_is_ours(fd));
}

static void limit(rlim_t bytes)
{
    struct rlimit all;
    getrlimit(RLIMIT_FSIZE, &all);
    all.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &all), 0);
}

/* A record that does not fit whole is taken back. */
static void test_full(void **state)
{
    static char record[6000];
    struct rlimit before;

    (void)state;
    getrlimit(RLIMIT_FSIZE, &before);
    (void)signal(SIGXFSZ, SIG_IGN);
    int fd = output_create(folder, "full", 1);
    limit(8192);
    memset(record, 'A', sizeof(record));
    assert_int_equal(output_append(fd, record, sizeof(record)), 0);
    memset(record, 'B', sizeof(record));
    assert_int_equal(output_append(fd, record, sizeof(record)), -EFBIG); /* 2192 bytes fit */
    assert_int_equal(size_of("memhawk_full_1_protobuf.binpb"), 6000);
    assert_int_equal(output_append(fd, record, sizeof(record)), -EFBIG);
    limit(before.rlim_cur);
    memset(record, 'C', sizeof(record));
    assert_int_equal(output_append(fd, record, 100), 0);
    close(fd);

    fd = open(inside("memhawk_full_1_protobuf.binpb"), O_RDONLY);
    assert_int_equal(read(fd, record, 6000), 6000);
    assert_null(memchr(record, 'B', 6000));
    assert_int_equal(read(fd, record, 6000), 100);
    assert_int_equal(record[0], 'C');
    close(fd);

    fd = open("/dev/full", O_WRONLY);
    assert_int_equal(output_append(fd, record, 100), -ENOSPC);
    close(fd);
}

static void expect_name(const char *text, const char *expected)
{
    char clean[80];
    output_clean_name(text, clean, sizeof(clean));
    assert_string_equal(clean, expected);
}

static void test_names(void **state)
{
    char tiny[4];

    (void)state;
    expect_name("python3.11", "python3.11");
    expect_name("a b/c\n$(d)", "a_b_c___d_");
    expect_name("g++-12_x", "g++-12_x");
    expect_name("\xc3\xa4", "__");
    expect_name("", "");
    expect_name("0123456789012345678901234567890123456789012345678901234567890123456789",
                "0123456789012345678901234567890123456789012345678901234567890123");
    output_clean_name("abcdef", tiny, sizeof(tiny));
    assert_string_equal(tiny, "abc");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbering), cmocka_unit_test(test_links),
        cmocka_unit_test(test_refused),   cmocka_unit_test(test_ours),
        cmocka_unit_test(test_full),      cmocka_unit_test(test_names),
    };
    if (!mkdtemp(folder))
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    char command[128];
    (void)snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command) == 0 ? failed : 1;
}
