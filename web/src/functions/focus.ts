// SPDX-License-Identifier: Apache-2.0
//
// What the chart and the table of functions share while the pointer is over one of them.

import { signal } from '@preact/signals';

/** Index of the layer under the pointer; -1: none. */
export const focused = signal(-1);
/** Index of the column under the pointer; null: the pointer is elsewhere. */
export const cursorIndex = signal<number | null>(null);
