// SPDX-License-Identifier: Apache-2.0
/*
 * See stacks.h. The hash table is open addressing over words {40 hash bits, 24 id bits}. It doubles
 * under the lock: the new table is filled, then published by one store; readers that still use the
 * old one miss at worst the newest stacks and then come to the lock. Old tables stay mapped for
 * such readers: together they are smaller than the current one.
 *
 * Most new stacks end like the one that the same thread added before: their outer frames are kept
 * once, in that stack or in one that it refers to itself. `outer` names the stack that has the next
 * frame of its own, so each step to it brings at least one. In g++ a stack of 38 frames so takes
 * 16 words, and the pages that are touched are what a new stack costs most.
 *
 * Two different stacks with equal 64-bit hashes would be counted as one; with a million stacks that
 * has a chance of 3e-8.
 */
#include "runtime/stacks.h"

#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "base/lock.h"
#include "runtime/arena.h"

enum { FIRST_TABLE_BITS = 12, PAGE_STACKS = 1 << STACK_PAGE_BITS, NEWEST = 8 };
_Static_assert(UNWIND_MAX_DEPTH - 1 <= UINT8_MAX, "Stack.own, where at least one is shared");
#define ID_MASK ((UINT64_C(1) << STACK_ID_BITS) - 1)
#define MAX_ID  (ID_MASK - 1)

typedef struct Table {
    uint64_t mask;
    _Atomic uint64_t cells[];
} Table;

static Lock lock; /* writers of the table and of next_id */
static _Atomic(Table *) table;
static _Atomic uint32_t last_id; /* published after the record is complete */
static _Atomic(Stack *) pages[1 << (STACK_ID_BITS - STACK_PAGE_BITS)];
/* lock: the stack that a thread, by its id modulo NEWEST, added last. */
static struct Newest {
    uint32_t id;
    FrameWord frames[UNWIND_MAX_DEPTH];
} newest[NEWEST];
static _Atomic uint32_t pending_head; /* any thread pushes, the collector takes all */

static Table *table_new(uint64_t cells)
{
    size_t bytes = sizeof(Table) + cells * sizeof(uint64_t);
    Table *fresh = cells == 1 << FIRST_TABLE_BITS ? arena_map(ARENA_STACKS, bytes)
                                                  : arena_map_filled(ARENA_STACKS, bytes);
    if (fresh)
        fresh->mask = cells - 1;
    return fresh;
}

static void table_set(Table *into, uint64_t hash, uint32_t id)
{
    uint64_t at = hash & into->mask;
    while (atomic_load_explicit(&into->cells[at], memory_order_relaxed))
        at = (at + 1) & into->mask;
    atomic_store_explicit(&into->cells[at], (hash & ~ID_MASK) | id, memory_order_release);
}

/* The id bits of a hash index the table; mix so that they do not repeat in the stored bits. */
static inline uint64_t spread(uint64_t hash)
{
    return hash ^ (hash >> 32);
}

Stack *stacks_get(uint32_t id)
{
    Stack *page = atomic_load_explicit(&pages[id >> STACK_PAGE_BITS], memory_order_acquire);
    return page + (id & (PAGE_STACKS - 1));
}

uint32_t stacks_count(void)
{
    return atomic_load_explicit(&last_id, memory_order_acquire);
}

uint32_t stacks_find(uint64_t hash)
{
    const Table *in = atomic_load_explicit(&table, memory_order_acquire);
    uint64_t mixed = spread(hash);
    for (uint64_t at = mixed & in->mask;; at = (at + 1) & in->mask) {
        uint64_t cell = atomic_load_explicit(&in->cells[at], memory_order_acquire);
        if (!cell)
            return 0;
        if ((cell & ~ID_MASK) == (mixed & ~ID_MASK) &&
            stacks_get((uint32_t)(cell & ID_MASK))->hash == hash)
            return (uint32_t)(cell & ID_MASK);
    }
}

/* Lock held. */
static bool table_has_room(void)
{
    Table *old = atomic_load_explicit(&table, memory_order_relaxed);
    uint64_t used = atomic_load_explicit(&last_id, memory_order_relaxed);
    if (used * 3 < (old->mask + 1) * 2)
        return true;
    Table *fresh = table_new((old->mask + 1) * 2);
    if (!fresh)
        return used + 1 < old->mask; /* slow but right as long as one cell stays empty */
    for (uint64_t at = 0; at <= old->mask; at++) {
        uint64_t cell = atomic_load_explicit(&old->cells[at], memory_order_relaxed);
        if (cell)
            table_set(fresh, spread(stacks_get((uint32_t)(cell & ID_MASK))->hash),
                      (uint32_t)(cell & ID_MASK));
    }
    atomic_store_explicit(&table, fresh, memory_order_release);
    return true;
}

/* Lock held. */
static Stack *record_new(uint32_t id)
{
    uint32_t page = id >> STACK_PAGE_BITS;
    if (!atomic_load_explicit(&pages[page], memory_order_relaxed)) {
        size_t bytes = PAGE_STACKS * sizeof(Stack);
        Stack *fresh =
            page ? arena_map_filled(ARENA_STACKS, bytes) : arena_map(ARENA_STACKS, bytes);
        if (!fresh)
            return NULL;
        atomic_store_explicit(&pages[page], fresh, memory_order_release);
    }
    return stacks_get(id);
}

