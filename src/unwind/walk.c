// SPDX-License-Identifier: Apache-2.0
/*
 * Stack walks with a memo. unwind_walk() first looks for a remembered walk at equal (pc, sp) and
 * verifies it: the words on the stack are compared in the order in which a walk reads them, inner
 * to outer, ending at the first difference. Equal memory gives an equal walk, and these reads are
 * the very reads of a real walk, so they are as safe. Else it walks by cached rules (rules.h), and
 * where a frame is also in the walk returned last, with the same rest verified, takes that rest
 * (walk_join.c).
 *
 * Budget: 4 instructions a verified frame and about 30 beside; about 30 a walked frame.
 * Bans: locks, system calls but for a new stack or unknown code, libc calls, errno.
 * One walk at a time per thread state; rules and modules are shared without locks.
 */
#if defined(__GNUC__) && !defined(__clang__)
/* It pairs up stores of two registers and spends five instructions a frame on that. */
#pragma GCC optimize("no-tree-slp-vectorize")
#endif

#include "unwind/walk.h"

#include "unwind/internal.h"
#include "unwind/memo.h"

/* Bytes of a walk with ENTRIES entries in the log. */
#define LOG_BYTES(entries) (sizeof(Memo) + ((size_t)(entries) + 2) * sizeof(Entry))

static _Atomic uint32_t logs_grown; /* in this process; counted up by any thread */

/* An owner is put once, by its thread; of the rest it is the only reader and writer. After fork, a
 * thread state that had forgotten all finds its ring again. */
static struct LongRing {
    _Atomic(UnwindThread *) owner;
    char *memory;
} long_rings[LOG_LONG_MOST];

/* At first. */
static size_t log_bytes(unsigned max_depth)
{
    return LOG_WALKS * LOG_BYTES(max_depth) + LOG_SPARE * sizeof(Entry);
}

static size_t log_full_bytes(unsigned max_depth)
{
    size_t first = log_bytes(max_depth);
    return first > LOG_GROWN_BYTES ? first : LOG_GROWN_BYTES;
}

size_t unwind_thread_bytes(unsigned max_depth)
{
    return sizeof(UnwindThread) + log_full_bytes(max_depth);
}

void unwind_thread_init(UnwindThread *thread, unsigned max_depth, bool frame_pointers)
{
    thread->max_depth = (uint16_t)max_depth;
    thread->frame_pointers = frame_pointers;
    thread->need_bytes = (uint32_t)LOG_BYTES(2u * max_depth + LOG_SPARE);
    thread->aux_bytes = (max_depth + LOG_SPARE - 1) * (uint32_t)sizeof(Entry);
    thread->log_begin = thread->log;
    thread->head = thread->tail = thread->lap_end = thread->log_begin;
    thread->log_end = thread->log + log_bytes(max_depth);
    thread->log_full = thread->log + log_full_bytes(max_depth);
    thread->epoch = atomic_load_explicit(&unwind_epoch, memory_order_acquire);
    thread->epoch_key = rule_epoch_key(thread->epoch);
}

/* ---- log ----------------------------------------------------------------------------------------
 */

/* Where A's next departs from it, in bytes from its first entry. */
static inline size_t fork_bytes(const Memo *a)
{
    return (size_t)((const char *)a->fork - (const char *)a->log);
}

static inline void chain_link(Memo *a, Memo *next, size_t fork)
{
    a->fork = (const Entry *)((const char *)a->log + fork);
    a->to_next = (intptr_t)((uintptr_t)next - (uintptr_t)a);
    next->prev = a;
}

/* What departs from a walk that departs from another does so from that one at the nearer of both
 * forks, or beyond. */
static inline size_t nearer(size_t fork, size_t other)
{
    return fork < other ? fork : other;
}

static inline void chain_drop(UnwindThread *thread, Memo *memo)
{
    Memo *next = memo_next(memo), *prev = memo->prev;
    if (memo_front(thread, memo->cell) == memo) {
        thread->cells[memo->cell] = 0;
        if (next != memo)
            memo_to_front(thread, next);
    }
    if (next != memo)
        chain_link(prev, next, nearer(fork_bytes(prev), fork_bytes(memo)));
}

