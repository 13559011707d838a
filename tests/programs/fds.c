// SPDX-License-Identifier: Apache-2.0
/*
 * File descriptors: the program's numbers are as without us, it may close
 * whatever it likes, and no byte of ours ever lands in a file that it opened.
 *
 *   //! site site_work count=400 bytes=4000 live_count=400
 *   //! run numbers numbers
 *   //! run closefrom closefrom
 *   //! run close_range close_range
 *   //! run loop loop
 *   //! run steal steal
 *   //! run no_std no_std
 *   //!   files 2
 *   //!   end exec
 *   //!   site site_work count=400 bytes=4000
 *   //!   @1 site site_work count=400 bytes=4000
 *   //!   @1 end exit 0
 *   //! run few few
 */
#include "trap.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

SITE static void site_work(void)
{
    for (int i = 0; i < 100; i++)
        keep(malloc(10));
}

static void expect_lowest(int number)
{
    int fd = open("/dev/null", O_RDONLY);

    CHECK(fd == number);
    close(fd);
}

static void numbers(void)
{
    expect_lowest(3);
    CHECK(dup(1) == 3);
    expect_lowest(4);
    CHECK(fcntl(1, F_DUPFD, 10) == 10);
    close(10);
    close(3);
    expect_lowest(3);
}

/* Takes every number there is, so that one that was ours is among them. */
static void steal(void)
{
    struct rlimit limit = {256, 256};
    struct stat info;
    char path[32];

    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    closefrom(3);
    for (int i = 3; i < 256; i++) {
        snprintf(path, sizeof(path), "victim.%d", i);
        CHECK(open(path, O_RDWR | O_CREAT | O_EXCL, 0600) == i);
    }
    sleep_ms(1200);
    site_work();
    sleep_ms(1200);
    for (int i = 3; i < 256; i++)
        CHECK(fstat(i, &info) == 0 && info.st_size == 0 && info.st_nlink == 1);
}

/* Starts again without the standard three: whatever is opened first gets number
 * 0. */
static void no_std(const char *program)
{
    close(0);
    close(1);
    close(2);
    execl(program, program, "no_std_image", (char *)NULL);
    _exit(97);
}

static void no_std_image(void)
{
    struct stat info;

    for (int i = 0; i < 3; i++)
        CHECK(open(i == 0 ? "/dev/null" : "victim", O_RDWR | O_CREAT, 0600) == i);
    site_work();
    sleep_ms(1200);
    CHECK(fstat(2, &info) == 0 && info.st_size == 0);
}

static void few(void)
{
    struct rlimit limit = {5, 5};

    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    CHECK(dup(1) == 3 && dup(1) == 4 && dup(1) == -1 && errno == EMFILE);
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "numbers";

    site_work();
    if (!strcmp(kind, "numbers"))
        numbers();
    if (!strcmp(kind, "closefrom"))
        closefrom(3);
    if (!strcmp(kind, "close_range"))
        close_range(3, ~0u, 0);
    if (!strcmp(kind, "loop"))
        for (int i = 3; i < 65536; i++)
            close(i);
    if (!strcmp(kind, "few"))
        few();
    if (!strcmp(kind, "steal"))
        steal();
    else if (!strcmp(kind, "no_std_image"))
        no_std_image();
    else
        site_work();
    site_work();
    if (strcmp(kind, "no_std") && strcmp(kind, "few"))
        CHECK(strcmp(kind, "steal") == 0 || (expect_lowest(3), 1));
    sleep_ms(1200);
    site_work();
    if (!strcmp(kind, "no_std")) {
        char self[4096] = "";

        CHECK(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
        no_std(self);
    }
    return 0;
}
