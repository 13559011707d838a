// SPDX-License-Identifier: Apache-2.0
#include "profile_fixture.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void temporary_file(char *ret_path)
{
    const char *folder = getenv("TMPDIR");
    int fd;

    if (!folder || strlen(folder) > 30)
        folder = "/tmp";
    snprintf(ret_path, 64, "%s/memhawk-test-XXXXXX", folder);
    fd = mkstemp(ret_path);
    if (fd < 0)
        fail_msg("%s: %s", ret_path, strerror(errno));
    close(fd);
}

void fixture_make_from(const char *schema, const char *description_path, char *ret_path)
{
    int status;
    pid_t pid;

    temporary_file(ret_path);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        execlp("python3", "python3", MAKE_PROFILE, "--schema", schema, description_path, ret_path,
               (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (status != 0)
        fail_msg("%s: status %#x", MAKE_PROFILE, (unsigned)status);
}

void fixture_make(const char *schema, const char *description, char *ret_path)
{
    char path[64];
    FILE *file;

    temporary_file(path);
    file = fopen(path, "w");
    assert_non_null(file);
    fputs(description, file);
    fclose(file);
    fixture_make_from(schema, path, ret_path);
    unlink(path);
}

Profile *fixture_open(const char *schema, const char *description)
{
    ProfileError error = {0};
    Profile *profile;
    char path[64];
    int ret;

    fixture_make(schema, description, path);
    ret = profile_open(path, &profile, &error);
    unlink(path);
    if (ret < 0)
        fail_msg("%s", error.message);
    return profile;
}