static inline void log_drop_oldest(UnwindThread *thread)
{
    Memo *memo = (Memo *)thread->tail;
    chain_drop(thread, memo);
    if (thread->last == memo)
        thread->last = NULL;
    thread->tail += LOG_BYTES(memo->entries);
}

static void forget_walks(UnwindThread *thread)
{
    memset(thread->cells, 0, sizeof(thread->cells));
    thread->last = NULL;
    thread->head = thread->tail = thread->lap_end = thread->log_begin;
}

static char *long_ring(UnwindThread *thread)
{
    for (size_t i = 0; i < LOG_LONG_MOST; i++) {
        UnwindThread *owner = NULL;
        if (atomic_compare_exchange_strong(&long_rings[i].owner, &owner, thread))
            long_rings[i].memory = unwind_pages(LOG_LONG_BYTES);
        if (!owner || owner == thread)
            return long_rings[i].memory;
    }
    return NULL;
}

/* All walks are forgotten: none is in the middle of being made or returned. */
static bool log_to_long_ring(UnwindThread *thread)
{
    if (thread->log_begin != thread->log ||
        thread->stats.frames_walked < thread->stats.walks * LOG_LONG_FRAMES)
        return false;
    char *ring = long_ring(thread);
    intptr_t words = (intptr_t)((uintptr_t)ring - (uintptr_t)thread) / 8;
    if (!ring || words > INT32_MAX - LOG_LONG_BYTES || words < INT32_MIN)
        return false;
    thread->log_begin = ring;
    thread->log_end = thread->log_full = ring + LOG_LONG_BYTES;
    forget_walks(thread);
    return true;
}

/*
 * A thread that keeps meeting stacks it does not remember, as in a compiler, gets a longer ring:
 * all of them from the start would cost programs of many threads more memory than it is worth.
 */
static bool log_grow(UnwindThread *thread)
{
    if (thread->stats.walks < LOG_GROWS_AT)
        return false;
    if (log_to_long_ring(thread))
        return true;
    if (thread->log_end == thread->log_full || thread->head + thread->need_bytes > thread->log_full)
        return false;
    if (atomic_load_explicit(&logs_grown, memory_order_relaxed) >= LOG_GROWN_MOST ||
        atomic_fetch_add_explicit(&logs_grown, 1, memory_order_relaxed) >= LOG_GROWN_MOST)
        return false;
    thread->log_end = thread->log_full;
    return true;
}

/* On, if the ring grows, or to its begin; returns the end of the next walk's room. */
static __attribute__((noinline)) char *log_turn(UnwindThread *thread)
{
    if (log_grow(thread))
        return thread->head + thread->need_bytes;
    while (thread->tail < thread->lap_end)
        log_drop_oldest(thread);
    thread->lap_end = thread->head;
    thread->head = thread->tail = thread->log_begin;
    return thread->log_begin + thread->need_bytes;
}

static inline Memo *log_reserve(UnwindThread *thread)
{
    char *end = thread->head + thread->need_bytes;
    if (UNLIKELY(end > thread->log_end))
        end = log_turn(thread);
    if (end > thread->lap_end)
        end = thread->lap_end;
    while (thread->tail < end)
        log_drop_oldest(thread);
    return (Memo *)thread->head;
}

/* Where A and B depart from each other, in bytes from their first entries. */
static size_t walks_fork(const Memo *a, const Memo *b)
{
    uint32_t at = 1, end = a->entries < b->entries ? a->entries : b->entries;
    while (at < end && a->log[at].sp == b->log[at].sp && a->log[at].word == b->log[at].word)
        at++;
    return at * sizeof(Entry);
}

/* Leaves MEMO_CHAIN walks from FRONT on; the rest become a circle that nothing finds. */
static __attribute__((noinline)) void chain_cut(Memo *front)
{
    Memo *last = front;
    for (unsigned kept = 1; kept < MEMO_CHAIN && memo_next(last) != front; kept++)
        last = memo_next(last);
    Memo *rest = memo_next(last);
    if (rest == front)
        return;
    chain_link(front->prev, rest, 0);
    chain_link(last, front, walks_fork(last, front));
}

