// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdio.h>

#include "export/export.h"

/*
 * `memhawk report --window NAME --per-iteration`: minimum, median and maximum over the iterations
 * of a window, for all stacks together and for each; stacks that do not occur in all iterations are
 * told. `view` is that of the window (view->window), already filtered; stacks with equal paths of
 * labels are one. 0 or negative errno.
 */
int window_report_text(const View *view, FILE *out);
int window_report_json(const View *view, FILE *out);
