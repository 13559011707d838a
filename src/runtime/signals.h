// SPDX-License-Identifier: Apache-2.0
#pragma once

/*
 * Puts a handler on the signals that would end the process by default, so that the last snapshot is
 * written. Programs do not see it: the interposed sigaction family shows SIG_DFL in its place.
 */
void signals_start(void);