/* Puts a walk at the front of its chain. */
static inline void log_commit(UnwindThread *thread, Memo *memo)
{
    Memo *front = memo_front(thread, memo->cell);
    uint8_t *added = &thread->added[memo->cell];
    thread->head += LOG_BYTES(memo->entries);
    memo_to_front(thread, memo);
    chain_link(memo, memo, 0);
    if (((front->key ^ memo->key) & ~MEMO_FP_LIVE) != 0 || front->sp != memo->sp) {
        *added = 0;
        return;
    }
    Memo *prev = front->prev;
    size_t fork = walks_fork(memo, front);
    chain_link(prev, memo, prev == front ? fork : nearer(fork_bytes(prev), fork));
    chain_link(memo, front, fork);
    if (UNLIKELY(++*added == MEMO_CHAIN)) {
        *added = 0;
        chain_cut(memo);
    }
}

static COLD void forget_all(UnwindThread *thread)
{
    forget_walks(thread);
    uint32_t epoch = atomic_load_explicit(&unwind_epoch, memory_order_acquire);
    rule_epoch_changed(epoch);
    thread->epoch = epoch;
    thread->epoch_key = rule_epoch_key(epoch);
}

/* ---- walking ------------------------------------------------------------------------------------
 */

/*
 * Where the walk in progress may meet the one returned last: each JOIN_STRIDE-th of its entries,
 * counted inwards from the second stop, which is above every frame. To find a join a few frames
 * late costs less than to look at each frame, and short rests are not worth a join.
 */
static inline const Entry *join_first(const UnwindThread *thread)
{
    static const Entry none = {.sp = UINT64_MAX};
    const Memo *last = thread->last;
    if (UNLIKELY(!last))
        return &none;
    return last->log + (last->entries + 1) % JOIN_STRIDE;
}

static inline const Entry *join_next(const Entry *join, uint64_t cfa)
{
    while (join->sp < cfa)
        join += JOIN_STRIDE;
    return join;
}

/* The exact pc below a signal frame. */
static COLD RuleBits rule_exact(const Walker *w)
{
    uint64_t key = w->thread->epoch_key | RULE_KEY_EXACT;
    RuleCell *cell = rule_cell(rule_cells, w->at->word);
    RuleBits rule = atomic_load_explicit(&cell->rule, memory_order_relaxed);
    uint64_t check = atomic_load_explicit(&cell->check, memory_order_relaxed);
    if (!rule_holds(rule, check ^ rule ^ key, w->at->word))
        rule = rule_fill(w->at->word, key);
    return rule | RULE_EXACT;
}

/* A return address that is none ends the walk; it is kept as a word that the walk depends on. */
static COLD void end_of_stack(Walker *w, Entry *entry)
{
    entry->rule = RULE_AUX;
    if (entry->word != 0)
        w->flags |= UNWIND_ENDED_EARLY;
    w->forget |= entry->word == WALK_STOP_WORD;
    w->next = entry + 1;
}

/* All that is not a plain step; exact frames, which follow signal frames, are stepped here too. */
static __attribute__((noinline)) StepEnd step_rare(Walker *w, RuleBits rule)
{
    w->exact = false;
    w->special = true;
    StepEnd end = walker_step(w, rule);
    while (end == STEP_ON && w->exact && w->frames < w->thread->max_depth) {
        w->frames++;
        w->at = w->next;
        *w->at = (Entry){.sp = w->cfa, .word = w->pc};
        w->exact = false;
        end = walker_step(w, rule_exact(w));
    }
    return end;
}

/* A plain step to a CFA below needs no other look. */
static inline uint64_t walk_limit(const Walker *w, const Entry *join)
{
    uint64_t beyond = w->high + 1;
    return join->sp < beyond ? join->sp : beyond;
}

/* A frame too many; a word that ends the stack is none. Either way the walk depends on that word.
 */
static COLD void depth_reached(Walker *w)
{
    end_of_stack(w, w->at);
    if (w->at->word != 0)
        w->flags = (w->flags & ~UNWIND_ENDED_EARLY) | UNWIND_DEPTH_CUT;
    w->at--;
}

/*
 * From the first frame outwards to the end. The loop itself does what nearly every frame needs; all
 * else is called. What changes with each frame lives in locals and is stored for the calls.
 */
