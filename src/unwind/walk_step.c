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
    return address >= w->low && address <= w->high - 8 && address % 8 == 0;
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

enum { RED_ZONE_BYTES = 128 };
#define KNOWN(reg) (UINT32_C(1) << (reg))

static CfiSaved entry_saved(const Entry *entry, unsigned reg, int64_t *ret_offset)
{
    uint64_t pc = entry->rule & RULE_EXACT ? entry->word : entry->word - 1;
    const UnwindModule *module = unwind_module_at(pc);
    return module ? cfi_saved(module, pc, reg, ret_offset) : CFI_SAVED_LOST;
}

/*
 * Callee-saved REG at the current frame, from where an inner one saved it last, or from `regs`, of
 * which KNOWN are known. Few CFAs need it (glibc's _dl_runtime_resolve: rbx), so the tables of each
 * frame on the way are asked. False: none saved it since the hook, of which only rbp is known.
 */
static bool walker_saved(Walker *w, unsigned reg, uint32_t known, uint64_t *ret_value)
{
    const Entry *entry = w->at;
    uint64_t cfa = entry->sp;
    while (entry != w->thread->regs_at || !(known & KNOWN(reg))) {
        do
            if (entry-- == w->first)
                return false;
        while (entry->rule & RULE_AUX);
        int64_t offset = 0;
        CfiSaved saved = entry_saved(entry, reg, &offset);
        uint64_t slot = cfa + (uint64_t)offset;
        if (saved == CFI_SAVED_LOST || (saved == CFI_SAVED_AT && !on_stack(w, slot)))
            return false;
        if (saved == CFI_SAVED_AT) {
            *ret_value = stack_word(slot);
            walker_aux(w, slot, *ret_value);
            return true;
        }
        cfa = entry->sp;
    }
    return true; /* it is in *ret_value already */
}

static void load_registers(Walker *w, CfiFrame *frame)
{
    if (w->thread->regs_at != w->at)
        frame->known = 0;
    frame->reg[CFI_REG_RSP] = w->at->sp;
    frame->reg[CFI_REG_RA] = w->at->word;
    frame->known |= KNOWN(CFI_REG_RSP) | KNOWN(CFI_REG_RA);
    if (walker_fp(w, &frame->reg[CFI_REG_RBP]))
        frame->known |= KNOWN(CFI_REG_RBP);
    else
        frame->known &= ~KNOWN(CFI_REG_RBP);
}

/* Adds the register that the CFA is computed from, when that can be told and was not known. */
static bool load_cfa_register(Walker *w, CfiFrame *frame, uint32_t known_before,
                              const UnwindModule *module, uint64_t lookup_pc)
{
    unsigned reg = cfi_cfa_register(module, lookup_pc);
    if (!cfi_callee_saves(reg) || (frame->known & KNOWN(reg)) ||
        !walker_saved(w, reg, known_before, &frame->reg[reg]))
        return false;
    frame->known |= KNOWN(reg);
    return true;
}

/* The interrupted function may have popped rbp just now: tables still name the slot below SP, in
 * the red zone. No further down than what is mapped. */
static uint64_t interrupted_low(const Walker *w, uint64_t sp)
{
    uint64_t page = sp & ~UINT64_C(4095), mapped = w->thread->bounds.spans[0].low;
    uint64_t low = sp < RED_ZONE_BYTES ? 0 : sp - RED_ZONE_BYTES;
    mapped = mapped < page ? mapped : page;
    return low < mapped ? mapped : low;
}

static StepEnd step_tables(Walker *w, bool exact)
{
    CfiFrame *frame = &w->thread->regs;
    uint32_t known_before = frame->known;
    uint64_t lookup_pc = exact ? w->at->word : w->at->word - 1;
    const UnwindModule *module = unwind_module_at(lookup_pc);
    load_registers(w, frame);
    bool signal = false;
    int status = module ? cfi_step(module, lookup_pc, frame, read_word, w, &signal) : -EINVAL;
    if (status == -EINVAL && module && load_cfa_register(w, frame, known_before, module, lookup_pc))
        status = cfi_step(module, lookup_pc, frame, read_word, w, &signal);
    if (status != 0)
        return status == -ENOENT ? STEP_OUTER : STEP_EARLY;
    uint64_t sp = frame->reg[CFI_REG_RSP];
    if (signal) {
        w->flags |= UNWIND_THROUGH_SIGNAL;
        w->forget = true;
        w->exact = true;
        w->high = bounds_high(&w->thread->bounds, sp);
        w->low = interrupted_low(w, sp);
    } else if (sp <= w->at->sp || sp > w->high || sp % 8 != 0) {
        return STEP_EARLY;
    } else if (stack_word(sp - 8) != frame->reg[CFI_REG_RA]) {
        w->forget = true; /* the return address lies elsewhere */
    }
    w->cfa = sp;
    w->pc = frame->reg[CFI_REG_RA];
    w->fp = frame->known & KNOWN(CFI_REG_RBP) ? frame->reg[CFI_REG_RBP] : 0;
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
