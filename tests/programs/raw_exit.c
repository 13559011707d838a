// SPDX-License-Identifier: Apache-2.0
/*
 * The last thread leaves by the bare system call, past libc: the process must end all the same,
 * with the status that it asked for, though the recorder has a thread of its own.
 *
 *   //! run raw raw
 *   //!   status 5
 *   //!   killed
 *   //!   end unknown
 *   //!   site site_before count=10 bytes=1000
 */
#include "trap.h"

#include <sys/syscall.h>

SITE static void site_before(void)
{
    for (int i = 0; i < 10; i++)
        keep(malloc(100));
}

int main(void)
{
    site_before();
    syscall(SYS_exit, 5);
    return 1;
}