static inline __attribute__((always_inline)) void walk_frames(Walker *w, UnwindThread *thread,
                                                              const UnwindContext *context)
{
    const uint32_t max_depth = thread->max_depth;
    const uint64_t key = thread->epoch_key;
    const Entry *join = join_first(thread);
    Entry *at = w->at, *full = at + max_depth; /* a frame at `full` is one too many */
    uint64_t pc = context->pc, cfa = context->sp, acc = 0;
    uint64_t limit = walk_limit(w, join);
    /* Base registers, so that each load computes its own address. */
    _Atomic uint64_t *rules = &rule_cells->rule, *checks = &rule_cells->check;
    __asm__("" : "+r"(rules), "+r"(checks));
    for (;;) {
        size_t cell = rule_at(pc);
        RuleBits rule = atomic_load_explicit(&rules[cell], memory_order_relaxed);
        uint64_t check = atomic_load_explicit(&checks[cell], memory_order_relaxed);
        uint64_t named = check ^ rule ^ key;
        if (UNLIKELY(named != pc)) {
            if (!rule_holds(rule, named, pc)) {
                if (pc < WALK_LOWEST_PC && at != w->first) {
                    end_of_stack(w, at);
                    at--;
                    break;
                }
                thread->stats.rule_misses++;
                rule = rule_fill(pc, key);
            }
            if (rule & RULE_NOT_FAST)
                goto not_fast;
        }
        at->rule = rule;
        acc = acc * WALK_BASE + pc;
        cfa += (uint64_t)rule_cfa_offset(rule);
        if (LIKELY(cfa < limit)) {
        plain:
            pc = stack_word(cfa - 8);
            at++;
            __asm__("" : "+r"(at)); /* one register */
            at->sp = cfa;
            at->word = pc;
            if (LIKELY(at != full))
                continue;
            w->at = at;
            depth_reached(w);
            at--;
            break;
        }
        if (UNLIKELY(cfa > w->high)) {
            w->next = at + 1;
            w->flags |= UNWIND_ENDED_EARLY;
            break;
        }
        join = join_next(join, cfa);
        limit = walk_limit(w, join);
        if (cfa < limit)
            goto plain;
        pc = stack_word(cfa - 8);
        at++;
        goto stepped;
    not_fast:
        if (rule_kind(rule) == RULE_OUTER) {
            at->rule = rule;
            acc = acc * WALK_BASE + frame_word(pc, rule);
            /* A copy of plain walks sums raw words: not where the last one says more than its pc.
             */
            w->special |= (rule & (RULE_GENERATION | RULE_EXACT)) != 0;
            w->next = at + 1;
            break;
        }
        w->acc = acc;
        w->at = at;
        w->frames = max_depth + 1 - (uint32_t)(full - at);
        StepEnd end = step_rare(w, rule);
        acc = w->acc;
        at = w->next;
        full = at + (max_depth - w->frames);
        if (end != STEP_ON) {
            w->flags |= end == STEP_EARLY ? UNWIND_ENDED_EARLY : 0;
            at--;
            break;
        }
        cfa = w->cfa;
        pc = w->pc;
        join = join_next(join, cfa);
        limit = walk_limit(w, join);
    stepped:
        at->sp = cfa;
        at->word = pc;
        w->at = at;
        if (UNLIKELY(at == full)) {
            depth_reached(w);
            at--;
            break;
        }
        if (cfa < limit)
            continue;
        if (join->sp == cfa && join->word == pc) {
            w->acc = acc;
            w->frames = max_depth + 1 - (uint32_t)(full - at);
            if (walker_join(w, join))
                return;
            at = w->at;
            cfa = at->sp;
            pc = at->word;
            acc = w->acc;
            full = at + (max_depth + 1 - w->frames);
        }
        limit = cfa + 1;
    }
    w->acc = acc;
    w->frames = max_depth + 1 - (uint32_t)(full - at);
}

static uint64_t stack_high(UnwindThread *thread, uint64_t sp)
{
    if (UNLIKELY(sp < thread->stack_low || sp >= thread->stack_high)) {
        thread->stack_high = bounds_high(&thread->bounds, sp);
        thread->stack_low = thread->bounds.spans[0].low;
    }
    return thread->stack_high;
}

static void put_stops(const UnwindThread *thread, Entry *end)
{
    end[0] = (Entry){.sp = (uint64_t)(&thread->zero + 1), .word = WALK_STOP_WORD};
    end[1].sp = UINT64_MAX;
}

