// SPDX-License-Identifier: Apache-2.0
//
// Fills the signals of state.ts from the server and keeps them fresh by its event stream.
//
// The stream is opened again after a pause when it breaks (EventSource gives up by itself on an
// HTTP error, so the page does the retrying); whatever may have been missed is loaded anew on each
// `hello`. Snapshots that arrive while a timeline is loading wait and are appended to it. A
// snapshot costs the append of one column; panels that ask the server again are paced by PACE_MS.

import { batch, effect } from '@preact/signals';
import { api, ApiError, eventsUrl, isAbort } from './api';
import type { LiveEvents, Process, SnapshotEvent } from './api';
import * as state from './state';
import { append, columnsOf } from './timeline/columns';

const PACE_MS = 300;
const RETRY_MS = [500, 1000, 2000, 4000, 5000];
/** This many failures in a row: the server is gone, not just slow. */
const GONE_AFTER = 3;
const SPARKLINE = 60;
const UNREAD_MS = 2000;
const UNREAD_PACE_MS = 5000;
const DETAIL_MS = 3000;
export const POINTS = 1000;

let waiting: SnapshotEvent[] | null = null; // snapshots of the process whose timeline is loading
let loading: AbortController | null = null;

function asApiError(error: unknown): ApiError {
    return error instanceof ApiError ? error : new ApiError(0, 'internal', String(error));
}

async function loadList(): Promise<void> {
    try {
        const list = await api.processes();
        batch(() => {
            state.processList.value = list;
            state.listError.value = null;
        });
    } catch (error) {
        state.listError.value = asApiError(error);
    }
}

async function loadDetail(id: number, signal?: AbortSignal): Promise<void> {
    try {
        const detail = await api.process(id, signal);
        if (state.processId.peek() === id) {
            batch(() => {
                if (isReading() && detail.loaded === 1) {
                    state.namesVersion.value++; // all is there: every panel asks again
                }
                state.detail.value = detail;
                state.detailError.value = null;
                state.symbols.value = detail.symbols;
            });
            if (detail.loaded < 1) {
                setTimeout(() => reloadUnread(id), UNREAD_MS);
            }
        }
    } catch (error) {
        if (!isAbort(error)) {
            state.detailError.value = asApiError(error);
        }
    }
}

/**
 * A large file that is still being read: what came meanwhile is shown, too, but seldom: each answer
 * keeps the reader waiting.
 */
function reloadUnread(id: number): void {
    if (state.processId.peek() === id && state.connection.peek() === 'live') {
        void loadList();
        loadProcess();
    }
}

/** The server has not read all of the file yet. */
const isReading = (): boolean => (state.detail.peek()?.loaded ?? 1) < 1;

async function loadTimeline(id: number, signal: AbortSignal): Promise<void> {
    waiting = [];
    try {
        const timeline = await api.timeline(id, { points: POINTS }, signal);
        const columns = waiting.reduce(append, columnsOf(timeline));
        const late = waiting.at(-1)?.time ?? 0;
        batch(() => {
            if (state.bounds.peek() === null || !isReading()) {
                state.snapshotVersion.value++; // else paced by bumpSnapshots()
            }
            state.columns.value = columns;
            state.peak.value = timeline.peak;
            state.bounds.value = { from: timeline.first, to: Math.max(timeline.last, late) };
            state.timelineError.value = null;
        });
        waiting = null;
    } catch (error) {
        if (!isAbort(error)) {
            waiting = null;
            // A run without a snapshot has no timeline yet; its first one loads it.
            const none = error instanceof ApiError && error.code === 'no-snapshot';
            state.timelineError.value = none ? null : asApiError(error);
        }
    }
}

/** Loads the chosen process anew; what is shown stays until the answers are there. */
export function loadProcess(): void {
    loading?.abort();
    const id = state.processId.peek();
    if (id === null) {
        return;
    }
    loading = new AbortController();
    void loadDetail(id, loading.signal);
    if (state.process.peek()?.snapshots !== 0) {
        void loadTimeline(id, loading.signal); // before the first snapshot there is none
    }
}

