// SPDX-License-Identifier: Apache-2.0
//
// The line above the graphs: the total in figures, and what a search has found.

import type { JSX } from 'preact';
import type { FlameAnswer } from '../api';
import { amount, count, share } from '../format';
import { summaryOf } from './request';
import type { Matches, Wanted } from './search';

export function SummaryLine({ answer, start, highest, found, wanted, onClear }: {
    answer: FlameAnswer;
    start: number;
    /** The exact peak of the run, where the answer is its composition. */
    highest: number | null;
    found: (Matches | null)[];
    wanted: Wanted | null;
    onClear(): void;
}): JSX.Element {
    const { text, title, note } = summaryOf(answer, start, highest);
    const totals = answer.totals[answer.metric];
    return (
        <p class="flame-summary" role="status">
            <strong data-totals={totals.join(' ')} title={title}>{text}</strong>
            <span class="soft">{note}</span>
            {wanted && found.some((one) => one !== null) && (
                <span class="flame-found">
                    {found.map((one, at) => {
                        const side = answer.sides[at]!;
                        const sum = one?.sums[at] ?? 0;
                        const word = side === 'value' || found.length === 1 ? '' : `${side} `;
                        const part = share(sum, totals[at] ?? 0);
                        const hits = one?.count ?? 0;
                        const nodes = hits === 1 ? '1 node' : `${count(hits)} nodes`;
                        return (
                            <span key={side} data-value={sum}>
                                {`${nodes}: ${word}${amount(sum, answer.unit)}, ${part}`}
                            </span>
                        );
                    })}
                    <button type="button" onClick={onClear}>
                        Clear
                    </button>
                </span>
            )}
        </p>
    );
}
