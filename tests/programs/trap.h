// SPDX-License-Identifier: Apache-2.0
#pragma once

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/*
 * What the trap programs share. A SITE is a function that stays one frame of
 * its own: neither inlined nor cloned, and (by the build's flags) no tail
 * calls. Nothing here allocates.
 */
#ifdef __clang__
#define SITE __attribute__((noinline))
#else
#define SITE __attribute__((noipa))
#endif

#define CHECK(condition) ((condition) ? (void)0 : check_failed(#condition, __FILE__, __LINE__))

/* Runs a statement and sees that it left errno alone. */
#define ERRNO_KEPT(statement)                                                                      \
    do {                                                                                           \
        errno = 4711;                                                                              \
        statement;                                                                                 \
        CHECK(errno == 4711);                                                                      \
    } while (0)

static inline void keep(const void *pointer)
{
    __asm__ volatile("" : : "r"(pointer) : "memory");
}

/* printf to a file descriptor without stdio's buffers. */
__attribute__((format(printf, 2, 3))) static inline void tell(int fd, const char *format, ...)
{
    char text[512];
    va_list arguments;
    int size;

    va_start(arguments, format);
    size = vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (size > (int)sizeof(text))
        size = sizeof(text);
    if (write(fd, text, (size_t)size) < 0)
        syscall(SYS_exit_group, 99);
}

__attribute__((noreturn)) static inline void check_failed(const char *what, const char *file,
                                                          int line)
{
    tell(2, "%s:%d: not so: %s (errno %d)\n", file, line, what, errno);
    syscall(SYS_exit_group, 98);
    __builtin_unreachable();
}

__attribute__((unused)) static inline void sleep_ms(long ms)
{
    struct timespec left = {ms / 1000, ms % 1000 * 1000000};

    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        ;
}

__attribute__((unused)) static inline uint64_t wall_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
