// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { focusOf } from './flame/keys';
import { changeRoute, compareView, DEFAULT_ROUTE, flameView, formatRoute } from './route';
import { fromCompareView, parseRoute } from './route';
import type { Route } from './route';

const FULL: Route = {
    process: 7,
    from: 1795983215795262,
    to: 1795983230796843,
    last: null,
    view: 'functions',
    show: 'change',
    whole: true,
    moment: 1795983220000001,
    window: 'a&b=c #1',
    metric: 'temporary',
    granularity: 'line',
    inverted: true,
    bottom: true,
    search: '/std::.*<int>/',
    filter: 'lib%20x|ü',
    focus: 0,
    by: 'total',
    top: 20,
    pins: { function: [4, 0], line: [12] },
    chart: 'none',
    before: 2,
    beforeAt: 'end',
    after: 3,
    afterAt: 1795983216000000,
    compareFocus: -15,
    theme: 'dark',
};

describe('the URL', () => {
    it('brings every member back', () => {
        expect(parseRoute(`#${formatRoute(FULL)}`)).toEqual(FULL);
    });

    it('is empty for the defaults, and the defaults are what an empty one means', () => {
        expect(formatRoute(DEFAULT_ROUTE)).toBe('');
        expect(parseRoute('')).toEqual(DEFAULT_ROUTE);
        expect(parseRoute('#')).toEqual(DEFAULT_ROUTE);
    });

    it('has the names that links in the wild use', () => {
        const r = parseRoute('#p=1&from=10&to=20&view=compare&g=line&pin=3,4');
        expect(r).toEqual({
            ...DEFAULT_ROUTE,
            process: 1,
            from: 10,
            to: 20,
            view: 'compare',
            granularity: 'line',
            pins: { function: [3, 4], line: [] },
        });
    });

    it('keeps a sliding interval apart from a fixed one', () => {
        const sliding = parseRoute('#last=60000000&from=1&to=2');
        expect([sliding.last, sliding.from, sliding.to]).toEqual([60000000, null, null]);
        expect(formatRoute({ ...DEFAULT_ROUTE, last: 5, from: 1, to: 2 })).toBe('last=5');
    });

    it('turns an interval that is the wrong way round', () => {
        const r = parseRoute('#from=20&to=10');
        expect([r.from, r.to]).toEqual([10, 20]);
    });

    it('falls back to the default for what cannot be read', () => {
        const bad =
            '#p=-1&from=1e3&to=99999999999999999999&view=x&metric=y&top=0&pin=a,,5,5&theme=pink&at=1';
        expect(parseRoute(bad)).toEqual({
            ...DEFAULT_ROUTE,
            top: 1,
            pins: { function: [5], line: [] },
        });
    });
});

describe('a change of the route', () => {
    it('forgets times, labels and windows of another process', () => {
        const next = changeRoute(FULL, { process: 8 }, true);
        expect(next).toMatchObject({
            process: 8,
            from: null,
            to: null,
            moment: null,
            window: null,
            focus: null,
            pins: { function: [], line: [] },
            metric: 'temporary',
            view: 'functions',
        });
    });

    it('keeps what the change itself names', () => {
        expect(changeRoute(FULL, { process: 8, moment: 5 }, true).moment).toBe(5);
    });

    it('drops a focus with its granularity, since labels are numbered for each', () => {
        expect(changeRoute(FULL, { granularity: 'function' }, false).focus).toBe(null);
        expect(changeRoute(FULL, { metric: 'overhead' }, false).focus).toBe(0);
    });
});

describe('the function in the middle of a comparison', () => {
    // Labels 3 and 5: one of the later process, one that only the earlier one has.
    const later = { ...FULL, compareFocus: 3 };
    const earlier = parseRoute('#compare-focus=before-5');

    it('is in the URL', () => {
        expect(parseRoute('#compare-focus=3').compareFocus).toBe(3);
        expect(formatRoute(earlier)).toBe('compare-focus=before-5');
        expect(focusOf(earlier.compareFocus!)).toEqual({ focus_before: 5 });
        expect(focusOf(3)).toEqual({ focus: 3 });
        for (const bad of ['', 'before-', '-3', 'x', 'before-before-1']) {
            expect(parseRoute(`#compare-focus=${bad}`).compareFocus).toBe(null);
        }
    });

    it('goes with the process whose label it is', () => {
        expect(changeRoute(later, { before: 9 }, false).compareFocus).toBe(3);
        expect(changeRoute(later, { after: 9 }, false).compareFocus).toBe(null);
        expect(changeRoute(later, { afterAt: 'peak' }, false).compareFocus).toBe(3);
        expect(changeRoute(later, { process: 9 }, true).compareFocus).toBe(3);
        const own = { ...earlier, before: null };
        expect(changeRoute(own, { process: 9 }, true).compareFocus).toBe(null);
        expect(changeRoute({ ...earlier, before: 2 }, { before: 4 }, false).compareFocus).toBe(null);
        expect(changeRoute(later, { after: 9, compareFocus: 4 }, false).compareFocus).toBe(4);
    });
});

describe('views of the panels', () => {
    it('are parts of the route', () => {
        expect(flameView(FULL)).toEqual({
            show: 'change',
            whole: true,
            metric: 'temporary',
            granularity: 'line',
            inverted: true,
            bottom: true,
            search: '/std::.*<int>/',
            filter: 'lib%20x|ü',
            focus: 0,
        });
    });

    it('go there and back for the comparison', () => {
        const view = compareView(FULL);
        expect(view).toMatchObject({ id: 2, at: 'end', id2: 3, focus: -15 });
        const route = { ...DEFAULT_ROUTE, ...fromCompareView(view) };
        expect(compareView(route)).toEqual(view);
        expect(fromCompareView({ id: null })).toEqual({ before: null });
        expect(fromCompareView({ focus: null })).toEqual({ compareFocus: null });
        expect(fromCompareView({ metric: 'overhead' })).toEqual({ metric: 'overhead' });
    });
});
