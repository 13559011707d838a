// SPDX-License-Identifier: Apache-2.0
/*
 * The rules by which `memhawk run` takes, warns about or refuses a program. A script is judged by
 * its interpreter, and "#!/usr/bin/env NAME" by NAME too. The order matters: what the kernel would
 * refuse first, then what makes the loader ignore LD_PRELOAD (static, another libc, setuid), then
 * what would break (sanitizers, old glibc), last what merely hides allocations. Each rule says the
 * way out. Cost: one pass over the symbol tables of the program.
 */
#include "cli/program_check.h"

#include <errno.h>
#include <fcntl.h>
#include <libelf.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cli/elf_check.h"

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#endif

enum { SCRIPT_DEPTH_MAX = 4, GLIBC_MINOR_NEEDED = 31 };

static void judge(ProgramCheck *check, ProgramVerdict verdict, const char *subject,
                  const char *format, ...) __attribute__((format(printf, 4, 5)));

static void judge(ProgramCheck *check, ProgramVerdict verdict, const char *subject,
                  const char *format, ...)
{
    va_list arguments;
    check->verdict = verdict;
    snprintf(check->subject, sizeof(check->subject), "%s", subject);
    va_start(arguments, format);
    vsnprintf(check->message, sizeof(check->message), format, arguments);
    va_end(arguments);
}

/* Regular and executable for us; else PROGRAM_NO_FILE or PROGRAM_NO_EXEC with a message. */
static bool is_executable(const char *path, const char *name, ProgramCheck *check)
{
    struct stat st;
    if (stat(path, &st) < 0) {
        judge(check, errno == ENOENT || errno == ENOTDIR ? PROGRAM_NO_FILE : PROGRAM_NO_EXEC, name,
              "%s", strerror(errno));
        return false;
    }
    if (S_ISDIR(st.st_mode)) {
        judge(check, PROGRAM_NO_EXEC, name, "is a folder: name a program");
        return false;
    }
    if (faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) < 0) {
        judge(check, PROGRAM_NO_EXEC, name, "permission to execute is missing: chmod +x it");
        return false;
    }
    return true;
}

/* $PATH look-up as in execvp: a file that may not be executed is only named when no other is found.
 */
static bool find_in_path(const char *name, char *ret_path, ProgramCheck *check)
{
    const char *list = getenv("PATH");
    ProgramCheck found = {.verdict = PROGRAM_NO_FILE};
    judge(&found, PROGRAM_NO_FILE, name, "command not found: check the name or give its path");
    if (!list)
        list = "/bin:/usr/bin";
    while (*name) {
        size_t length = strcspn(list, ":");
        int n = length ? snprintf(ret_path, PATH_MAX, "%.*s/%s", (int)length, list, name)
                       : snprintf(ret_path, PATH_MAX, "./%s", name);
        if (n < PATH_MAX) {
            ProgramCheck here;
            if (is_executable(ret_path, name, &here))
                return true;
            if (here.verdict == PROGRAM_NO_EXEC)
                found = here;
        }
        if (!list[length])
            break;
        list += length + 1;
    }
    snprintf(found.path, sizeof(found.path), "%s", check->path);
    *check = found;
    return false;
}

static bool find_program(const char *name, char *ret_path, ProgramCheck *check)
{
    if (!strchr(name, '/'))
        return find_in_path(name, ret_path, check);
    if (strlen(name) >= PATH_MAX) {
        judge(check, PROGRAM_NO_FILE, name, "%s", strerror(ENAMETOOLONG));
        return false;
    }
    strcpy(ret_path, name);
    return is_executable(ret_path, name, check);
}

