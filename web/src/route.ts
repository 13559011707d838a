// SPDX-License-Identifier: Apache-2.0
//
// What the page shows, as the URL's hash. Pure: no DOM, no signals. Only what differs from the
// default is written, so that a link stays short; what cannot be read falls back to the default,
// since a link may come from anywhere.

import { METRICS } from './api';
import type { Granularity, Moment } from './api';
import { isEarlier, swapKey } from './flame/keys';
import { DEFAULT_FLAME_VIEW, SHOWS } from './panels';
import type { CompareView, FlameView } from './panels';

export const VIEWS = ['flame', 'functions', 'windows', 'compare', 'process'] as const;
export const THEMES = ['auto', 'light', 'dark'] as const;
export const CHARTS = ['rate', 'count', 'none'] as const;

export type View = (typeof VIEWS)[number];
export type Theme = (typeof THEMES)[number];
export type Chart = (typeof CHARTS)[number];

/** The members of FlameView (metric and granularity among them) are shared by all panels. */
export interface Route extends FlameView {
    /** Process id; null: the first of the list. */
    process: number | null;
    /** Chosen interval in microseconds; null: start, end of the run. */
    from: number | null;
    to: number | null;
    /** Length of an interval that ends at now and slides; from and to are null then. */
    last: number | null;
    view: View;
    /** The chosen moment; null: the end. */
    moment: number | null;
    window: string | null;
    /** By function over time: self or with callees, how many, pinned label ids. */
    by: 'self' | 'total';
    top: number;
    pins: Record<Granularity, number[]>;
    /** Second chart of the timeline. */
    chart: Chart;
    /** The comparison; null: the process of the page. */
    before: number | null;
    beforeAt: Moment;
    after: number | null;
    afterAt: Moment;
    /** Its function whose callers and callees are shown, as flame/keys.ts has it. */
    compareFocus: number | null;
    theme: Theme;
}

export const DEFAULT_ROUTE: Route = {
    ...DEFAULT_FLAME_VIEW,
    process: null,
    from: null,
    to: null,
    last: null,
    view: 'flame',
    moment: null,
    window: null,
    by: 'self',
    top: 10,
    pins: { function: [], line: [] },
    chart: 'rate',
    before: null,
    beforeAt: 'peak',
    after: null,
    afterAt: 'end',
    compareFocus: null,
    theme: 'auto',
};

function oneOf<T extends string>(values: readonly T[], text: string | null, otherwise: T): T {
    return values.find((value) => value === text) ?? otherwise;
}

function wholeNumber(text: string | null): number | null {
    if (text === null || !/^\d{1,16}$/.test(text)) {
        return null;
    }
    const value = Number(text);
    return Number.isSafeInteger(value) ? value : null;
}

function numberList(text: string | null): number[] {
    const numbers = (text ?? '').split(',').map(wholeNumber);
    return [...new Set(numbers.filter((n): n is number => n !== null))].slice(0, 50);
}

function moment(text: string | null, otherwise: Moment): Moment {
    return text === 'end' || text === 'peak' ? text : (wholeNumber(text) ?? otherwise);
}

const EARLIER = 'before-';

/** "12", or "before-12" for a function that only the earlier process has. */
function compareFocus(text: string | null): number | null {
    const earlier = text?.startsWith(EARLIER) ?? false;
    const label = wholeNumber(text?.slice(earlier ? EARLIER.length : 0) ?? null);
    return label !== null && earlier ? swapKey(label) : label;
}

function focusText(key: number | null): string {
    return key === null ? '' : isEarlier(key) ? EARLIER + swapKey(key) : String(key);
}

function parseInterval(q: URLSearchParams): Pick<Route, 'from' | 'to' | 'last'> {
    const last = wholeNumber(q.get('last'));
    if (last !== null) {
        return { from: null, to: null, last };
    }
    const from = wholeNumber(q.get('from'));
    const to = wholeNumber(q.get('to'));
    const swapped = from !== null && to !== null && from > to;
    return { from: swapped ? to : from, to: swapped ? from : to, last: null };
}

function parseFlameView(q: URLSearchParams): FlameView {
    const d = DEFAULT_ROUTE;
    return {
        show: oneOf(SHOWS, q.get('show'), d.show),
        metric: oneOf(METRICS, q.get('metric'), d.metric),
        granularity: oneOf(['function', 'line'], q.get('g'), d.granularity),
        inverted: q.get('inverted') === '1',
        bottom: q.get('bottom') === '1',
        whole: q.get('whole') === '1',
        search: q.get('search') ?? d.search,
        filter: q.get('filter') ?? d.filter,
        focus: wholeNumber(q.get('focus')),
    };
}

