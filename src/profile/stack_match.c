// SPDX-License-Identifier: Apache-2.0
/*
 * Best partners between two sets of stacks, by longest common subsequence.
 *
 * The outermost frames that all stacks share say nothing and are left out. Then, for two stacks of
 * lengths a and b with a common subsequence of length c:
 *     likeness = 2c / (a + b),  they may pair if  likeness >= 0.6  and  (same leaf, or c = min(a,
 * b)) The second condition: either the allocating function is the same, or one stack is the other
 * with frames added. So a call of another function from the same place is new, not "changed".
 *
 * Only stacks that share one of their three innermost frames, or all frames, are compared, at most
 * BUCKET_MAX per shared frame; candidates are taken best first, then nearest in value, then by
 * order. A pair is ambiguous when, at its turn, one of its two had another candidate of the same
 * likeness.
 *
 * Cost: stacks left over x at most 4 x BUCKET_MAX comparisons; each cuts equal ends and runs the
 * textbook table on the rest. Memory: the candidates. No globals, one thread.
 */
#include "profile/stack_match.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "profile/profile.h"

enum { INNER_FRAMES = 3, BUCKET_MAX = 256, KEYS_MAX = INNER_FRAMES + 1 };
static const double likeness_min = 0.6;

typedef struct Stack {
    const uint32_t *frames;
    size_t depth;
    int64_t value;
    uint32_t partner;
    uint32_t rivals; /* candidates of the likeness under way */
    bool ambiguous;
} Stack;

typedef struct Key {
    uint64_t key;
    uint32_t stack;
} Key;

typedef struct Candidate {
    double likeness;
    uint64_t distance; /* of the values */
    uint32_t before, after;
} Candidate;

struct StackMatch {
    Stack *stacks[2];
    size_t count[2];
    size_t shared_outer;
    Key *keys; /* of the lonely stacks after, sorted */
    size_t key_count;
    uint32_t *seen; /* per stack after: 1 + the stack before that was compared with it last */
    uint16_t *table;
    size_t table_length;
    Candidate *candidates;
    size_t candidate_count, candidate_capacity;
};

int stack_match_new(size_t before_count, size_t after_count, StackMatch **ret_match)
{
    StackMatch *match = calloc(1, sizeof *match);
    if (!match)
        return -ENOMEM;
    match->count[0] = before_count;
    match->count[1] = after_count;
    for (int s = 0; s < 2; s++) {
        match->stacks[s] = calloc(match->count[s] + 1, sizeof(Stack));
        if (!match->stacks[s]) {
            stack_match_free(match);
            return -ENOMEM;
        }
        for (size_t i = 0; i < match->count[s]; i++)
            match->stacks[s][i].partner = ID_NONE;
    }
    *ret_match = match;
    return 0;
}

void stack_match_free(StackMatch *match)
{
    if (!match)
        return;
    free(match->stacks[0]);
    free(match->stacks[1]);
    free(match->keys);
    free(match->seen);
    free(match->table);
    free(match->candidates);
    free(match);
}

void stack_match_put(StackMatch *match, int side, uint32_t stack, const uint32_t *frames,
                     size_t depth, int64_t value)
{
    Stack *to = &match->stacks[side][stack];
    to->frames = frames;
    to->depth = depth;
    to->value = value;
}

void stack_match_pair(StackMatch *match, uint32_t before, uint32_t after)
{
    match->stacks[0][before].partner = after;
    match->stacks[1][after].partner = before;
}

uint32_t stack_match_partner(const StackMatch *match, int side, uint32_t stack)
{
    return match->stacks[side][stack].partner;
}

bool stack_match_is_ambiguous(const StackMatch *match, uint32_t before, uint32_t after)
{
    return (before != ID_NONE && match->stacks[0][before].ambiguous) ||
           (after != ID_NONE && match->stacks[1][after].ambiguous);
}

/* ---- likeness ----------------------------------------------------------------------------- */

