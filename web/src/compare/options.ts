// SPDX-License-Identifier: Apache-2.0
//
// What is compared with what, and the words for it. Pure.

import type { CompareAnswer, CompareOptions, CompareRow, Moment, Process } from '../api';
import { amount, COUNT_OF, counted, share, signed } from '../format';
import type { CompareView, Interval } from '../panels';

export function optionsOf(view: CompareView, page: Process): CompareOptions {
    return {
        id: view.id ?? page.id,
        at: view.at,
        id2: view.id2 ?? page.id,
        at2: view.at2,
        metric: view.metric,
        inverted: view.inverted,
    };
}

/** Values of the picker of moments: a word, an end of the interval, or a time of one's own. */
export type Pick = 'peak' | 'end' | 'from' | 'to' | 'time';

export function pickOf(at: Moment, interval: Interval | null): Pick {
    if (at === 'peak' || at === 'end') {
        return at;
    }
    return at === interval?.from ? 'from' : at === interval?.to ? 'to' : 'time';
}

export function processText(process: Process): string {
    return `${process.name} (${process.pid})`;
}

export interface CompareSummary {
    text: string;
    /** The change of the count, and in percent of what was before. */
    note: string;
}

export function compareSummary(answer: CompareAnswer): CompareSummary {
    const { unit, metric, totals } = answer;
    const [before = 0, after = 0] = totals[metric];
    const change = after - before;
    const counts = COUNT_OF[metric];
    const [had = 0, has = 0] = counts ? totals[counts] : [];
    const blocks = counts
        ? `${counted(had, counts)} → ${counted(has, counts)} = ${signed(has - had, 'count')}`
        : '';
    const percent = before > 0 ? `${change > 0 ? '+' : ''}${share(change, before)}` : '';
    return {
        text: `${amount(before, unit)} → ${amount(after, unit)} = ${signed(change, unit)}`,
        note: [blocks, percent].filter(Boolean).join(' · '),
    };
}

/** The frame to name a row by: the first that differs, or else the leaf. */
export function headFrame(row: CompareRow): number {
    return row.frames[row.differs ?? 0] ?? -1;
}

export function changePercent(row: CompareRow): string {
    if (row.kind === 'new' || row.kind === 'gone') {
        return '';
    }
    return `${row.change > 0 ? '+' : ''}${share(row.change, row.before)}`;
}
