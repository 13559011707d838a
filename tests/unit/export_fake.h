// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "export/view.h"

/*
 * A profile, its labels and its symbolizer made by hand, behind the functions of profile.h,
 * labels.h and symbol.h: tests of the exporters link this in place of the real ones, so that they
 * know each figure. There is one, global.
 */

/* The small one: every figure in the tests is computed from the table in export_fake.c. */
void fake_small(void);
/* The same without any stack or snapshot value. */
void fake_empty(void);
/* `stacks` different stacks of `depth` frames over 1,000 functions; stack i has i + 1 bytes live.
 */
void fake_large(unsigned stacks, unsigned depth);
void fake_done(void);

/* Never NULL; the fake needs no contents. */
const Profile *fake_profile(void);
const Labels *fake_labels(void);
Symbolizer *fake_symbolizer(void);

#define FAKE_START_NS UINT64_C(1000000000000000000)
#define FAKE_PEAK_NS  (FAKE_START_NS + UINT64_C(2000000000))
#define FAKE_LAST_NS  (FAKE_START_NS + UINT64_C(5500000000))

/* A View of the small one at the peak (2 s), at the end (5.5 s), or of what lies between. */
void fake_view(ViewOptions options, View *ret_view);
