// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtime/config.h"
#include "runtime/livemap.h"

/*
 * What the parts of the recorder share. Written at boot, before a second thread exists, and by the
 * child of fork; afterwards read-only but for the fields marked atomic.
 */
typedef enum Mode {
    MODE_NEW,     /* nothing called yet */
    MODE_BOOTING, /* resolving the real functions; allocations come from the early pool */
    MODE_ON,
    MODE_FORKED, /* child of fork that has not allocated yet */
    MODE_OFF,    /* silent: filtered, disabled, setuid, or no memory */
} Mode;

typedef struct Runtime {
    _Atomic int mode;
    Config config;
    uint32_t pid;             /* raw getpid() of the process that records here */
    LiveMap heap;             /* blocks of malloc */
    LiveMap custom;           /* blocks announced by memhawk_alloc */
    bool glibc_malloc;        /* usable sizes can be read from glibc's chunk headers */
    uint64_t start_wall_ns;   /* the profile's start */
    uint64_t clock_offset_ns; /* wall minus monotonic at start: our clock never jumps */
    char folder[4096];        /* absolute, for the profile's file */
    char short_name[80];      /* of the program */
    const void *allocator;    /* address inside the real malloc */
    uintptr_t
        allocator_start; /* another allocator than glibc's may call the hooks itself (calloc */
    uintptr_t allocator_bytes; /* through malloc): calls from its module pass through. glibc: 0 */
    const char *warning;       /* for the profile; NULL: none */
    _Atomic uint64_t loss_live_map, loss_missed_frees, loss_reentrant, loss_windows, loss_write;

    /* Peak tracking: sums pushed by the threads. */
    _Atomic int64_t live_sum;
    _Atomic int64_t peak_bytes;
    _Atomic uint64_t peak_ns;       /* wall clock */
    _Atomic int64_t captured_bytes; /* live bytes when the composition that is kept was taken, */
    _Atomic int64_t lowest_bytes;   /* and the lowest sum since */
} Runtime;

extern HIDDEN Runtime runtime;

/* Wall clock that starts with the profile and follows CLOCK_MONOTONIC. */
uint64_t runtime_now_ns(void);

/* Resolves, reads settings, prepares tables. Called by the first hook or the constructor; after it
 * the mode is MODE_ON or MODE_OFF. Re-entered by its own allocations: returns at once. */
void runtime_boot(void);
/* MODE_FORKED -> MODE_ON or MODE_OFF. */
void runtime_boot_child(void);
