// SPDX-License-Identifier: Apache-2.0
//
// What the server is asked for, by what the user chose. Pure.

import { METRICS } from '../api';
import type { FlameAnswer, Metric, Selection, Side } from '../api';
import { amount, count, COUNT_OF, counted, exact, share, signed, since } from '../format';
import type { FlameView, Interval, Show } from '../panels';

export const SHOW_NAME: Record<Show, string> = {
    peak: 'Peak',
    moment: 'Moment',
    change: 'Added and removed',
    'total-bytes': 'Cumulative bytes',
    'total-count': 'Cumulative count',
    temporary: 'Temporary',
};

export const SHOW_HINT: Record<Show, string> = {
    peak: 'What was live when most was live',
    moment: 'What was live at the chosen moment',
    change: 'What came and what went between two moments',
    'total-bytes': 'All bytes ever allocated, freed or not',
    'total-count': 'All allocations ever made, freed or not',
    temporary: 'Allocations freed at once: what could be saved',
};

/** Metrics that make sense for what is shown; the cumulative shows are one by themselves. */
export function metricsOf(show: Show): readonly Metric[] {
    switch (show) {
        case 'peak':
        case 'moment':
            return METRICS;
        case 'change':
            return ['live-bytes', 'live-count', 'overhead'];
        default:
            return [show];
    }
}

export function metricOfView(view: FlameView): Metric {
    const possible = metricsOf(view.show);
    return possible.includes(view.metric) ? view.metric : possible[0]!;
}

/** A window has no moments; what it left behind may be negative, so it is not drawn. */
export const WINDOW_METRICS: readonly Metric[] = ['total-bytes', 'total-count', 'temporary'];

export const FIRST_LIMIT = 4000;
const HIGHEST_LIMIT = 250000;

/** What asks for more nodes; undefined where the server gives no more. */
export function moreNodes(
    limit: number, setLimit: (limit: number) => void,
): (() => void) | undefined {
    return limit < HIGHEST_LIMIT
        ? () => setLimit(Math.min(limit * 4, HIGHEST_LIMIT))
        : undefined;
}

export interface Chosen {
    view: FlameView;
    interval: Interval | null;
    moment: number | null;
    window: string | null;
}

export function selectionFor({ view, interval, moment, window }: Chosen): Selection {
    const common: Selection = { granularity: view.granularity };
    if (view.filter !== '') {
        common.filter = view.filter;
    }
    if (window !== null) {
        const metric = WINDOW_METRICS.includes(view.metric) ? view.metric : 'total-bytes';
        return { ...common, mode: 'window', window, metric };
    }
    const metric = metricOfView(view);
    if (view.show === 'moment') {
        return { ...common, mode: 'moment', at: moment ?? 'end', metric };
    }
    const span = view.whole || interval === null ? {} : { from: interval.from, to: interval.to };
    return { ...common, mode: view.show === 'peak' ? 'peak' : 'between', ...span, metric };
}

/** Sides whose graphs are drawn: of cumulative values nothing is ever removed. */
export function sidesOf(answer: FlameAnswer): { index: number; side: Side }[] {
    const all = answer.sides.map((side, index) => ({ index, side }));
    const cumulative = !['live-bytes', 'live-count', 'overhead'].includes(answer.metric);
    return answer.mode === 'between' && cumulative ? all.slice(0, 1) : all;
}

/** The figures above the graphs; `title` has them to the last digit. */
export interface Summary {
    text: string;
    title: string;
    note: string;
}

/** "added 12.3 MiB − removed 4.1 MiB = +8.2 MiB" and what was live at both ends. */
function changeSummary(answer: FlameAnswer): Summary {
    const { unit, metric, totals, state } = answer;
    const [added = 0, removed = 0] = totals[metric];
    const sentence = (write: typeof amount): string =>
        `added ${write(added, unit)} − removed ${write(removed, unit)} = ` +
        (added > removed ? '+' : '') + write(added - removed, unit);
    const notes: string[] = [];
    if (state) {
        const ends = `${amount(state.from[metric], unit)} → ${amount(state.to[metric], unit)}`;
        notes.push(`${metric === 'overhead' ? 'overhead' : 'live'}: ${ends}`);
    }
    const blocks = COUNT_OF[metric] && totals[COUNT_OF[metric]];
    if (blocks) {
        const [came = 0, went = 0] = blocks;
        notes.push(`blocks: ${count(came)} − ${count(went)} = ${signed(came - went, 'count')}`);
    }
    return { text: sentence(amount), title: sentence(exact), note: notes.join(' · ') };
}

/**
 * The recorder knows the highest sum exactly; what it consisted of was kept at a snapshot that may lie
 * a little lower. Empty where they agree to a thousandth.
 */
function keptNote(value: number, highest: number | null): string {
    if (highest === null || value >= highest * 0.999) {
        return '';
    }
    return `kept at ${share(value, highest)} of the highest, ${amount(highest, 'bytes')}`;
}

/** `highest`: the exact peak, in bytes, where the answer is the composition of the whole run's. */
export function summaryOf(answer: FlameAnswer, start: number, highest: number | null = null): Summary {
    const { unit, metric, totals, mode, at, from, to } = answer;
    const span = from !== null && to !== null && mode === 'between'
        ? `${since(from, start)} to ${since(to, start)}` : '';
    const sides = sidesOf(answer);
    if (sides.length === 2) {
        const summary = changeSummary(answer);
        return { ...summary, note: [summary.note, span].filter(Boolean).join(' · ') };
    }
    const value = totals[metric][0] ?? 0;
    const text = unit === 'bytes' ? amount(value, unit) : counted(value, metric);
    const counts = COUNT_OF[metric];
    const blocks = counts ? counted(totals[counts][0] ?? 0, counts) : '';
    const moment = at !== null && (mode === 'peak' || mode === 'moment') ? since(at, start) : '';
    const where = mode === 'peak' ? `at the peak, ${moment}` : moment && `at ${moment}`;
    const stacks = `${count(answer.stacks)} ${answer.stacks === 1 ? 'stack' : 'stacks'}`;
    const notes = [blocks, where, keptNote(value, highest), span, stacks];
    return { text, title: exact(value, unit), note: notes.filter(Boolean).join(' · ') };
}

/** What an empty graph means. */
export function emptyText(answer: FlameAnswer, side: Side, filter: string): string {
    if (filter !== '') {
        return 'No stack with such a function or module.';
    }
    if (side === 'added' || side === 'removed') {
        const cumulative = sidesOf(answer).length === 1;
        return cumulative ? 'Nothing in this interval.' : `Nothing was ${side} in this interval.`;
    }
    return answer.mode === 'window'
        ? 'This window allocated nothing.'
        : 'Nothing of this was there at that moment.';
}
