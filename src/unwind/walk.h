// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"
#include "unwind/bounds.h"
#include "unwind/cfi.h"
#include "unwind/rules.h"
#include "unwind/unwind.h"

/*
 * A thread's walks, inner side. One log holds all walks, oldest first:
 *
 *   | memo | frame 0 | frame 1 | aux | frame 2 | ... | frame n-1 | stop | stop | memo | frame 0 ...
 *
 * A frame's entry: the stack pointer at its pc, the pc, which lies at sp - 8, and the rule that its
 * step took. To verify a walk is to compare these words, frame 1 first. An aux entry is another
 * word that the walk depends on (a saved rbp that a CFA is computed from, the words that a DWARF
 * expression reads), at the place in the order where the walk read it. The first stop's word never
 * compares equal; the second's stack pointer is above any other. The log is a ring; a new walk
 * forgets the oldest ones where it needs their room.
 *
 * Walks of equal (pc, sp) are chained in a circle; a search begins anywhere in it. Each knows an
 * entry before which all of the next one's are equal to its own: at best the one at which that one
 * departs. So when the stack differs at that very entry, the next needs comparing only from there
 * on (memo.h).
 */
typedef struct Entry {
    uint64_t sp, word;
    RuleBits rule;
} Entry;

#define WALK_STOP_WORD (~UINT64_C(1))

typedef struct Memo {
    uint64_t key; /* pc, with MEMO_FP_LIVE; 0: nothing remembered */
    uint64_t sp;
    const Entry *fork; /* the next of the chain is equal up to here at least */
    intptr_t to_next;  /* bytes from here to that walk, and from an entry to its like in it */
    struct Memo *prev; /* the one before in the chain */
    UnwindWalk walk;
    uint64_t fp;      /* rbp, compared when live */
    uint64_t acc;     /* what `hash` is mixed from */
    uint32_t entries; /* without the stops */
    uint16_t cell;
    bool plain; /* each entry is a frame that a plain step left, but for the last; if cut, another
                   entry tells the word beyond */
    Entry log[];
} Memo;

/* In Memo.key: the walk depends on the caller's rbp. */
#define MEMO_FP_LIVE (UINT64_C(1) << 63)

enum {
    MEMO_BITS = 11,
    MEMO_CHAIN = 32, /* a chain of twice as many walks is cut to so many */
    LOG_WALKS = 48,  /* room for so many walks of full depth without aux entries, at first */
    LOG_GROWN_BYTES = 256 << 10, /* and later, if that is more: */
    LOG_GROWS_AT = 2048,         /* after so many walks that were not remembered, */
    LOG_GROWN_MOST = 64,         /* in the first so many threads that come to it */
    LOG_LONG_BYTES = 1 << 20,    /* and of so many bytes, mapped apart, */
    LOG_LONG_FRAMES = 16,        /* if so many frames of each were walked on average, */
    LOG_LONG_MOST = 8,           /* in the first so many threads */
    LOG_SPARE = 64,              /* aux entries of one walk beyond one a frame */
    JOIN_STRIDE = 8,             /* frames of the last walk to one at which a join is sought */
};

struct UnwindThread {
    uint64_t none[sizeof(Memo) / 8]; /* a memo with key 0, always: what cell 0 stands for */
    int32_t cells[1 << MEMO_BITS];   /* a chain's walk to try first: words from here; 0: none */
    uint8_t added[1 << MEMO_BITS];   /* walks that came to the chain since it was cut */
    Memo
        *volatile front; /* where the search in progress began; in memory, for want of a register */
    Memo *last;          /* returned last, NULL: forgotten; candidate to join */
    uint64_t epoch_key;
    uint32_t epoch;
    uint16_t max_depth;
    bool frame_pointers;
    uint64_t zero;                  /* what the first stop of each walk is compared with */
    uint64_t stack_low, stack_high; /* the span used last */
    /* The ring: the next walk goes to `head` (one that cannot be remembered is there until the next
     * call); older walks ahead of it are from `tail` to `lap_end`. */
    char *head, *tail, *lap_end, *log_end;
    char *log_begin;
    char *log_full;      /* where the ring in this struct ends once it is grown */
    uint32_t need_bytes; /* most that a walk takes, with memo and stops */
    uint32_t aux_bytes;  /* from its first frame to where aux entries must end */
    uint64_t missed_pc;  /* the chain of this one was compared in vain just now; 0: none */
    UnwindStats stats;   /* `walks` without the verified ones */
    Entry *regs_at;      /* frame for which `regs` holds more than rsp, rbp and pc */
    CfiFrame regs;
    StackBounds bounds;
    _Alignas(64) char log[];
};

