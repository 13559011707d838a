// SPDX-License-Identifier: Apache-2.0
/*
 * vfork and dlclose.
 *
 * A vfork child runs in its parent's memory while the parent waits. Its allocations pass through
 * uncounted: before the system call the thread is put into bypass (the thread-local words are
 * shared with the child), and the parent takes it back when it resumes. vfork returns twice on one
 * stack, so the function keeps nothing there: the return address waits in rdi, which the kernel
 * preserves.
 *
 * dlclose: the modules are read before and after, so that code of another library at the same
 * address later is known to be other code. dlopen is not interposed, because libc takes the search
 * path from its caller; new modules are noticed at their first frame.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <sys/types.h>
#include <unistd.h>

#include "runtime/real.h"
#include "runtime/runtime.h"
#include "runtime/slow.h"
#include "runtime/thread.h"

static __thread struct {
    Thread *current, *owner;
    unsigned depth; /* a vfork child may vfork again */
} before_vfork __attribute__((tls_model("initial-exec")));

__attribute__((used)) static void vfork_enter(void)
{
    if (before_vfork.depth++ == 0) {
        before_vfork.current = thread_current;
        before_vfork.owner = thread_owner;
    }
    thread_current = &thread_none;
    thread_owner = THREAD_BYPASS;
}

__attribute__((used)) static long vfork_leave(long ret)
{
    if (--before_vfork.depth == 0) {
        thread_owner = before_vfork.owner;
        thread_current = before_vfork.current;
    }
    if (ret >= 0)
        return ret;
    errno = (int)-ret;
    return -1;
}

#if defined(__x86_64__)
EXPORT __attribute__((naked)) pid_t vfork(void)
{
    __asm__ volatile("sub $8, %%rsp\n\t"
                     "call %P0\n\t"
                     "add $8, %%rsp\n\t"
                     "pop %%rdi\n\t"
                     "mov $58, %%eax\n\t" /* vfork */
                     "syscall\n\t"
                     "push %%rdi\n\t"
                     "test %%rax, %%rax\n\t"
                     "jnz 1f\n\t"
                     "ret\n"
                     "1:\n\t"
                     "mov %%rax, %%rdi\n\t"
                     "sub $8, %%rsp\n\t"
                     "call %P1\n\t"
                     "add $8, %%rsp\n\t"
                     "ret"
                     :
                     : "i"(vfork_enter), "i"(vfork_leave)
                     : "memory");
}
#endif

EXPORT int dlclose(void *handle)
{
    slow_boot();
    bool on = atomic_load_explicit(&runtime.mode, memory_order_relaxed) == MODE_ON &&
              runtime.config.unwind != CONFIG_UNWIND_NONE;
    if (on)
        unwind_modules_refresh();
    int ret = real.dlclose(handle);
    int saved_errno = errno;
    if (on)
        unwind_modules_refresh();
    errno = saved_errno;
    return ret;
}
