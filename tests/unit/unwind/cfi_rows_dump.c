// SPDX-License-Identifier: Apache-2.0
/*
 * What src/unwind/cfi*.c make of a file's tables, for test_cfi_readelf.py to compare with another
 * reader: cfi_rows_dump FILE < PCS. The file is laid out in memory as the loader would do it, but
 * not run, so programs and libraries with constructors can be read. For each line (a pc in hex, as
 * in the file) it prints
 *
 *     START END CFA RBP RA RULE
 *
 * START and END of the FDE, the row as readelf spells it (rsp+16, exp; c-16, v+0, exp, vexp, u, s,
 * a register; - is unspecified), and the packed rule: missing, outer, slow, or plain:CFA:RBP.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "unwind/cfi.h"
#include "unwind/cfi_rows.h"
#include "unwind/cfi_tables.h"

static const char *const names[CFI_REGISTERS] = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi",
                                                 "rbp", "rsp", "r8",  "r9",  "r10", "r11",
                                                 "r12", "r13", "r14", "r15", "rip"};

static void fail(const char *what)
{
    fprintf(stderr, "cfi_rows_dump: %s\n", what);
    exit(2);
}

static void place_segment(int file, char *base, const Elf64_Phdr *segment, UnwindModule *module)
{
    char *at = base + segment->p_vaddr;
    size_t done = 0;
    while (done < segment->p_filesz) {
        ssize_t n =
            pread(file, at + done, segment->p_filesz - done, (off_t)(segment->p_offset + done));
        if (n <= 0)
            fail("cannot read a segment");
        done += (size_t)n;
    }
    if (module->segment_count == 8)
        fail("more segments than a module has");
    module->segments[module->segment_count].addr = segment->p_vaddr;
    module->segments[module->segment_count++].size = segment->p_memsz;
}

/* Fills MODULE as the module table would for a file that is loaded at a place of our choice. */
static void load(const char *path, UnwindModule *ret_module)
{
    enum { MOST = 64 };
    Elf64_Ehdr head;
    Elf64_Phdr segments[MOST];
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || pread(file, &head, sizeof(head), 0) != sizeof(head) || head.e_phnum > MOST)
        fail("not readable");
    size_t bytes = head.e_phnum * sizeof(*segments), span = 0;
    if (pread(file, segments, bytes, (off_t)head.e_phoff) != (ssize_t)bytes)
        fail("no program headers");
    for (int i = 0; i < head.e_phnum; i++)
        if (segments[i].p_type == PT_LOAD && segments[i].p_vaddr + segments[i].p_memsz > span)
            span = segments[i].p_vaddr + segments[i].p_memsz;
    char *base = mmap(NULL, span, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        fail("no memory");
    *ret_module = (UnwindModule){.module_id = 1, .path = path, .bias = (uint64_t)base};
    for (int i = 0; i < head.e_phnum; i++) {
        if (segments[i].p_type == PT_LOAD)
            place_segment(file, base, &segments[i], ret_module);
        if (segments[i].p_type == PT_GNU_EH_FRAME)
            ret_module->eh_frame_hdr = (uint64_t)base + segments[i].p_vaddr;
    }
    close(file);
}

static void print_cell(const CfiCell *cell)
{
    switch (cell->rule) {
    case CFI_CELL_UNSPECIFIED:
        printf(" -");
        break;
    case CFI_CELL_UNDEFINED:
        printf(" u");
        break;
    case CFI_CELL_SAME:
        printf(" s");
        break;
    case CFI_CELL_OFFSET:
        printf(" c%+ld", (long)cell->value);
        break;
    case CFI_CELL_VAL_OFFSET:
        printf(" v%+ld", (long)cell->value);
        break;
    case CFI_CELL_REGISTER:
        printf(" %s", cell->value < CFI_REGISTERS ? names[cell->value] : "?");
        break;
    case CFI_CELL_EXPRESSION:
        printf(" exp");
        break;
    case CFI_CELL_VAL_EXPRESSION:
        printf(" vexp");
        break;
    }
}

static void print_rule(const UnwindModule *module, uint64_t pc)
{
    Rule rule;
    cfi_rule(module, pc, &rule);
    if (rule.kind == RULE_MISSING)
        puts(" missing");
    else if (rule.kind == RULE_OUTER)
        puts(" outer");
    else if (rule.kind == RULE_SLOW)
        puts(" slow");
    else if (rule.fp == RULE_FP_SAVED)
        printf(" plain:%s%+d:c%+d\n", rule.cfa_is_fp ? "rbp" : "rsp", rule.cfa_offset,
               rule.fp_offset);
    else
        printf(" plain:%s%+d:same\n", rule.cfa_is_fp ? "rbp" : "rsp", rule.cfa_offset);
}

static void print_row(const UnwindModule *module, uint64_t pc)
{
    CfiFde fde;
    CfiRow row;
    if (!cfi_find_fde(module, pc, &fde)) {
        printf("none - - - -");
    } else if (!cfi_fde_row(&fde, pc, &row)) {
        printf("%lx %lx broken - -", (unsigned long)(fde.start - module->bias),
               (unsigned long)(fde.end - module->bias));
    } else {
        printf("%lx %lx ", (unsigned long)(fde.start - module->bias),
               (unsigned long)(fde.end - module->bias));
        if (row.cfa_is_expression)
            printf("exp");
        else
            printf("%s%+ld", row.cfa_register < CFI_REGISTERS ? names[row.cfa_register] : "?",
                   (long)row.cfa.value);
        print_cell(&row.reg[CFI_REG_RBP]);
        print_cell(&row.reg[CFI_REG_RA]);
    }
    print_rule(module, pc);
}

int main(int argc, char **argv)
{
    UnwindModule module;
    unsigned long pc;
    if (argc != 2)
        fail("give one file");
    load(argv[1], &module);
    while (scanf("%lx", &pc) == 1)
        print_row(&module, module.bias + pc);
    return 0;
}