static __attribute__((noinline)) UnwindWalk *walk_anew(UnwindThread *thread,
                                                       const UnwindContext *context)
{
    Memo *memo = log_reserve(thread);
    Entry *first = memo->log;
    Walker walker;
    Walker *w = &walker;
    w->thread = thread;
    w->first = w->at = w->fp_at = first;
    w->aux_limit = (Entry *)((char *)first + thread->aux_bytes);
    w->fp = context->fp;
    w->fp_incoming = true;
    w->fp_live = w->forget = w->special = false;
    w->flags = 0;
    thread->regs_at = NULL;
    w->low = context->sp;
    w->high = stack_high(thread, context->sp);
    *first = (Entry){.sp = context->sp, .word = context->pc};
    walk_frames(w, thread, context);
    put_stops(thread, w->next);

    memo->acc = w->acc;
    memo->walk.hash = hash_mix(w->acc, (uint64_t)w->flags << 16 | w->frames);
    memo->walk.tag = 0;
    memo->walk.depth = (uint16_t)w->frames;
    memo->walk.flags = w->flags;
    memo->entries = (uint32_t)(w->next - first);
    bool cut = w->flags == UNWIND_DEPTH_CUT;
    memo->plain = !w->special && (cut || !w->flags) && memo->entries == w->frames + cut;
    thread->stats.walks++;
    thread->stats.frames_walked += w->frames;
    if (w->forget)
        return &memo->walk;
    memo->key = context->pc | (w->fp_live ? MEMO_FP_LIVE : 0);
    memo->sp = context->sp;
    memo->fp = context->fp;
    memo->cell = memo_cell(context->pc, context->sp);
    log_commit(thread, memo);
    thread->last = memo;
    return &memo->walk;
}

/*
 * The walk of a chain that holds; NULL: none. The stack agrees with MEMO up to `entry`, and so with
 * the next walk up to there or to the fork, whichever is nearer: that one is compared from there.
 */
static inline Memo *chain_verified(Memo *front, const UnwindContext *context)
{
    Memo *memo = front;
    const Entry *entry = memo->log + 1;
    do {
        entry = memo_differs(entry);
        if (entry->word == WALK_STOP_WORD &&
            (LIKELY(!(memo->key & MEMO_FP_LIVE)) || memo->fp == context->fp))
            return memo;
        entry = memo_across(memo, entry < memo->fork ? entry : memo->fork);
        memo = memo_next(memo);
    } while (memo != front);
    return NULL;
}

static inline void catch_up(UnwindThread *thread)
{
    if (UNLIKELY(atomic_load_explicit(&unwind_epoch, memory_order_relaxed) != thread->epoch))
        forget_all(thread);
}

void unwind_catch_up(UnwindThread *thread)
{
    catch_up(thread);
}

UnwindWalk *unwind_walk(UnwindThread *thread, const UnwindContext *context)
{
    catch_up(thread);
    Memo *memo = memo_front(thread, memo_cell(context->pc, context->sp));
    if ((memo->key & ~MEMO_FP_LIVE) != context->pc || memo->sp != context->sp)
        return walk_anew(thread, context);
    if (thread->missed_pc == context->pc || !(memo = chain_verified(memo, context))) {
        thread->missed_pc = 0;
        return walk_anew(thread, context);
    }
    memo_to_front(thread, memo);
    thread->last = memo;
    thread->stats.verified++;
    return &memo->walk;
}

size_t unwind_frames(const UnwindThread *thread, const UnwindWalk *walk, FrameWord *ret_frames)
{
    (void)thread;
    const Memo *memo = (const Memo *)((const char *)walk - offsetof(Memo, walk));
    size_t depth = 0;
    const Entry *end = memo->log + memo->entries;
    for (const Entry *entry = memo->log; entry < end; entry++) {
        if (!(entry->rule & RULE_AUX))
            ret_frames[depth++] = frame_word(entry->word, entry->rule);
    }
    return depth;
}

void unwind_thread_stats(const UnwindThread *thread, UnwindStats *ret_stats)
{
    *ret_stats = thread->stats;
    ret_stats->walks += thread->stats.verified;
}