/* Redeclared as hidden: reached without the GOT. */
extern __attribute__((visibility("hidden"))) _Atomic uint32_t unwind_epoch;

/* A walk in progress. `at` is the current frame: its entry is written. */
typedef struct Walker {
    UnwindThread *thread;
    Entry *first, *at;
    Entry *next;      /* where the next entry goes: past the aux entries of `at` */
    Entry *aux_limit; /* aux entries must stay below */
    Entry *fp_at;     /* frame for which `fp` was right */
    uint64_t fp;
    uint64_t acc;       /* of the frames inside `at`; `at` itself counts once it is stepped */
    uint64_t low, high; /* the stack that `at` is on, from where the walk met it */
    uint64_t cfa, pc;   /* result of a step: the caller's stack pointer and pc */
    unsigned frames;    /* joined ones included */
    uint16_t flags;
    bool exact;       /* `pc` is exact */
    bool fp_incoming; /* `fp` is the context's */
    bool fp_live;     /* and it mattered */
    bool forget;      /* cannot be verified later */
    bool special;     /* a step or an entry of it was more than plain */
} Walker;

typedef uint64_t __attribute__((may_alias)) StackWord;

static inline uint64_t stack_word(uint64_t address)
{
    return *(const StackWord *)address;
}

static inline FrameWord frame_word(uint64_t word, RuleBits rule)
{
    return word | (rule & RULE_GENERATION) << 48 | (rule & RULE_EXACT ? FRAME_EXACT : 0);
}

typedef enum StepEnd {
    STEP_ON,    /* `cfa` and `pc` are the caller's */
    STEP_OUTER, /* there is no caller */
    STEP_EARLY, /* the caller cannot be found */
} StepEnd;

/* walk_step.c: the rare steps. */
/* The value of rbp at the current frame; false: unknown. Reads it from where it was saved. */
bool walker_fp(Walker *walker, uint64_t *ret_fp);
StepEnd walker_step(Walker *walker, RuleBits rule);

/*
 * walk_join.c: CANDIDATE is an entry of thread->last with the current frame's sp and word. Takes
 * over its outer frames as far as the stack still holds them. Returns true when these were all:
 * `next` is past the last entry, `frames`, `flags`, `acc` are complete. Else `at` is the outermost
 * frame taken, yet to be stepped.
 */
bool walker_join(Walker *walker, const Entry *candidate);

/* rbp chain as a rule: CFA = rbp + 16, rbp saved at CFA - 16. */
#define RULE_FP_CHAIN                                                                              \
    (RULE_CFA_FP | RULE_SAVED_FP | (uint64_t)(uint16_t)-16 << 16 | UINT64_C(16) << 32)

/* Below it nothing is ever mapped: no pc. */
#define WALK_LOWEST_PC 4096

/*
 * A stack's sum: acc = acc * WALK_BASE + frame word, leaf first; the hash is mixed from it, the
 * depth and the flags. Odd; no two stacks of up to 256 frames that differ in at most two of them,
 * by less than 2^29 each, have equal sums (test_unwind_walk.c looks at the lattices).
 */
#define WALK_BASE UINT64_C(0x58152ffb)
