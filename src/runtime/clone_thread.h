// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdint.h>

/*
 * clone(2) of a thread that libc does not know. ENTRY runs on the new stack and never returns to
 * the caller; when it returns, the thread exits. TLS becomes its thread pointer. Returns the thread
 * id, or a negative errno. *child_tid is cleared by the kernel when the thread is gone.
 */
long clone_thread(unsigned long flags, void *stack_top, uint32_t *parent_tid, uint32_t *child_tid,
                  void *tls, void (*entry)(void));