/* Would the kernel switch the loader to its secure mode, in which it ignores LD_PRELOAD? */
static bool check_privileges(const char *path, ProgramCheck *check)
{
    struct stat st;
    struct statvfs fs;
    if (stat(path, &st) < 0 || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ||
        (statvfs(path, &fs) == 0 && (fs.f_flag & ST_NOSUID)))
        return true;
    bool is_setuid = (st.st_mode & S_ISUID) && st.st_uid != getuid();
    bool is_setgid =
        (st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && st.st_gid != getgid();
    if (is_setuid || is_setgid) {
        judge(check, PROGRAM_REFUSE, path,
              "is %s, so the system ignores LD_PRELOAD for it: profile a copy without that bit%s",
              is_setuid ? "setuid" : "setgid", is_setuid ? ", or run memhawk as its owner" : "");
        return false;
    }
    if (getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0) {
        judge(check, PROGRAM_REFUSE, path,
              "has file capabilities, so the system ignores LD_PRELOAD for it: profile a copy "
              "without them, or run memhawk as root");
        return false;
    }
    return true;
}

static bool check_machine(const char *path, const ElfFacts *facts, ProgramCheck *check)
{
    if (facts->kind == ELF_BROKEN || facts->kind == ELF_NO_PROGRAM) {
        judge(check, PROGRAM_NO_EXEC, path, "is no program (%s): name an executable",
              facts->kind == ELF_BROKEN ? "a damaged ELF file" : "an object file or a core");
        return false;
    }
    if (facts->machine == OWN_MACHINE && facts->class_bits == 64)
        return true;
    bool is_32 = facts->class_bits == 32;
    judge(check, PROGRAM_REFUSE, path, "is %s, and libmemhawk.so is 64-bit x86-64: build it for %s",
          is_32 ? "a 32-bit program" : "for another machine", is_32 ? "64 bits" : "this machine");
    return false;
}

static bool check_interpreter(const char *path, const ElfFacts *facts, ProgramCheck *check)
{
    if (facts->is_static) {
        judge(check, PROGRAM_REFUSE, path,
              "is statically linked, so no library can be loaded into it: link it dynamically "
              "(without -static)");
        return false;
    }
    const char *name = strrchr(facts->interpreter, '/');
    name = name ? name + 1 : facts->interpreter;
    if (strncmp(name, "ld-musl", 7) == 0) {
        judge(check, PROGRAM_REFUSE, path,
              "is built for musl, and libmemhawk.so needs glibc: build it with glibc");
        return false;
    }
    if (access(facts->interpreter, F_OK) < 0) {
        judge(check, PROGRAM_NO_FILE, path,
              "its dynamic loader %.200s is not here: install the C library it was built for",
              facts->interpreter);
        return false;
    }
    if (strncmp(name, "ld-linux", 8) != 0 && strncmp(name, "ld64", 4) != 0 &&
        strncmp(name, "ld-2.", 5) != 0 && strcmp(name, "ld.so") != 0) {
        judge(check, PROGRAM_REFUSE, path,
              "uses the dynamic loader %.200s, which is not that of glibc: build it with glibc",
              facts->interpreter);
        return false;
    }
    return true;
}

/* The glibc of the program: libc.so.6 beside its loader. Unknown is fine. */
static bool check_glibc(const char *path, const ElfFacts *facts, ProgramCheck *check)
{
    char loader[PATH_MAX], libc[PATH_MAX + 16];
    if (!realpath(facts->interpreter, loader))
        return true;
    char *slash = strrchr(loader, '/');
    snprintf(libc, sizeof(libc), "%.*s/libc.so.6", (int)(slash - loader), loader);
    int minor = elf_glibc_minor(libc);
    if (minor < 0 || minor >= GLIBC_MINOR_NEEDED)
        return true;
    judge(check, PROGRAM_REFUSE, path,
          "its glibc is 2.%d, and libmemhawk.so needs 2.%d or newer: run it on a newer system",
          minor, GLIBC_MINOR_NEEDED);
    return false;
}

static void check_malloc(const char *path, const ElfFacts *facts, ProgramCheck *check)
{
    if (facts->malloc_owner == MALLOC_EXPORTED)
        judge(check, PROGRAM_WARN, path,
              "defines malloc itself, so none of its allocations will be seen: build it without "
              "its own allocator to profile it");
    else if (facts->malloc_owner == MALLOC_LOCAL)
        judge(check, PROGRAM_WARN, path,
              "has a malloc of its own inside, so only allocations by its shared libraries will "
              "be seen: build it without its own allocator to profile it");
}

static bool check_elf(const char *path, const ElfFacts *facts, ProgramCheck *check)
{
    if (!check_machine(path, facts, check))
        return false;
    if (facts->kind == ELF_LOADER) /* ld.so PROGRAM: it does preload */
        return true;
    if (!check_interpreter(path, facts, check) || !check_privileges(path, check))
        return false;
    if (facts->sanitizer) {
        judge(check, PROGRAM_REFUSE, path,
              "is built with %s, which brings its own malloc and must be loaded first: build it "
              "without -fsanitize to profile it",
              facts->sanitizer);
        return false;
    }
    if (!check_glibc(path, facts, check))
        return false;
    check_malloc(path, facts, check);
    return check->verdict == PROGRAM_OK;
}

/* Splits the first line of a script into interpreter and the rest, as the kernel does. */
static bool read_shebang(const char *path, char *line, size_t size, char **ret_rest)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, line, size - 1);
    close(fd);
    if (n < 3 || line[0] != '#' || line[1] != '!')
        return false;
    line[n] = 0;
    line[strcspn(line, "\n")] = 0;
    char *start = line + 2 + strspn(line + 2, " \t");
    size_t length = strcspn(start, " \t");
    char *rest = start + length;
    if (*rest)
        *rest++ = 0;
    memmove(line, start, length + 1);
    *ret_rest = rest + strspn(rest, " \t");
    return length > 0;
}

/* The program that env(1) will start: the first word that is neither option nor assignment. */
static const char *env_program(char *words)
{
    char *save = NULL;
    for (char *word = strtok_r(words, " \t", &save); word; word = strtok_r(NULL, " \t", &save))
        if (word[0] != '-' && !strchr(word, '='))
            return word;
    return NULL;
}

static void check_file(const char *path, int depth, ProgramCheck *check);

static void check_script(char *interpreter, char *rest, const char *script, int depth,
                         ProgramCheck *check)
{
    if (access(interpreter, F_OK) < 0) {
        judge(check, PROGRAM_NO_FILE, script, "its interpreter %.200s is not here: install it",
              interpreter);
        return;
    }
    check_file(interpreter, depth + 1, check);
    const char *name = strrchr(interpreter, '/');
    if (check->verdict > PROGRAM_WARN || !name || strcmp(name + 1, "env") != 0)
        return;
    const char *program = env_program(rest);
    char path[PATH_MAX];
    if (program && find_program(program, path, check))
        check_file(path, depth + 1, check);
}

static void check_file(const char *path, int depth, ProgramCheck *check)
{
    char line[512], *rest;
    ElfFacts facts;
    if (depth > SCRIPT_DEPTH_MAX)
        return;
    if (read_shebang(path, line, sizeof(line), &rest)) {
        check_script(line, rest, path, depth, check);
        return;
    }
    if (elf_facts_read(path, &facts) < 0) {
        check_privileges(path, check); /* executable, but not readable: sudo on some systems */
        return;
    }
    if (facts.kind != ELF_OTHER)
        check_elf(path, &facts, check);
}

void program_check(const char *name, ProgramCheck *ret_check)
{
    memset(ret_check, 0, sizeof(*ret_check));
    if (find_program(name, ret_check->path, ret_check))
        check_file(ret_check->path, 0, ret_check);
}
