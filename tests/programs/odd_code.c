// SPDX-License-Identifier: Apache-2.0
/*
 * Code that is hard to unwind. "no_cfi": hand-written assembly without any; the
 * stack may end there, but then it says so. "garbage_fp": functions that use
 * rbp as a plain register, one of them called by a function that needs its
 * frame pointer (alloca): every frame must be there. "jit": machine code in
 * anonymous memory, with a frame pointer chain and without. "saved": assembly
 * whose frame is found from a register that inner functions saved, as that of
 * the loader's _dl_runtime_resolve, which "binding" goes through.
 *
 *   //! loss unwind_ended=>=0
 *   //! run no_cfi no_cfi
 *   //!   site asm_without_cfi count=10 bytes=100
 *   //!   flag broken asm_without_cfi count=10
 *   //! run garbage_fp garbage_fp
 *   //!   loss unwind_ended=0
 *   //!   stack site_leaf<garbage_fp<frame_by_fp<garbage_fp_too<main count=100
 * bytes=1000
 *   //! run realigned realigned
 *   //!   loss unwind_ended=0
 *   //!   stack site_leaf<realigned<main count=10 bytes=100
 *   //! run jit jit
 *   //!   total count=20 bytes=200
 *   //!   flag by_fp run_jit count=10 bytes=100
 *   //! run asm asm
 *   //!   stack asm_with_cfi<main count=10 bytes=100
 *   //! run saved saved
 *   //!   loss unwind_ended=0
 *   //!   stack site_leaf<uses_registers<asm_by_rbx<main count=10 bytes=100
 *   //!   stack site_leaf<passes_through<uses_registers<asm_by_r13<main count=10 bytes=100
 *   //!   stack site_leaf<uses_registers<asm_by_r15<uses_registers_too<asm_by_rbx<main count=10
 *   //! run binding binding
 *   //!   loss unwind_ended=0
 *   //!   stack bound_choice<binding_call<call_bound<main count=20 bytes=200
 *   //! run noreturn noreturn
 *   //!   stack site_leaf<never_returns<main count=1
 */
#include "trap.h"

#include <alloca.h>
#include <dlfcn.h>
#include <sys/mman.h>

void *asm_without_cfi(void);
__asm__(".text\n"
        ".type asm_without_cfi,@function\n"
        "asm_without_cfi:\n"
        "  sub $40, %rsp\n"
        "  mov $10, %edi\n"
        "  call malloc@PLT\n"
        "  add $40, %rsp\n"
        "  ret\n"
        ".size asm_without_cfi, .-asm_without_cfi\n");

void *asm_with_cfi(void); /* the same with CFI: the stack goes on */

SITE static void site_leaf(void)
{
    keep(malloc(10));
}

#ifndef __clang__
#define TRASH_FP __asm__ volatile("mov $0x1234567, %%rbp" : : : "rbp")
#else
#define TRASH_FP ((void)0)
#endif

SITE static void garbage_fp(void)
{
    TRASH_FP;
    site_leaf();
    __asm__ volatile("");
}

SITE static void frame_by_fp(size_t size)
{
    char *room = alloca(size);

    keep(room);
    garbage_fp();
    keep(room);
}

SITE static void garbage_fp_too(size_t size)
{
    TRASH_FP;
    frame_by_fp(size);
    __asm__ volatile("");
}

SITE static void realigned(size_t size) /* rsp is rounded, and then moved by a variable amount */
{
    _Alignas(128) char wide[128];
    char *room = alloca(size);

    keep(wide);
    keep(room);
    site_leaf();
    keep(wide);
}

__attribute__((noreturn)) SITE static void never_returns(void)
{
    site_leaf();
    exit(0); /* the return address of this call is the next function's first byte
              */
}

/* push rbp; mov rbp, rsp | sub rsp, 8;  mov edi, 10; mov rax, malloc; call rax;
 * pop rbp | add */
static const unsigned char jit_head[2][4] = {{0x55, 0x48, 0x89, 0xe5}, {0x48, 0x83, 0xec, 8}};

SITE static void run_jit(int frameless)
{
    unsigned char *code =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned char *at = code;
    void *(*target)(size_t) = malloc;

    CHECK(code != MAP_FAILED);
    memcpy(at, jit_head[frameless], 4);
    at += 4;
    memcpy(at, "\xbf\x0a\0\0\0\x48\xb8", 7);
    at += 7;
    memcpy(at, &target, 8);
    at += 8;
    memcpy(at, "\xff\xd0", 2);
    at += 2;
    memcpy(at, frameless ? "\x48\x83\xc4\x08\xc3" : "\x5d\xc3\xcc\xcc\xcc", 5);
    for (int i = 0; i < 10; i++)
        keep(((void *(*)(void))code)());
}

