// SPDX-License-Identifier: Apache-2.0
#pragma once

/* CPU time that a filter may take over the labels of a process, which is locked meanwhile. */
#define FILTER_LIMIT_NS 2000000000ULL
#define FILTER_TOO_SLOW "filter: takes too long on these names: give a simpler one"

/* Why a POSIX extended regular expression of a stranger would cost too much to compile or to run,
 * in some words; NULL: it is fair, or no expression at all, which regcomp() says. No allocation. */
const char *filter_too_dear(const char *filter);
