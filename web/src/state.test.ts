// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { DEFAULT_ROUTE } from './route';
import type { Route } from './route';
import { resolveSpan, selectionOf } from './state';

const RUN = { from: 1000, to: 5000 };
const route = (change: Partial<Route>): Route => ({ ...DEFAULT_ROUTE, ...change });

describe('the chosen interval', () => {
    it.each([
        ['nothing chosen', {}, { from: 1000, to: 5000, whole: true, open: true }],
        [
            'both ends',
            { from: 2000, to: 3000 },
            { from: 2000, to: 3000, whole: false, open: false },
        ],
        ['open end', { from: 2000 }, { from: 2000, to: 5000, whole: false, open: true }],
        ['open start', { to: 3000 }, { from: 1000, to: 3000, whole: false, open: false }],
        ['sliding', { last: 1500 }, { from: 3500, to: 5000, whole: false, open: true }],
        ['longer than the run', { last: 9999 }, { from: 1000, to: 5000, whole: false, open: true }],
        ['outside', { from: 1, to: 9999 }, { from: 1000, to: 5000, whole: false, open: false }],
        [
            'all after',
            { from: 7000, to: 8000 },
            { from: 5000, to: 5000, whole: false, open: false },
        ],
    ])('%s', (_name, change, expected) => {
        expect(resolveSpan(route(change), RUN)).toEqual(expected);
    });
});

describe('the selection for downloads', () => {
    const chosen = { from: 2000, to: 3000 };
    it.each<[string, Partial<Route>, typeof chosen | null, object]>([
        ['peak of the run', {}, null, { mode: 'peak', metric: 'live-bytes' }],
        ['peak of the interval', {}, chosen, { mode: 'peak', ...chosen }],
        ['of the run in spite of it', { whole: true }, chosen, { mode: 'peak' }],
        ['moment', { show: 'moment', moment: 2500 }, chosen, { mode: 'moment', at: 2500 }],
        ['the end', { show: 'moment' }, null, { mode: 'moment', at: 'end' }],
        ['change', { show: 'change' }, chosen, { mode: 'between', ...chosen }],
        [
            'cumulative',
            { show: 'total-count' },
            chosen,
            { mode: 'between', metric: 'total-count', ...chosen },
        ],
        [
            'window',
            { view: 'windows', window: 'parse', metric: 'temporary' },
            chosen,
            { mode: 'window', window: 'parse', metric: 'temporary' },
        ],
    ])('%s', (_name, change, interval, expected) => {
        const selection = selectionOf(route(change), interval);
        expect(selection).toEqual({
            metric: 'live-bytes',
            granularity: 'function',
            ...expected,
        });
    });

    it('has a filter only where there is one', () => {
        expect(selectionOf(route({ filter: 'a|b' }), null).filter).toBe('a|b');
        expect('filter' in selectionOf(route({}), null)).toBe(false);
    });
});
