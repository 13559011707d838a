// SPDX-License-Identifier: Apache-2.0
//
// The state that all parts of the page share. `route` is what the user chose: it mirrors the URL's
// hash and is changed by go() only, so that back and forward work. What the server says is loaded
// by live.ts into the signals below. Parts of the page read signals and call go().
//
// Times are microseconds since the epoch, as in the API.

import { batch, computed, signal } from '@preact/signals';
import type { ApiError, Process, ProcessDetail, ProcessList, Selection } from './api';
import type { Interval } from './panels';
import { changeRoute, DEFAULT_ROUTE, formatRoute, parseRoute } from './route';
import type { Route } from './route';
import type { Columns } from './timeline/columns';

export const route = signal<Route>(DEFAULT_ROUTE);

/** What `processes` says, kept fresh by the events; null: not loaded yet. */
export const processList = signal<ProcessList | null>(null);
export const listError = signal<ApiError | null>(null);
/** The chosen process in full; null: loading, or there is none. */
export const detail = signal<ProcessDetail | null>(null);
export const detailError = signal<ApiError | null>(null);
export const timelineError = signal<ApiError | null>(null);
/** Columns over the whole run, those that came since loading included; null: loading. */
export const columns = signal<Columns | null>(null);
export const peak = signal<{ time: number; live_bytes: number } | null>(null);
/** First and last snapshot of the chosen process; `last` moves while it runs. */
export const bounds = signal<Interval | null>(null);
/** Names of the chosen process, in frames. */
export const symbols = signal({ done: 0, total: 0 });
/** The last word of the server about the chosen process's file; null: none. */
export const trouble = signal<string | null>(null);

/** `lost`: being opened again. `gone`: memhawk view has ended. */
export type Connection = 'connecting' | 'live' | 'lost' | 'gone';
export const connection = signal<Connection>('connecting');

/** Rises with snapshots of the chosen process, a few times a second at most. */
export const snapshotVersion = signal(0);
/** Rises when names came or the file turned out different. */
export const namesVersion = signal(0);

export interface Adopted {
    id: number;
    /** It ran when it was taken. */
    live: boolean;
}

/**
 * The process to show where the URL names none. Who watches a folder in which old profiles lie
 * wants the program that was started last and runs; without one, the first. What is shown stays
 * when it ends; only from an old one, of which nothing was asked yet, does the page go over to a
 * program that starts.
 */
export function adopt(
    list: readonly Process[],
    before: Adopted | null,
    untouched: boolean,
): Adopted | null {
    const kept = before && list.some((p) => p.id === before.id) ? before : null;
    if (kept && (kept.live || !untouched)) {
        return kept;
    }
    const runs = new Set(list.filter((p) => p.state === 'running').map((p) => p.id));
    const last = list
        .filter((p) => runs.has(p.id) && !(p.parent_id !== null && runs.has(p.parent_id)))
        .reduce<Process | null>((a, p) => (a && a.start > p.start ? a : p), null);
    if (last) {
        return { id: last.id, live: true };
    }
    return kept ?? (list[0] ? { id: list[0].id, live: false } : null);
}

let adopted: Adopted | null = null;

/** Id of the chosen process: that of the URL, or else the one that was adopted. */
export const processId = computed<number | null>(() => {
    const list = processList.value?.processes ?? [];
    const wanted = list.find((p) => p.id === route.value.process);
    if (wanted) {
        return wanted.id;
    }
    adopted = adopt(list, adopted, formatRoute(route.value) === formatRoute(DEFAULT_ROUTE));
    return adopted?.id ?? null;
});
/** Its row of the list: the freshest figures. */
export const process = computed<Process | null>(
    () => processList.value?.processes.find((p) => p.id === processId.value) ?? null,
);
export const running = computed(() => process.value?.state === 'running');

export interface Span extends Interval {
    /** No interval is chosen. */
    whole: boolean;
    /** The end is that of the run: while the program runs it moves. */
    open: boolean;
}

export function resolveSpan(r: Pick<Route, 'from' | 'to' | 'last'>, run: Interval): Span {
    const clamp = (time: number): number => Math.min(Math.max(time, run.from), run.to);
    const to = clamp(r.to ?? run.to);
    const from = r.last !== null ? clamp(run.to - r.last) : Math.min(clamp(r.from ?? run.from), to);
    const whole = r.from === null && r.to === null && r.last === null;
    return { from, to, whole, open: r.to === null };
}

