// SPDX-License-Identifier: Apache-2.0
/*
 * Purpose: shared parts of the symbolizer's tests. See symbol_shapes.h.
 */
#include "symbol_shapes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[256];
static bool own_folder;

const char *shapes_begin(void)
{
    const char *given = getenv("MEMHAWK_SHAPES");
    if (given) {
        snprintf(folder, sizeof(folder), "%s", given);
        return folder;
    }
    strcpy(folder, "/tmp/memhawk-shapes-XXXXXX");
    if (!mkdtemp(folder))
        fail_msg("no temporary folder");
    own_folder = true;
    free(shapes_run("%s %s 2>&1", BUILD_SHAPES, folder));
    return folder;
}

void shapes_end(void)
{
    if (own_folder)
        free(shapes_run("rm -rf '%s'", folder));
}

const char *shapes_path(const char *shape, const char *name)
{
    static char paths[8][512];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof(*paths), "%s/%s/%s", folder, shape, name);
    return path;
}

bool shapes_has(const char *shape)
{
    return access(shapes_path(shape, "prog"), F_OK) == 0;
}

char *shapes_run(const char *format, ...)
{
    char command[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command, sizeof(command), format, arguments);
    va_end(arguments);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    char *text = NULL;
    size_t used = 0, n;
    do {
        text = realloc(text, used + 65536);
        assert_non_null(text);
        n = fread(text + used, 1, 65535, pipe);
        used += n;
        text[used] = '\0';
    } while (n);
    int status = pclose(pipe);
    if (status)
        fail_msg("%s\n%s: status %d", text, command, status);
    return text;
}

size_t shapes_marks(const char *shape, Mark *ret_marks, size_t capacity)
{
    char *text = shapes_run("%s", shapes_path(shape, "prog"));
    size_t count = 0;
    char *save = NULL;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        assert_true(count < capacity);
        Mark *mark = &ret_marks[count++];
        assert_int_equal(sscanf(line, "%lx\t%u\t%255[^\t]\t%1023[^\n]", &mark->pc, &mark->line,
                                mark->file, mark->function),
                         4);
    }
    free(text);
    return count;
}

Symbolizer *shapes_symbolizer(const char *sysroot, const char *debug_dir)
{
    const char *dirs[] = {debug_dir, NULL};
    SymbolOptions options = {.sysroot = sysroot, .debug_dirs = dirs, .no_disk_cache = true};
    Symbolizer *s = NULL;
    assert_int_equal(symbol_open(&options, &s), 0);
    return s;
}

/* By readelf, not by our own reader. */
static size_t read_build_id(const char *path, uint8_t id[64])
{
    char *text = shapes_run("readelf -n '%s' 2>/dev/null | sed -n 's/.*Build ID: *//p'", path);
    size_t size = 0;
    for (const char *at = text; size < 64 && sscanf(at, "%2hhx", &id[size]) == 1; at += 2)
        size++;
    free(text);
    return size;
}

int shapes_resolve(Symbolizer *s, const char *path, bool with_id, uint64_t pc,
                   const SymbolFrame **ret_frames)
{
    uint8_t id[64];
    SymbolModuleInfo info = {.path = path, .build_id = id};
    if (with_id)
        info.build_id_size = read_build_id(path, id);
    return symbol_resolve_address(s, &info, pc, ret_frames);
}

SymbolSource shapes_source(Symbolizer *s, const char *path)
{
    SymbolModuleInfo info = {.path = path};
    return symbol_source_of(s, &info, NULL);
}