static unsigned own_of(const Stack *stack)
{
    return stack->outer ? stack->own : stack->depth;
}

void stacks_frames(const Stack *stack, FrameWord *ret_frames)
{
    unsigned left = stack->depth;
    while (left) {
        unsigned from = stack->depth - left, count = own_of(stack) - from;
        if (count)
            memcpy(ret_frames, stack->frames + from, count * sizeof(FrameWord));
        ret_frames += count;
        left -= count;
        stack = stacks_get(stack->outer);
    }
}

/* Lock held. How many of the outermost frames are those of that stack. */
static unsigned shared_frames(const struct Newest *other, const FrameWord *frames, unsigned depth)
{
    unsigned shared = 0, theirs = other->id ? stacks_get(other->id)->depth : 0;
    while (shared < depth && shared < theirs &&
           frames[depth - 1 - shared] == other->frames[theirs - 1 - shared])
        shared++;
    return shared;
}

/* The stack that has the innermost of the COUNT outermost frames of ID in its own. */
static uint32_t outer_stack(uint32_t id, unsigned count)
{
    while (count <= stacks_get(id)->depth - own_of(stacks_get(id)))
        id = stacks_get(id)->outer;
    return id;
}

/* Lock held. False: no memory. */
static bool frames_put(Stack *stack, uint32_t id, struct Newest *before, const FrameWord *frames)
{
    unsigned shared = shared_frames(before, frames, stack->depth), own = stack->depth - shared;
    FrameWord *kept = own ? arena_take(ARENA_STACKS, own * sizeof(FrameWord)) : NULL;
    if (own && !kept)
        return false;
    if (own)
        memcpy(kept, frames, own * sizeof(FrameWord));
    stack->frames = kept;
    if (shared) {
        stack->outer = outer_stack(before->id, shared);
        stack->own = (uint8_t)own;
    }
    memcpy(before->frames, frames, stack->depth * sizeof(FrameWord));
    before->id = id;
    return true;
}

/* Lock held. */
static uint32_t stack_add(const UnwindThread *thread, const UnwindWalk *walk, uint32_t tid)
{
    static FrameWord frames[UNWIND_MAX_DEPTH]; /* not on a signal handler's small stack */
    uint32_t id = atomic_load_explicit(&last_id, memory_order_relaxed) + 1;
    if (id > MAX_ID || !table_has_room())
        return STACK_LOSSES;
    Stack *stack = record_new(id);
    if (!stack)
        return STACK_LOSSES;
    *stack = (Stack){.hash = walk->hash, .depth = walk->depth, .flags = (uint8_t)walk->flags};
    if (walk->depth)
        unwind_frames(thread, walk, frames);
    if (!frames_put(stack, id, &newest[tid % NEWEST], frames))
        return STACK_LOSSES;
    table_set(atomic_load_explicit(&table, memory_order_relaxed), spread(walk->hash), id);
    atomic_store_explicit(&last_id, id, memory_order_release);
    return id;
}

uint32_t stacks_put(const UnwindThread *thread, const UnwindWalk *walk, uint32_t tid)
{
    uint32_t id = stacks_find(walk->hash);
    if (id)
        return id;
    if (!lock_take(&lock, tid, 0))
        return STACK_LOSSES;
    id = stacks_find(walk->hash);
    if (!id)
        id = stack_add(thread, walk, tid);
    lock_release(&lock);
    return id;
}

static int fixed_stack(uint32_t id, uint64_t hash, uint8_t flags)
{
    Stack *stack = record_new(id);
    if (!stack)
        return -ENOMEM;
    *stack = (Stack){.hash = hash, .flags = flags};
    atomic_store_explicit(&last_id, id, memory_order_release);
    return 0;
}

int stacks_init(void)
{
    Table *first = table_new(1 << FIRST_TABLE_BITS);
    if (!first)
        return -ENOMEM;
    atomic_store_explicit(&table, first, memory_order_release);
    int ret = fixed_stack(STACK_LOSSES, 0, 16);
    return ret < 0 ? ret : fixed_stack(STACK_EMPTY, 1, 0);
}

void stacks_after_fork(void)
{
    lock_reset(&lock);
    for (int i = 0; i < NEWEST; i++)
        newest[i].id = 0; /* the parent may have been amid an addition */
}

void stacks_mark_pending(uint32_t id)
{
    Stack *stack = stacks_get(id);
    if (atomic_exchange(&stack->pending, 1))
        return;
    uint32_t head = atomic_load_explicit(&pending_head, memory_order_relaxed);
    do
        atomic_store_explicit(&stack->next_pending, head, memory_order_relaxed);
    while (!atomic_compare_exchange_weak(&pending_head, &head, id));
}

uint32_t stacks_take_pending(void)
{
    return atomic_exchange(&pending_head, STACK_LIST_END);
}
