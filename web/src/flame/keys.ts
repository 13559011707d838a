// SPDX-License-Identifier: Apache-2.0
//
// What names a label across answers, as one number: its id; in a comparison a label that only the
// earlier process has is written below zero, apart from the codes of special nodes. Pure.

import type { CompareOptions, Labels } from '../api';

const EARLIER = -10;

/** From the label of one process to that of the other: what a key becomes when the two swap. */
export function swapKey(key: number): number {
    return EARLIER - key;
}

export function keyOfLabel(labels: Labels, at: number): number {
    const id = labels.id[at] ?? -1;
    const before = labels.id_before?.[at] ?? -1;
    return id >= 0 || before < 0 ? id : swapKey(before);
}

/** Where the label with that key is; -1: it is not there. */
export function labelWithKey(labels: Labels, key: number): number {
    return key >= 0
        ? labels.id.indexOf(key)
        : (labels.id_before?.findIndex((id) => swapKey(id) === key) ?? -1);
}

/** Whether it is a label of the earlier process. */
export function isEarlier(key: number): boolean {
    return key <= EARLIER;
}

/** As `compare` wants it. */
export function focusOf(key: number): Pick<CompareOptions, 'focus' | 'focus_before'> {
    return isEarlier(key) ? { focus_before: swapKey(key) } : { focus: key };
}
