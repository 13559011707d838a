// SPDX-License-Identifier: Apache-2.0
/*
 * The rare steps of a walk: a CFA from rbp, frames without a rule (frame pointer), DWARF
 * expressions and signal frames (cfi_step with all that is known of the registers), the outermost
 * frame.
 *
 * rbp is read lazily: most code saves it only because it uses it as a general register, and then no
 * CFA ever depends on it. When a rule does, the notes of the frames walked tell where it was saved
 * last; that word becomes an aux entry, so that a remembered walk compares it too. Frames between
 * there and here get RULE_LIVE: to join a walk at one of them, rbp must be equal.
 * Runs inside malloc: no locks, no libc; reads only below the stack's end.
 */
#include "unwind/walk.h"

#include <errno.h>

#include "unwind/internal.h"

static bool on_stack(const Walker *w, uint64_t address)
{
    return address >= w->first->sp && address <= w->high - 8 && address % 8 == 0;
}

static void walker_aux(Walker *w, uint64_t address, uint64_t word)
{
    if (w->next >= w->aux_limit || word == WALK_STOP_WORD) {
        w->forget = true;
        return;
    }
    *w->next++ = (Entry){.sp = address + 8, .word = word, .rule = RULE_AUX};
}

static void mark_live(Walker *w, Entry *from)
{
    for (Entry *entry = from; entry <= w->at; entry++)
        if (!(entry->rule & RULE_AUX))
            entry->rule |= RULE_LIVE;
}

bool walker_fp(Walker *w, uint64_t *ret_fp)
{
    uint64_t cfa = w->at->sp;
    Entry *entry = w->at;
    while (entry > w->fp_at) {
        RuleBits rule = (--entry)->rule;
        if (rule & RULE_AUX)
            continue;
        if (rule & RULE_SAVED_FP) {
            uint64_t slot = cfa + (uint64_t)rule_fp_offset(rule);
            if (!on_stack(w, slot))
                return false;
            w->fp = stack_word(slot);
            w->fp_incoming = false;
            walker_aux(w, slot, w->fp);
            entry++;
            break;
        }
        cfa = entry->sp;
    }
    mark_live(w, entry);
    w->fp_live |= w->fp_incoming;
    w->fp_at = w->at;
    *ret_fp = w->fp;
    return true;
}

/* ---- DWARF expressions and signal frames --------------------------------------------------------
 */

static bool read_word(void *cookie, uint64_t address, uint64_t *ret_word)
{
    Walker *w = cookie;
    if (on_stack(w, address)) {
        *ret_word = stack_word(address);
        walker_aux(w, address, *ret_word);
        return true;
    }
    w->forget = true;
    return unwind_read_safely(address, ret_word, 8);
}

enum { REG_RBP = 6, REG_RSP = 7, REG_PC = 16 };
#define KNOWN(reg) (UINT32_C(1) << (reg))

static void load_registers(Walker *w, CfiFrame *frame)
{
    if (w->thread->regs_at != w->at)
        frame->known = 0;
    frame->reg[REG_RSP] = w->at->sp;
    frame->reg[REG_PC] = w->at->word;
    frame->known |= KNOWN(REG_RSP) | KNOWN(REG_PC);
    if (walker_fp(w, &frame->reg[REG_RBP]))
        frame->known |= KNOWN(REG_RBP);
    else
        frame->known &= ~KNOWN(REG_RBP);
}

static StepEnd step_tables(Walker *w, bool exact)
{
    CfiFrame *frame = &w->thread->regs;
    uint64_t lookup_pc = exact ? w->at->word : w->at->word - 1;
    const UnwindModule *module = unwind_module_at(lookup_pc);
    load_registers(w, frame);
    bool signal = false;
    int status = module ? cfi_step(module, lookup_pc, frame, read_word, w, &signal) : -EINVAL;
    if (status != 0)
        return status == -ENOENT ? STEP_OUTER : STEP_EARLY;
    uint64_t sp = frame->reg[REG_RSP];
    if (signal) {
        w->flags |= UNWIND_THROUGH_SIGNAL;
        w->forget = true;
        w->exact = true;
        w->high = bounds_high(&w->thread->bounds, sp);
    } else if (sp <= w->at->sp || sp > w->high || sp % 8 != 0) {
        return STEP_EARLY;
    } else if (stack_word(sp - 8) != frame->reg[REG_PC]) {
        w->forget = true; /* the return address lies elsewhere */
    }
    w->cfa = sp;
    w->pc = frame->reg[REG_PC];
    w->fp = frame->known & KNOWN(REG_RBP) ? frame->reg[REG_RBP] : 0;
    w->fp_incoming = false;
    w->fp_at = w->next;
    w->thread->regs_at = w->next;
    return STEP_ON;
}

/* ---- one step -----------------------------------------------------------------------------------
 */

/* No rule: does rbp look like a frame pointer? The caller's pc must lie in a known module. */
static bool fp_sound(Walker *w)
{
    uint64_t fp;
    if (!walker_fp(w, &fp) || fp < w->at->sp || fp % 8 != 0 || fp > w->high - 16 || w->high < 16)
        return false;
    uint64_t pc = stack_word(fp + 8);
    bool sound = pc > WALK_LOWEST_PC && unwind_module_at(pc - 1);
    if (!sound)
        walker_aux(w, fp + 8, pc);
    return sound;
}

/* A return address at which a function begins, with none before it: nobody called from there, the
 * stack was laid out by hand. So end the stacks of makecontext (glibc's __start_context). */
static bool made_by_hand(const Walker *w)
{
    const UnwindModule *module = unwind_module_at(w->at->word);
    Rule rule = {.kind = RULE_MISSING};
    if (module && w->at > w->first && !(w->at->rule & RULE_EXACT))
        cfi_rule(module, w->at->word, &rule);
    return rule.kind != RULE_MISSING;
}

StepEnd walker_step(Walker *w, RuleBits rule)
{
    w->forget |= (rule & RULE_UNSURE) != 0 || w->at->word == WALK_STOP_WORD;
    rule &= ~RULE_UNSURE;
    w->at->rule = rule;
    w->acc = w->acc * WALK_BASE + frame_word(w->at->word, rule);
    w->next = w->at + 1;
    if (rule_kind(rule) == RULE_OUTER)
        return STEP_OUTER;
    if (rule_kind(rule) == RULE_SLOW)
        return step_tables(w, rule & RULE_EXACT);
    if (rule_kind(rule) == RULE_MISSING) {
        if (!fp_sound(w))
            return made_by_hand(w) ? STEP_OUTER : STEP_EARLY;
        rule = (rule & (RULE_GENERATION | RULE_EXACT)) | RULE_FP_CHAIN | RULE_BY_FP;
        w->at->rule = rule | RULE_LIVE;
        w->flags |= UNWIND_BY_FRAME_POINTER;
    }
    uint64_t base = w->at->sp;
    if ((rule & RULE_CFA_FP) && !walker_fp(w, &base))
        return STEP_EARLY;
    w->cfa = base + (uint64_t)rule_cfa_offset(rule);
    if (w->cfa <= w->at->sp || w->cfa > w->high || w->cfa % 8 != 0)
        return STEP_EARLY;
    w->pc = stack_word(w->cfa - 8);
    return STEP_ON;
}
