// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

/*
 * Raw system calls for code that runs inside malloc or on the collector's thread: they return a
 * negative errno and never touch errno or any other thread-local storage.
 */

#if defined(__x86_64__)
static inline long sys_call6(long nr, long a, long b, long c, long d, long e, long f)
{
    long ret;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(ret)
                     : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return ret;
}
#else
#error "src/base/sys.h: no system call sequence for this architecture yet"
#endif

#define SYS_CALL_PICK(a, b, c, d, e, f, g, name, ...) name
#define sys_call(...)                                                                              \
    SYS_CALL_PICK(__VA_ARGS__, sys_call_6, sys_call_5, sys_call_4, sys_call_3, sys_call_2,         \
                  sys_call_1, sys_call_0)                                                          \
    (__VA_ARGS__)
#define sys_call_0(n)             sys_call6(n, 0, 0, 0, 0, 0, 0)
#define sys_call_1(n, a)          sys_call6(n, (long)(a), 0, 0, 0, 0, 0)
#define sys_call_2(n, a, b)       sys_call6(n, (long)(a), (long)(b), 0, 0, 0, 0)
#define sys_call_3(n, a, b, c)    sys_call6(n, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define sys_call_4(n, a, b, c, d) sys_call6(n, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define sys_call_5(n, a, b, c, d, e)                                                               \
    sys_call6(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)
#define sys_call_6(n, a, b, c, d, e, f)                                                            \
    sys_call6(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

/* Zeroed private pages, NULL on failure. */
void *sys_map(size_t bytes);
void sys_unmap(void *memory, size_t bytes);
/* Writes all of it, EINTR-proof; 0 or negative errno. */
int sys_write_all(int fd, const void *data, size_t bytes);
/* Reads until full or end; bytes read or negative errno. */
long sys_read_all(int fd, void *data, size_t bytes);
/* Futex on a private word: waits while *word == value (at most timeout_ns, 0: for ever). */
int sys_futex_wait(uint32_t *word, uint32_t value, uint64_t timeout_ns);
int sys_futex_wake(uint32_t *word, int count);