static size_t common_subsequence(uint16_t *table, const uint32_t *a, size_t a_length,
                                 const uint32_t *b, size_t b_length)
{
    size_t ends = 0;
    while (a_length > 0 && b_length > 0 && a[a_length - 1] == b[b_length - 1]) {
        a_length--;
        b_length--;
        ends++;
    }
    while (a_length > 0 && b_length > 0 && *a == *b) {
        a++, b++;
        a_length--;
        b_length--;
        ends++;
    }
    memset(table, 0, (b_length + 1) * sizeof *table);
    for (size_t i = 0; i < a_length; i++) {
        uint16_t diagonal = 0;
        for (size_t j = 0; j < b_length; j++) {
            uint16_t above = table[j + 1];
            if (a[i] == b[j])
                table[j + 1] = (uint16_t)(diagonal + 1);
            else if (table[j] > above)
                table[j + 1] = table[j];
            diagonal = above;
        }
    }
    return ends + table[b_length];
}

/* 0: they may not pair. */
static double likeness(const StackMatch *match, const Stack *a, const Stack *b)
{
    size_t a_length = a->depth - match->shared_outer, b_length = b->depth - match->shared_outer;
    size_t shorter = a_length < b_length ? a_length : b_length;
    double both = (double)(a_length + b_length);
    if (shorter == 0 || 2.0 * (double)shorter / both < likeness_min)
        return 0;
    size_t common = common_subsequence(match->table, a->frames, a_length, b->frames, b_length);
    double like = 2.0 * (double)common / both;
    bool same_leaf = a->frames[0] == b->frames[0];
    return like >= likeness_min && (same_leaf || common == shorter) ? like : 0;
}

/* Frames, from the root, that all stacks of both sides share, but never a whole stack. */
static size_t find_shared_outer(const StackMatch *match)
{
    const Stack *first = NULL;
    size_t shared = SIZE_MAX;
    for (int s = 0; s < 2; s++)
        for (size_t i = 0; i < match->count[s]; i++) {
            const Stack *stack = &match->stacks[s][i];
            if (stack->depth == 0)
                return 0;
            if (!first)
                first = stack;
            size_t n = 0;
            while (n < stack->depth - 1 && n < first->depth - 1 && n < shared &&
                   stack->frames[stack->depth - 1 - n] == first->frames[first->depth - 1 - n])
                n++;
            shared = n;
        }
    return first ? shared : 0;
}

/* ---- candidates --------------------------------------------------------------------------- */

/* Keys of a stack: all frames as one hash, then each of the innermost ones. */
static size_t make_keys(const Stack *stack, uint64_t keys[KEYS_MAX])
{
    uint64_t hash = stack->depth;
    for (size_t i = 0; i < stack->depth; i++)
        hash = hash_mix(hash, stack->frames[i]);
    size_t n = 0;
    keys[n++] = hash | UINT64_C(1) << 63;
    for (size_t i = 0; i < stack->depth && i < INNER_FRAMES; i++)
        keys[n++] = stack->frames[i];
    return n;
}

static int compare_keys(const void *a, const void *b)
{
    const Key *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->stack < y->stack ? -1 : x->stack > y->stack;
}

static void fill_keys(StackMatch *match)
{
    for (size_t i = 0; i < match->count[1]; i++) {
        uint64_t keys[KEYS_MAX];
        if (match->stacks[1][i].partner != ID_NONE)
            continue;
        size_t n = make_keys(&match->stacks[1][i], keys);
        for (size_t k = 0; k < n; k++)
            match->keys[match->key_count++] = (Key){keys[k], (uint32_t)i};
    }
    qsort(match->keys, match->key_count, sizeof *match->keys, compare_keys);
}

