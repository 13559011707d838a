// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/bits.h"

/*
 * The functions that we stand in front of, resolved once with dlsym(RTLD_NEXT) at boot, and the
 * early pool that serves allocations made by dlsym itself.
 */
typedef struct Real {
    void *(*malloc)(size_t);
    void (*free)(void *);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void *(*reallocarray)(void *, size_t, size_t);
    void *(*memalign)(size_t, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    int (*posix_memalign)(void **, size_t, size_t);
    void *(*valloc)(size_t);
    void *(*pvalloc)(size_t);
    size_t (*malloc_usable_size)(void *);
    void (*free_sized)(void *, size_t);                 /* NULL where libc has none */
    void (*free_aligned_sized)(void *, size_t, size_t); /* NULL where libc has none */
    int (*dlclose)(void *);
    int (*sigaction)(int, const struct sigaction *, struct sigaction *);
    void (*(*signal)(int, void (*)(int)))(int);
    void (*(*sysv_signal)(int, void (*)(int)))(int);
    void (*(*sigset)(int, void (*)(int)))(int);
    void (*_exit)(int) __attribute__((noreturn));
    void (*quick_exit)(int) __attribute__((noreturn));
    int (*execve)(const char *, char *const[], char *const[]);
    int (*execv)(const char *, char *const[]);
    int (*execvp)(const char *, char *const[]);
    int (*execvpe)(const char *, char *const[], char *const[]);
    int (*fexecve)(int, char *const[], char *const[]);
    int (*execveat)(int, const char *, char *const[], char *const[], int);
    int (*_Fork)(void);
    int (*pthread_key_create)(unsigned *, void (*)(void *));
    int (*pthread_setspecific)(unsigned, const void *);
} Real;

extern HIDDEN Real real;

/* Fills `real`. False when malloc itself cannot be found. */
bool real_resolve(void);

/* The early pool: 16-byte aligned, zeroed, never reused; NULL when used up. */
void *early_alloc(size_t bytes);
bool early_owns(const void *block);
size_t early_size(const void *block);