SITE static void run_jit_frameless(void)
{
    run_jit(1);
    __asm__ volatile("");
}

__asm__(".text\n"
        ".type asm_with_cfi,@function\n"
        "asm_with_cfi:\n"
        "  .cfi_startproc\n"
        "  sub $24, %rsp\n"
        "  .cfi_adjust_cfa_offset 24\n"
        "  mov $10, %edi\n"
        "  call malloc@PLT\n"
        "  add $24, %rsp\n"
        "  .cfi_adjust_cfa_offset -24\n"
        "  ret\n"
        "  .cfi_endproc\n"
        ".size asm_with_cfi, .-asm_with_cfi\n");

/* Calls its argument with another argument on a stack of unknown alignment. */
#define BY_REGISTER(reg)                                                                           \
    void asm_by_##reg(void (*inner)(void *), void *argument);                                      \
    __asm__(".text\n"                                                                              \
            ".type asm_by_" #reg ",@function\n"                                                    \
            "asm_by_" #reg ":\n"                                                                   \
            "  .cfi_startproc\n"                                                                   \
            "  push %" #reg "\n"                                                                   \
            "  .cfi_adjust_cfa_offset 8\n"                                                         \
            "  .cfi_rel_offset %" #reg ", 0\n"                                                     \
            "  mov %rsp, %" #reg "\n"                                                              \
            "  .cfi_def_cfa_register %" #reg "\n"                                                  \
            "  and $-64, %rsp\n"                                                                   \
            "  mov %rdi, %rax\n"                                                                   \
            "  mov %rsi, %rdi\n"                                                                   \
            "  call *%rax\n"                                                                       \
            "  mov %" #reg ", %rsp\n"                                                              \
            "  .cfi_def_cfa_register %rsp\n"                                                       \
            "  pop %" #reg "\n"                                                                    \
            "  .cfi_adjust_cfa_offset -8\n"                                                        \
            "  .cfi_restore %" #reg "\n"                                                           \
            "  ret\n"                                                                              \
            "  .cfi_endproc\n"                                                                     \
            ".size asm_by_" #reg ", .-asm_by_" #reg "\n")
BY_REGISTER(rbx);
BY_REGISTER(r13);
BY_REGISTER(r15);

SITE static void passes_through(void *unused)
{
    keep(unused);
    site_leaf();
    __asm__ volatile("");
}

SITE static void uses_registers(void *inner)
{
    __asm__ volatile("mov $77, %%rbx\n mov $78, %%r13\n mov $79, %%r15" : : : "rbx", "r13", "r15");
    if (inner)
        ((void (*)(void *))inner)(NULL);
    else
        site_leaf();
    __asm__ volatile("");
}

SITE static void uses_registers_too(void *unused)
{
    asm_by_r15(uses_registers, unused);
    __asm__ volatile("");
}

/* An indirect function is chosen amid the binding of its first call. */
SITE static void call_bound(void)
{
    char path[4096];

    snprintf(path, sizeof(path), "%s/libbinding.so", getenv("PROGRAMS"));
    for (int i = 0; i < 20; i++) {
        void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
        void (*call)(void) = (void (*)(void))(library ? dlsym(library, "binding_call") : NULL);

        CHECK(call);
        call();
        dlclose(library);
    }
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "garbage_fp";

    if (!strcmp(kind, "no_cfi"))
        for (int i = 0; i < 10; i++)
            keep(asm_without_cfi());
    if (!strcmp(kind, "garbage_fp"))
        for (size_t i = 0; i < 100; i++)
            garbage_fp_too(16 * (i % 7));
    if (!strcmp(kind, "realigned"))
        for (size_t i = 0; i < 10; i++)
            realigned(16 * i);
    if (!strcmp(kind, "jit")) {
        run_jit(0);
        run_jit_frameless();
    }
    if (!strcmp(kind, "asm"))
        for (int i = 0; i < 10; i++)
            keep(asm_with_cfi());
    if (!strcmp(kind, "saved"))
        for (int i = 0; i < 10; i++) {
            asm_by_rbx(uses_registers, NULL);
            asm_by_r13(uses_registers, (void *)passes_through);
            asm_by_rbx(uses_registers_too, NULL);
        }
    if (!strcmp(kind, "binding"))
        call_bound();
    if (!strcmp(kind, "noreturn"))
        never_returns();
    return 0;
}
