// SPDX-License-Identifier: Apache-2.0
//
// What a change of the flame graph's view does to the URL: typing does not fill the history.

import type { FlameView } from '../panels';
import { go } from '../state';

export function goFlame(change: Partial<FlameView>): void {
    const typed = Object.keys(change).every((name) => name === 'search' || name === 'filter');
    go(change, typed ? 'replace' : 'push');
}