export function parseRoute(hash: string): Route {
    const q = new URLSearchParams(hash.replace(/^#/, ''));
    const d = DEFAULT_ROUTE;
    return {
        ...parseFlameView(q),
        ...parseInterval(q),
        process: wholeNumber(q.get('p')),
        view: oneOf(VIEWS, q.get('view'), d.view),
        moment: wholeNumber(q.get('moment')),
        window: q.get('window'),
        by: oneOf(['self', 'total'], q.get('by'), d.by),
        top: Math.min(Math.max(wholeNumber(q.get('top')) ?? d.top, 1), 50),
        pins: { function: numberList(q.get('pin')), line: numberList(q.get('pin-line')) },
        chart: oneOf(CHARTS, q.get('chart'), d.chart),
        before: wholeNumber(q.get('before')),
        beforeAt: moment(q.get('before-at'), d.beforeAt),
        after: wholeNumber(q.get('after')),
        afterAt: moment(q.get('after-at'), d.afterAt),
        compareFocus: compareFocus(q.get('compare-focus')),
        theme: oneOf(THEMES, q.get('theme'), d.theme),
    };
}

type Value = string | number | null;

function entries(route: Route): [name: string, value: Value, otherwise: Value][] {
    const d = DEFAULT_ROUTE;
    return [
        ['p', route.process, null],
        ['from', route.last === null ? route.from : null, null],
        ['to', route.last === null ? route.to : null, null],
        ['last', route.last, null],
        ['view', route.view, d.view],
        ['show', route.show, d.show],
        ['moment', route.moment, null],
        ['window', route.window, null],
        ['metric', route.metric, d.metric],
        ['g', route.granularity, d.granularity],
        ['inverted', route.inverted ? 1 : null, null],
        ['bottom', route.bottom ? 1 : null, null],
        ['whole', route.whole ? 1 : null, null],
        ['search', route.search, d.search],
        ['filter', route.filter, d.filter],
        ['focus', route.focus, null],
        ['by', route.by, d.by],
        ['top', route.top, d.top],
        ['pin', route.pins.function.join(','), ''],
        ['pin-line', route.pins.line.join(','), ''],
        ['chart', route.chart, d.chart],
        ['before', route.before, null],
        ['before-at', route.beforeAt, d.beforeAt],
        ['after', route.after, null],
        ['after-at', route.afterAt, d.afterAt],
        ['compare-focus', focusText(route.compareFocus), ''],
        ['theme', route.theme, d.theme],
    ];
}

/** The hash without its `#`; empty when all is at its default. */
export function formatRoute(route: Route): string {
    const q = new URLSearchParams();
    for (const [name, value, otherwise] of entries(route)) {
        if (value !== null && value !== otherwise) {
            q.set(name, String(value));
        }
    }
    return q.toString();
}

/**
 * The route after a change. Label ids belong to one process and one granularity, times and windows
 * to one process: what no longer means anything is dropped, unless the change itself names it.
 */
export function changeRoute(route: Route, change: Partial<Route>, newProcess: boolean): Route {
    const next = { ...route, ...change };
    if (newProcess) {
        const d = DEFAULT_ROUTE;
        Object.assign(next, {
            from: d.from,
            to: d.to,
            last: d.last,
            moment: d.moment,
            window: d.window,
            focus: d.focus,
            pins: d.pins,
            ...change,
        });
    } else if (next.granularity !== route.granularity && change.focus === undefined) {
        next.focus = null;
    }
    if (route.compareFocus !== null && change.compareFocus === undefined) {
        const side = isEarlier(route.compareFocus) ? 'before' : 'after';
        if (next[side] !== route[side] || (newProcess && next[side] === null)) {
            next.compareFocus = null;
        }
    }
    return next;
}

export function flameView(route: Route): FlameView {
    const { show, metric, granularity, inverted, bottom, whole, search, filter, focus } = route;
    return { show, metric, granularity, inverted, bottom, whole, search, filter, focus };
}

export function compareView(route: Route): CompareView {
    const { metric, inverted, compareFocus: focus } = route;
    const { before: id, beforeAt: at, after: id2, afterAt: at2 } = route;
    return { id, at, id2, at2, metric, inverted, focus };
}

/** The part of the route that a change of the comparison means. */
export function fromCompareView(change: Partial<CompareView>): Partial<Route> {
    const { id, at, id2, at2, focus, ...shared } = change;
    const route: Partial<Route> = { ...shared };
    if (id !== undefined) {
        route.before = id;
    }
    if (at !== undefined) {
        route.beforeAt = at;
    }
    if (id2 !== undefined) {
        route.after = id2;
    }
    if (at2 !== undefined) {
        route.afterAt = at2;
    }
    if (focus !== undefined) {
        route.compareFocus = focus;
    }
    return route;
}