static size_t first_key(const StackMatch *match, uint64_t key)
{
    size_t low = 0, high = match->key_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (match->keys[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int add_candidate(StackMatch *match, uint32_t before, uint32_t after)
{
    const Stack *a = &match->stacks[0][before], *b = &match->stacks[1][after];
    double like = likeness(match, a, b);
    if (like == 0)
        return 0;
    if (match->candidate_count == match->candidate_capacity) {
        size_t capacity = match->candidate_capacity ? 2 * match->candidate_capacity : 256;
        Candidate *grown = realloc(match->candidates, capacity * sizeof *grown);
        if (!grown)
            return -ENOMEM;
        match->candidates = grown;
        match->candidate_capacity = capacity;
    }
    uint64_t distance = a->value > b->value ? (uint64_t)a->value - (uint64_t)b->value
                                            : (uint64_t)b->value - (uint64_t)a->value;
    match->candidates[match->candidate_count++] = (Candidate){like, distance, before, after};
    return 0;
}

static int find_candidates(StackMatch *match, uint32_t before)
{
    uint64_t keys[KEYS_MAX];
    size_t n = make_keys(&match->stacks[0][before], keys);
    for (size_t k = 0; k < n; k++) {
        size_t i = first_key(match, keys[k]);
        for (int left = BUCKET_MAX;
             left > 0 && i < match->key_count && match->keys[i].key == keys[k]; i++, left--) {
            uint32_t after = match->keys[i].stack;
            if (match->seen[after] == before + 1)
                continue;
            match->seen[after] = before + 1;
            int r = add_candidate(match, before, after);
            if (r < 0)
                return r;
        }
    }
    return 0;
}

static int compare_candidates(const void *a, const void *b)
{
    const Candidate *x = a, *y = b;
    if (x->likeness != y->likeness)
        return x->likeness > y->likeness ? -1 : 1;
    if (x->distance != y->distance)
        return x->distance < y->distance ? -1 : 1;
    if (x->before != y->before)
        return x->before < y->before ? -1 : 1;
    return x->after < y->after ? -1 : x->after > y->after;
}

static bool is_free(const StackMatch *match, const Candidate *c)
{
    return match->stacks[0][c->before].partner == ID_NONE &&
           match->stacks[1][c->after].partner == ID_NONE;
}

/* Candidates of one likeness. */
static void take_equals(StackMatch *match, const Candidate *candidates, size_t count)
{
    for (size_t i = 0; i < count; i++)
        match->stacks[0][candidates[i].before].rivals =
            match->stacks[1][candidates[i].after].rivals = 0;
    for (size_t i = 0; i < count; i++)
        if (is_free(match, &candidates[i])) {
            match->stacks[0][candidates[i].before].rivals++;
            match->stacks[1][candidates[i].after].rivals++;
        }
    for (size_t i = 0; i < count; i++) {
        if (!is_free(match, &candidates[i]))
            continue;
        Stack *before = &match->stacks[0][candidates[i].before];
        Stack *after = &match->stacks[1][candidates[i].after];
        before->ambiguous = after->ambiguous = before->rivals > 1 || after->rivals > 1;
        stack_match_pair(match, candidates[i].before, candidates[i].after);
    }
}

static void take_best(StackMatch *match)
{
    Candidate *candidates = match->candidates;
    size_t count = match->candidate_count;
    if (count > 0)
        qsort(candidates, count, sizeof *candidates, compare_candidates);
    for (size_t first = 0, end; first < count; first = end) {
        end = first + 1;
        while (end < count && candidates[end].likeness == candidates[first].likeness)
            end++;
        take_equals(match, candidates + first, end - first);
    }
}

static int make_room(StackMatch *match)
{
    for (int s = 0; s < 2; s++)
        for (size_t i = 0; i < match->count[s]; i++)
            if (match->stacks[s][i].depth > match->table_length)
                match->table_length = match->stacks[s][i].depth;
    if (match->table_length > UINT16_MAX)
        return -EINVAL;
    match->table = calloc(match->table_length + 1, sizeof *match->table);
    match->keys = calloc(match->count[1] * KEYS_MAX + 1, sizeof *match->keys);
    match->seen = calloc(match->count[1] + 1, sizeof *match->seen);
    return match->table && match->keys && match->seen ? 0 : -ENOMEM;
}

int stack_match_run(StackMatch *match)
{
    int r = make_room(match);
    if (r < 0)
        return r;
    match->shared_outer = find_shared_outer(match);
    fill_keys(match);
    for (size_t i = 0; i < match->count[0]; i++) {
        if (match->stacks[0][i].partner != ID_NONE)
            continue;
        r = find_candidates(match, (uint32_t)i);
        if (r < 0)
            return r;
    }
    take_best(match);
    return 0;
}
