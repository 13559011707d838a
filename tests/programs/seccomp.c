// SPDX-License-Identifier: Apache-2.0
/*
 * A sandboxed program: after start only a short list of system calls is
 * allowed, for this thread or for all. Others fail with EPERM, or kill. The
 * list is what malloc itself, writing and leaving need, so a recorder has to
 * live on it too.
 *
 *   //! site site_before count=10 bytes=100
 *   //! site site_after count=200000 bytes=25600000 live_count=0
 *   //! site site_many_stacks count=1000 live_count=1000
 *   //! run errno errno
 *   //! run errno_all errno_all
 *   //! run kill kill
 *   //! run kill_all kill_all
 */
#include "trap.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

static const int allowed[] = {
    SYS_read,     SYS_write,         SYS_pwrite64,        SYS_writev,    SYS_close,
    SYS_lseek,    SYS_fstat,         SYS_newfstatat,      SYS_mmap,      SYS_munmap,
    SYS_mprotect, SYS_madvise,       SYS_mremap,          SYS_brk,       SYS_futex,
    SYS_exit,     SYS_exit_group,    SYS_rt_sigreturn,    SYS_gettid,    SYS_rt_sigprocmask,
    SYS_getpid,   SYS_clock_gettime, SYS_clock_nanosleep, SYS_nanosleep, SYS_sched_yield,
};
enum { ALLOWED = sizeof(allowed) / sizeof(allowed[0]) };

static void close_the_door(int verdict, int all_threads)
{
    struct sock_filter code[ALLOWED + 4];
    struct sock_fprog program = {ALLOWED + 3, code};
    int n = 0;

    code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0);
    for (int i = 0; i < ALLOWED; i++)
        code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)allowed[i],
                                                 (unsigned char)(ALLOWED - i), 0);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, (unsigned)verdict);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, all_threads ? SECCOMP_FILTER_FLAG_TSYNC : 0,
                &program) != 0)
        exit(77);
}

SITE static void site_before(void)
{
    for (int i = 0; i < 10; i++)
        keep(malloc(10));
}

SITE static void site_after(void)
{
    static void *ring[10000];

    for (int i = 0; i < 200000; i++) {
        free(ring[i % 10000]);
        ring[i % 10000] = malloc(128);
    }
    for (int i = 0; i < 10000; i++)
        free(ring[i]);
}

SITE static void site_many_stacks(void)
{
    keep(malloc(10));
}

SITE static void even(unsigned path, int depth);

SITE static void odd(unsigned path, int depth)
{
    if (depth == 0)
        site_many_stacks();
    else if (path & 1)
        odd(path / 2, depth - 1);
    else
        even(path / 2, depth - 1);
}

SITE static void even(unsigned path, int depth)
{
    if (depth == 0)
        site_many_stacks();
    else if (path & 1)
        odd(path / 2, depth - 1);
    else
        even(path / 2, depth - 1);
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "errno";

    site_before();
    close_the_door(strncmp(kind, "kill", 4) ? (int)(SECCOMP_RET_ERRNO | EPERM)
                                            : (int)SECCOMP_RET_KILL_PROCESS,
                   strstr(kind, "_all") != NULL);
    site_after();
    for (unsigned i = 0; i < 1000; i++)
        even(i, 10);
    sleep_ms(1200);
    return 0;
}
