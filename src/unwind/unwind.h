// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Stack walks for the runtime, x86-64 first. Runs inside malloc: no locks of the loader, no malloc,
 * no libc call beyond memcpy/memset, async-signal-safe, errno untouched. docs/UNWINDER.md.
 */

enum { UNWIND_MAX_DEPTH = 256 };

typedef enum UnwindFlag { /* same values as StackFlag of the file format */
                          UNWIND_DEPTH_CUT = 1,
                          UNWIND_ENDED_EARLY = 2,
                          UNWIND_BY_FRAME_POINTER = 4,
                          UNWIND_THROUGH_SIGNAL = 8,
} UnwindFlag;

/*
 * A frame as kept in stacks: bits 0..47 the address (return address, or the exact interrupted pc
 * when bit 48 is set), bits 56..63 the reuse generation of the address: 0 for code at an address
 * that no unloaded module used before, else counted up (mod 256) at each reuse, so that equal words
 * mean the same code.
 */
typedef uint64_t FrameWord;
#define FRAME_EXACT            (UINT64_C(1) << 48)
#define FRAME_ADDRESS(word)    ((word) & ((UINT64_C(1) << 48) - 1))
#define FRAME_GENERATION(word) ((unsigned)((word) >> 56))

typedef struct UnwindContext { /* registers of the caller of the hook, right after its call */
    uint64_t pc;               /* return address */
    uint64_t sp;               /* CFA of the hook: stack pointer after return */
    uint64_t fp;               /* rbp */
} UnwindContext;

/*
 * A remembered walk. `tag` belongs to the runtime (stack slot of its tables, 0: none); the walker
 * sets it to 0 whenever the frames change.
 */
typedef struct UnwindWalk {
    uint64_t hash; /* over all frame words and flags, chained from the outermost inwards */
    uint64_t tag;
    uint16_t depth;
    uint16_t flags; /* UnwindFlag */
} UnwindWalk;

/* Per-thread state; memory is given by the runtime, zeroed. */
typedef struct UnwindThread UnwindThread;
size_t unwind_thread_bytes(unsigned max_depth);
void unwind_thread_init(UnwindThread *thread, unsigned max_depth, bool frame_pointers);

/* The one hot call: returns the walk for the context, from the memo if it still holds. Never NULL;
 * valid until the next call on the same thread state. */
UnwindWalk *unwind_walk(UnwindThread *thread, const UnwindContext *context);
/* Forgets all walks if a module went away since they were made. To be called before whatever lets
 * unwind_remembered() (memo.h) be believed again after unwind_on_unload. */
void unwind_catch_up(UnwindThread *thread);
/* Copies the frames of a walk, leaf first; returns the depth. Cold. */
size_t unwind_frames(const UnwindThread *thread, const UnwindWalk *walk, FrameWord *ret_frames);

/* ---- modules -------------------------------------------------------------------------------- */

typedef struct UnwindModule {
    uint32_t module_id;  /* from 1, never reused */
    uint32_t generation; /* of its addresses, see FrameWord */
    uint64_t start, end; /* runtime span of its PT_LOADs */
    uint64_t bias;
    struct UnwindSegment {
        uint64_t addr, size; /* p_vaddr, p_memsz of its PT_LOADs */
    } segments[8];
    uint32_t segment_count;
    uint32_t build_id_bytes; /* 0: none */
    uint8_t build_id[32];
    uint64_t eh_frame_hdr; /* runtime address, 0: none */
    uint64_t inode, device;
    uint64_t load_ns, unload_ns; /* CLOCK_REALTIME; unload 0: loaded */
    bool deleted;
    bool vdso;
    const char *path; /* as in /proc/self/maps, without " (deleted)" */
} UnwindModule;

/* Memory for tables: set once before anything else. Returns zeroed pages or NULL. */
typedef void *(*UnwindAllocFn)(size_t bytes);
int unwind_init(UnwindAllocFn alloc);

/* Called after a module went away, when set: remembered walks must not be used any more without
 * unwind_walk() or unwind_catch_up() before. Any thread, inside a refresh. */
extern void (*unwind_on_unload)(void);

/* glibc's _dl_find_object (2.35 and later), set once at boot; NULL: not there. Tells without a lock
 * whether the loader knows an address, so that a new module is noticed at its first frame. */
extern int (*unwind_dl_find_object)(void *address, void *result);

/*
 * Brings the module table up to date from /proc/self/maps (raw syscalls) and the images' program
 * headers; no loader lock. Called at start, after dlopen, before and after dlclose (runtime hooks
 * these), and by the walker itself when it meets an unknown address (rate-limited, then remembers
 * that there is nothing). When a module went away, forgets all rules and invalidates all memos.
 * One at a time: a caller that finds another thread at it waits until one that began later is done,
 * 0.1 s at most, and only one caller does so for a refresh that does not move (its thread may be
 * stopped). Returns -EBUSY after that, and at once in a handler that interrupted this very call.
 */
int unwind_modules_refresh(void);
/* Number of modules ever seen, and each; entries are never freed. Lock-free. */
size_t unwind_module_count(void);
const UnwindModule *unwind_module(size_t index);
/* Module a frame word belongs to (right generation), NULL: none. */
const UnwindModule *unwind_module_find(FrameWord word);
/* After fork in the child: makes locks usable again. */
void unwind_after_fork(void);

/* ---- statistics (tests and bench) ------------------------------------------------------------ */
typedef struct UnwindStats {
    uint64_t walks, verified, joined, frames_walked, rule_misses;
} UnwindStats;
void unwind_thread_stats(const UnwindThread *thread, UnwindStats *ret_stats);
