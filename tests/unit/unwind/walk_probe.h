// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/unwind.h"

/*
 * The independent truth for walks: each probe walks its caller's stack with the walker (memo warm),
 * with the walker anew, and with libunwind, and compares every frame.
 */
#ifdef __cplusplus
extern "C" {
#endif

enum { PROBE_FRAMES = UNWIND_MAX_DEPTH };

typedef struct Probe {
    UnwindThread *warm, *anew;
    unsigned depth;
    long probes, differences;
    UnwindWalk walk; /* of the last probe */
    FrameWord frames[PROBE_FRAMES];
} Probe;

/* Of this thread; probe_begin() makes it, probe_end() gives it back. */
extern __thread Probe *probe_state;
void probe_begin(unsigned depth, bool frame_pointers);
void probe_end(void);
/* Walker against walker anew against libunwind; counts and prints differences. */
void probe(void);
/* Without libunwind: only warm against anew. */
void probe_walker_only(void);
/* The next walk on `anew` finds nothing remembered. */
void probe_forget(UnwindThread *thread);
void *probe_pages(size_t bytes);

/* unwind_cases.c, once a variant. */
typedef struct WalkCases {
    const char *name;
    void (*run)(void); /* each shape of frame once, probing inside */
    void (*random_path)(uint64_t path, unsigned depth, void (*leaf)(void));
    unsigned (*busy)(unsigned rounds); /* several functions, for a signal to interrupt */
} WalkCases;

#ifdef __cplusplus
}
#endif
