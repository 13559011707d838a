// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { DEFAULT_ROUTE } from './route';
import type { Route } from './route';
import type { Process } from './api';
import { adopt, isMoving, resolveSpan, selectionOf } from './state';

const RUN = { from: 1000, to: 5000 };
const route = (change: Partial<Route>): Route => ({ ...DEFAULT_ROUTE, ...change });

describe('what a new snapshot changes', () => {
    const fixed = { from: 1, to: 2 };
    it.each<[string, Partial<Route>, boolean]>([
        ['the peak of the run', {}, true],
        ['the peak of an interval', fixed, false],
        ['an open interval', { from: 1 }, true],
        ['the end', { ...fixed, show: 'moment' }, true],
        ['a moment', { show: 'moment', moment: 5 }, false],
        ['windows', { ...fixed, view: 'windows' }, true],
        ['a comparison with the end, whatever the interval', { ...fixed, view: 'compare' }, true],
        ['one of two times', { view: 'compare', beforeAt: 1, afterAt: 2 }, false],
        ['one with the peak', { ...fixed, view: 'compare', beforeAt: 1, afterAt: 'peak' }, true],
    ])('%s', (_name, change, moving) => {
        expect(isMoving(route(change))).toBe(moving);
    });
});

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

describe('the process where the URL names none', () => {
    const one = (id: number, state: string, parent_id: number | null = null) =>
        ({ id, state, parent_id, start: 1000 - id }) as Process;
    const old = one(900, 'ended');
    const gone = one(800, 'gone');

    it('is the first where none runs', () => {
        expect(adopt([], null, true)).toBeNull();
        expect(adopt([old, gone], null, true)).toEqual({ id: 900, live: false });
    });

    it('is the program that was started last, not its children', () => {
        const list = [old, one(500, 'running'), one(400, 'running'), one(300, 'running', 400)];
        expect(adopt(list, null, true)).toEqual({ id: 400, live: true });
        expect(adopt([old, one(300, 'running', 900)], null, true)?.id).toBe(300);
    });

    it('stays when it ends or another one starts', () => {
        const before = { id: 500, live: true };
        expect(adopt([old, one(500, 'ended'), one(400, 'running')], before, true)).toBe(before);
        expect(adopt([old], before, true)).toEqual({ id: 900, live: false });
    });

    it('gives way only while nothing was asked of an old one', () => {
        const before = { id: 900, live: false };
        expect(adopt([old, one(400, 'running')], before, false)).toBe(before);
        expect(adopt([old, one(400, 'running')], before, true)).toEqual({ id: 400, live: true });
        expect(adopt([old, gone], before, true)).toBe(before);
    });
});
