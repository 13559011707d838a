// SPDX-License-Identifier: Apache-2.0
/*
 * The main() of a fuzzer in ordinary builds: hands every file of the given files and folders to
 * LLVMFuzzerTestOneInput, once each, in the order of their names. So the corpora are regression
 * tests in every build, under every compiler and sanitizer, without libFuzzer. Exits 1 when a file
 * cannot be read or there was none at all: a corpus that has gone missing must not look like a
 * pass.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    struct stat st;
    if (!file || fstat(fileno(file), &st) < 0) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        if (file)
            fclose(file);
        return -1;
    }
    /* The exact size, so that ASan sees one byte too far. */
    size_t bytes = (size_t)st.st_size;
    uint8_t *data = malloc(bytes ? bytes : 1);
    int ret = data && fread(data, 1, bytes, file) == bytes ? 1 : -1;
    fclose(file);
    if (ret > 0)
        LLVMFuzzerTestOneInput(data, bytes);
    free(data);
    return ret;
}

static int not_hidden(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* Number of inputs run, -1 on failure. */
static int replay(const char *path)
{
    struct dirent **entries;
    int count = scandir(path, &entries, not_hidden, alphasort);
    if (count < 0)
        return replay_file(path);
    int total = 0;
    for (int i = 0; i < count; i++) {
        char child[4096];
        snprintf(child, sizeof(child), "%s/%s", path, entries[i]->d_name);
        int ran = total < 0 ? 0 : replay(child);
        total = ran < 0 || total < 0 ? -1 : total + ran;
        free(entries[i]);
    }
    free(entries);
    return total;
}

int main(int argc, char **argv)
{
    int total = 0;
    for (int i = 1; i < argc; i++) {
        int ran = replay(argv[i]);
        if (ran < 0)
            return 1;
        total += ran;
    }
    printf("%d inputs\n", total);
    return total > 0 ? 0 : 1;
}