/** The chosen interval with its ends filled in; null: not loaded. */
export const span = computed<Span | null>(() =>
    bounds.value === null ? null : resolveSpan(route.value, bounds.value),
);

/** The same object as before when nothing in it changed, so that nobody draws for nothing. */
function kept<T extends object>(make: () => T | null): () => T | null {
    let last: T | null = null;
    return () => {
        const next = make();
        last = next && last && JSON.stringify(next) === JSON.stringify(last) ? last : next;
        return last;
    };
}

/** As the panels want it: null when the whole run is meant. Follows `snapshotVersion`'s pace. */
export const interval = computed<Interval | null>(
    kept(() => {
        void snapshotVersion.value;
        const r = route.value;
        const fixed = r.last === null && (r.from === null || r.to !== null);
        const run = fixed ? bounds.value : bounds.peek();
        if (run === null || (r.from === null && r.to === null && r.last === null)) {
            return null;
        }
        const { from, to } = resolveSpan(r, run);
        return { from, to };
    }),
);

/** Whether a new snapshot may change what is shown. */
export function isMoving(r: Route): boolean {
    switch (r.view) {
        case 'windows':
            return true;
        case 'compare':
            return [r.beforeAt, r.afterAt].some((at) => typeof at !== 'number');
        default:
            return r.show === 'moment' ? r.moment === null : r.to === null;
    }
}

/** For `revision` of the panels: the answer may have changed though the question did not. */
export const revision = computed(() => {
    const r = route.value;
    return namesVersion.value + (isMoving(r) ? snapshotVersion.value : 0);
});

/** What downloads and the report command are made of, in the API's words. */
export function selectionOf(r: Route, chosen: Interval | null): Selection {
    const s: Selection = { metric: r.metric, granularity: r.granularity };
    if (r.filter !== '') {
        s.filter = r.filter;
    }
    if (r.view === 'windows' && r.window !== null) {
        return { ...s, mode: 'window', window: r.window };
    }
    if (r.show === 'moment') {
        return { ...s, mode: 'moment', at: r.moment ?? 'end' };
    }
    if (chosen !== null && !r.whole) {
        Object.assign(s, { from: chosen.from, to: chosen.to });
    }
    if (r.show === 'peak') {
        return { ...s, mode: 'peak' };
    }
    return { ...s, mode: 'between', metric: r.show === 'change' ? r.metric : r.show };
}
export const selection = computed<Selection>(() => selectionOf(route.value, interval.value));

/** Pinned labels of the current granularity. */
export const pins = computed<number[]>(() => route.value.pins[route.value.granularity]);

/**
 * Changes the route. By default a step of the browser's history; `replace` for what nobody would
 * step back through (typing, arrow keys).
 */
export function go(change: Partial<Route>, how: 'push' | 'replace' = 'push'): void {
    const now = route.peek();
    const other = change.process !== undefined && change.process !== processId.peek();
    const next = changeRoute(now, change, other);
    const hash = formatRoute(next);
    if (hash === formatRoute(now)) {
        return;
    }
    route.value = next;
    const url = `${location.pathname}${location.search}${hash === '' ? '' : `#${hash}`}`;
    history[how === 'push' ? 'pushState' : 'replaceState'](null, '', url);
}

/** Chooses an interval; null ends are those of the run. */
export function chooseInterval(
    from: number | null,
    to: number | null,
    how: 'push' | 'replace' = 'push',
): void {
    go({ from, to, last: null }, how);
}

export function togglePin(label: number): void {
    const { granularity, pins: all } = route.peek();
    const now = all[granularity];
    const next = now.includes(label) ? now.filter((n) => n !== label) : [...now, label];
    go({ pins: { ...all, [granularity]: next } });
}

/** Reads the URL now and whenever the user steps through the history. */
export function watchLocation(): void {
    const read = (): void => {
        route.value = parseRoute(location.hash);
    };
    read();
    addEventListener('popstate', read);
    addEventListener('hashchange', read);
}

export function forgetProcess(): void {
    batch(() => {
        detail.value = null;
        detailError.value = null;
        timelineError.value = null;
        columns.value = null;
        peak.value = null;
        bounds.value = null;
        trouble.value = null;
        symbols.value = { done: 0, total: 0 };
    });
}
