// SPDX-License-Identifier: Apache-2.0
/*
 * A sandbox that looks at madvise's advice, as OpenSSH's does: what malloc itself gives is allowed,
 * any other ends the process. Blocks far from all others are taken inside, so that the recorder
 * maps more (the oracle would not survive it). With "always" for huge pages it cannot do without:
 * skipped.
 *
 *   //! site site_far count=4 bytes=419430400 live_count=0
 *   //! no-oracle
 */
#include "trap.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>

static const unsigned allowed[] = {MADV_NORMAL, MADV_DONTNEED, MADV_FREE};
enum { ALLOWED = sizeof(allowed) / sizeof(allowed[0]) };

static int huge_pages_always(void)
{
    char text[64] = "";
    int fd = open("/sys/kernel/mm/transparent_hugepage/enabled", O_RDONLY);

    if (fd < 0)
        return 0;
    CHECK(read(fd, text, sizeof(text) - 1) > 0);
    close(fd);
    return strstr(text, "[always]") != NULL;
}

static void close_the_door(void)
{
    struct sock_filter code[ALLOWED + 5];
    struct sock_fprog program = {ALLOWED + 5, code};
    int n = 0;

    code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0);
    code[n++] =
        (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, ALLOWED + 2);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                             offsetof(struct seccomp_data, args[2]));
    for (int i = 0; i < ALLOWED; i++)
        code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[i],
                                                 (unsigned char)(ALLOWED - i), 0);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    program.len = (unsigned short)n;
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0)
        exit(77);
}

SITE static void site_far(void)
{
    void *blocks[4];

    for (int i = 0; i < 4; i++)
        keep(blocks[i] = malloc(100 << 20));
    for (int i = 0; i < 4; i++)
        free(blocks[i]);
}

int main(void)
{
    if (huge_pages_always())
        exit(77);
    close_the_door();
    site_far();
    return 0;
}