/** The row of the list after a snapshot. Its sparkline is evenly spaced: it moves at its end. */
export function withSnapshot(row: Process, event: SnapshotEvent): Process {
    const sparkline = [...row.sparkline];
    const share = Math.max(event.time - row.start, 1) / SPARKLINE;
    if (sparkline.length < 2 || event.time - row.last >= share) {
        sparkline.push(event.live_bytes);
    } else {
        sparkline[sparkline.length - 1] = event.live_bytes;
    }
    return {
        ...row,
        last: Math.max(row.last, event.time),
        live_bytes: event.live_bytes,
        peak_bytes: Math.max(row.peak_bytes, event.live_bytes),
        snapshots: event.snapshots,
        sparkline: sparkline.slice(-SPARKLINE),
    };
}

let detailAt = 0;
/** Marks, modules and losses of a running program, which no event tells. */
function refreshDetail(): void {
    const id = state.processId.peek();
    if (id !== null && performance.now() - detailAt > DETAIL_MS) {
        detailAt = performance.now();
        void loadDetail(id);
    }
}

let pace: ReturnType<typeof setTimeout> | null = null;
function bumpSnapshots(): void {
    pace ??= setTimeout(
        () => {
            pace = null;
            state.snapshotVersion.value++;
            refreshDetail();
        },
        isReading() ? UNREAD_PACE_MS : PACE_MS,
    );
}

function onSnapshot(event: SnapshotEvent): void {
    batch(() => {
        const list = state.processList.peek();
        if (list) {
            const processes = list.processes.map((p) =>
                p.id === event.id ? withSnapshot(p, event) : p,
            );
            state.processList.value = { ...list, processes };
        }
        if (event.id !== state.processId.peek()) {
            return;
        }
        if (waiting) {
            waiting.push(event);
            return;
        }
        const columns = state.columns.peek();
        const bounds = state.bounds.peek();
        if (!columns || !bounds) {
            loadProcess();
            return;
        }
        state.columns.value = append(columns, event);
        state.bounds.value = { from: bounds.from, to: Math.max(bounds.to, event.time) };
        const peak = state.peak.peek();
        if (!peak || event.live_bytes > peak.live_bytes) {
            state.peak.value = { time: event.time, live_bytes: event.live_bytes };
        }
        bumpSnapshots();
    });
}

function onSymbols(event: LiveEvents['symbols']): void {
    if (event.id === state.processId.peek()) {
        batch(() => {
            state.symbols.value = { done: event.done, total: event.total };
            state.namesVersion.value++;
        });
        if (event.done >= event.total) {
            void loadDetail(event.id);
        }
    }
}

function onTrouble(event: LiveEvents['trouble']): void {
    if (event.id === state.processId.peek()) {
        batch(() => {
            state.trouble.value = event.message;
            state.namesVersion.value++;
        });
        loadProcess();
    }
    void loadList();
}

function onEnded(event: LiveEvents['ended']): void {
    void loadList();
    if (event.id === state.processId.peek()) {
        loadProcess();
    }
}

function onHello(again: boolean): void {
    state.connection.value = 'live';
    void loadList();
    if (again) {
        state.namesVersion.value++;
        loadProcess();
    }
}

let stream: EventSource | null = null;
let failures = 0;
let everConnected = false;

function connect(): void {
    stream?.close();
    const source = new EventSource(eventsUrl());
    stream = source;
    const on = <K extends keyof LiveEvents>(name: K, act: (data: LiveEvents[K]) => void): void =>
        source.addEventListener(name, (message) =>
            act(JSON.parse((message as MessageEvent<string>).data) as LiveEvents[K]),
        );
    on('hello', () => {
        failures = 0;
        onHello(everConnected);
        everConnected = true;
    });
    on('processes', () => void loadList());
    on('snapshot', onSnapshot);
    on('symbols', onSymbols);
    on('ended', onEnded);
    on('trouble', onTrouble);
    source.onerror = () => {
        source.close();
        failures++;
        state.connection.value = failures >= GONE_AFTER ? 'gone' : 'lost';
        setTimeout(connect, RETRY_MS[Math.min(failures, RETRY_MS.length) - 1]);
    };
}

/** At once, instead of at the end of the pause. */
export function reconnect(): void {
    failures = 0;
    state.connection.value = 'lost';
    connect();
}

/** Starts it all; called once. */
export function startLive(): void {
    void loadList();
    connect();
    effect(() => {
        if (state.processId.value !== null) {
            state.forgetProcess();
            loadProcess();
        }
    });
    // A page that the browser keeps for "back" gives its connection back meanwhile.
    addEventListener('pagehide', () => stream?.close());
    addEventListener('pageshow', (event) => {
        if (event.persisted) {
            reconnect();
        }
    });
}
