// SPDX-License-Identifier: Apache-2.0
/*
 * Results go to a temporary file in the same folder, which takes the place of the old one by
 * rename, so a reader never sees half of it and a failure leaves the old one. A symbolic link is
 * followed: its target is replaced, not the link. The mode is that of a new file under the umask.
 */
#include "cli/out_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"

static bool is_standard_output(const char *path)
{
    return !path || strcmp(path, "-") == 0;
}

static int fail(OutFile *file, int code)
{
    cli_error("%s: cannot write: %s", file->path, cli_strerror(code));
    if (file->temporary)
        unlink(file->temporary);
    free(file->temporary);
    free(file->path);
    *file = (OutFile){0};
    return code;
}

static int open_temporary(OutFile *file)
{
    mode_t mask = umask(0);
    umask(mask);
    if (asprintf(&file->temporary, "%s.XXXXXX", file->path) < 0) {
        file->temporary = NULL;
        return -ENOMEM;
    }
    int fd = mkostemp(file->temporary, O_CLOEXEC);
    if (fd < 0) {
        free(file->temporary);
        file->temporary = NULL;
        return -errno;
    }
    if (fchmod(fd, 0666 & ~mask) < 0 || !(file->stream = fdopen(fd, "w"))) {
        close(fd);
        return -errno;
    }
    return 0;
}

int out_file_open(const char *path, OutFile *ret_file)
{
    struct stat st;
    OutFile file = {.stream = stdout};
    if (is_standard_output(path)) {
        *ret_file = file;
        return 0;
    }
    char *real = realpath(path, NULL);
    file.path = real ? real : strdup(path);
    if (!file.path)
        return -ENOMEM;
    if (stat(file.path, &st) == 0 && !S_ISREG(st.st_mode)) {
        file.stream = S_ISDIR(st.st_mode) ? NULL : fopen(file.path, "we");
        if (!file.stream)
            return fail(&file, S_ISDIR(st.st_mode) ? -EISDIR : -errno);
    } else {
        int r = open_temporary(&file);
        if (r < 0)
            return fail(&file, r);
    }
    *ret_file = file;
    return 0;
}

int out_file_close(OutFile *file, int code)
{
    int r = code;
    if ((fflush(file->stream) != 0 || ferror(file->stream)) && r == 0)
        r = errno ? -errno : -EIO;
    if (!file->path)
        return r; /* main() looks at standard output */
    if (fclose(file->stream) != 0 && r == 0)
        r = -errno;
    if (r == 0 && file->temporary && rename(file->temporary, file->path) < 0)
        r = -errno;
    if (r < 0)
        return fail(file, r);
    free(file->temporary);
    free(file->path);
    return 0;
}
