// SPDX-License-Identifier: Apache-2.0
//
// The JSON API of `memhawk view`, as the page uses it: the types of every answer (docs/API.md is
// the contract) and a small client. Times are whole microseconds since the epoch, sizes bytes.
// Every name that comes from here is hostile text: it goes into text nodes or canvas text, never
// into markup.
//
// The client has no state but the token. Who asks owns the AbortController; `useQuery` (query.ts)
// makes sure that an older answer never overwrites a newer one.

export type Metric =
    | 'live-bytes'
    | 'live-count'
    | 'total-bytes'
    | 'total-count'
    | 'temporary'
    | 'overhead';

export const METRICS: readonly Metric[] = [
    'live-bytes',
    'live-count',
    'total-bytes',
    'total-count',
    'temporary',
    'overhead',
];

export type Mode = 'moment' | 'peak' | 'between' | 'window';
export type Granularity = 'function' | 'line';
export type Side = 'value' | 'added' | 'removed' | 'before' | 'after';
export type Unit = 'bytes' | 'count';
export type ProcessState = 'running' | 'ended' | 'gone' | 'unknown';
export type Totals = Record<Metric, number>;

export interface Process {
    id: number;
    name: string;
    pid: number;
    parent: number;
    parent_id: number | null;
    path: string;
    start: number;
    last: number;
    state: ProcessState;
    end: string | null;
    live_bytes: number;
    peak_bytes: number;
    snapshots: number;
    /** Share of the file that has been read so far; 1: all. */
    loaded: number;
    damaged: boolean;
    lossy: boolean;
    /** No file stands at `path` any more. */
    file_deleted?: boolean;
    sparkline: number[];
}

export interface BrokenFile {
    id: number;
    path: string;
    message: string;
}

export interface ProcessList {
    memhawk: string;
    folders: string[];
    processes: Process[];
    broken?: BrokenFile[];
}

export interface SymbolProgress {
    done: number;
    total: number;
}

export interface Damage {
    offset: number;
    message: string;
}

export interface Coverage {
    time: number;
    live_bytes: number;
    usable_bytes: number;
    own_bytes: number;
    rss_bytes: number;
}

export interface Mark {
    time: number;
    text: string;
    thread: number | string;
}

export interface Module {
    path: string;
    build_id: string;
    loaded: number;
    unloaded: number | null;
    deleted: boolean;
    symbols: 'dwarf' | 'symtab' | 'dynsym' | 'debugdata' | 'none' | 'pending';
    hint: string | null;
}

export interface Format {
    name: string;
    extension: string;
    what: string;
}

export interface ProcessDetail extends Process {
    arguments: string[] | string;
    full_path: string;
    host: string;
    interval_ms: number;
    unwind: string;
    max_depth: number;
    forked: boolean;
    allocator: string;
    warning: string | null;
    writer: string;
    file_bytes: number;
    model_bytes: number;
    peak_time: number;
    losses: Record<string, number>;
    damage: Damage[];
    /** Why the file is not read any further; null: all is well. */
    message: string | null;
    coverage: Coverage | null;
    marks: Mark[];
    modules: Module[];
    symbols: SymbolProgress;
    metrics: Totals;
    formats: Format[];
}

/** Kinds of snapshots: 0 tick, 1 peak, 2 last, 3 asked for. */
export type SnapshotKind = 0 | 1 | 2 | 3;

/** Columns of equal length, one entry a shown snapshot. */
export interface Timeline {
    id: number;
    first: number;
    last: number;
    from: number;
    to: number;
    snapshots: number;
    peak: { time: number; live_bytes: number };
    time: number[];
    kind: SnapshotKind[];
    live_bytes: number[];
    live_count: number[];
    total_bytes: number[];
    total_count: number[];
    temporary: number[];
    overhead: number[];
    rss_bytes: number[];
    own_bytes: number[];
    threads: number[];
}

/** Columns of equal length, one entry a label. */
export interface Labels {
    /** In a comparison: of the later process, -1 where it has no such function. */
    id: number[];
    /** A comparison's: of the earlier process. */
    id_before?: number[];
    function: string[];
    module: string[];
    file: (string | null)[];
    line: number[];
    inlined: (0 | 1)[];
    known: (0 | 1)[];
}

/** Values of `FlameNodes.label` that are no index into the labels. */
export const LABEL_ROOT = -1;
export const LABEL_OTHER = -2;
export const LABEL_CUT = -3;
export const LABEL_ENDED_EARLY = -4;
export const LABEL_LOST = -5;

/** Preorder; node 0 is the root; inner arrays have one entry a node, outer ones one a side. */
export interface FlameNodes {
    label: number[];
    level: number[];
    hidden: number[];
    total: number[][];
    self: number[][];
    metrics: Record<Metric, number[][]>;
}

/** What `flame` and `compare` have in common. */
export interface TreeAnswer {
    metric: Metric;
    unit: Unit;
    sides: Side[];
    totals: Record<Metric, number[]>;
    labels: Labels;
    nodes: FlameNodes;
    node_count: number;
    symbols?: SymbolProgress;
}

export interface FlameAnswer extends TreeAnswer {
    id: number;
    mode: Mode;
    at: number | null;
    from: number | null;
    to: number | null;
    state?: { from: Totals; to: Totals };
    stacks: number;
    symbols: SymbolProgress;
}

/** `self` and its kin: [side][row]; `label` is an index into `labels`. */
export interface FunctionsAnswer {
    sides: Side[];
    labels: Labels;
    rows: {
        label: number[];
        self: number[][];
        total: number[][];
        self_count: number[][];
        total_count: number[][];
    };
    row_count: number;
}

export interface SeriesAnswer {
    by: 'self' | 'total';
    time: number[];
    labels: Labels;
    series: { label: number; pinned: boolean; value: number[] }[];
    other: number[] | null;
    total: number[];
}

export type ChangeKind = 'new' | 'gone' | 'more' | 'fewer';

export interface CompareRow {
    kind: ChangeKind;
    match: string;
    change: number;
    before: number;
    after: number;
    frames: number[];
    differs: number | null;
}

export interface CompareAnswer extends TreeAnswer {
    rows: CompareRow[];
    row_count: number;
    ambiguous: number;
    nothing_in_common: boolean;
}

export type Spread = [min: number, median: number, max: number];

export interface WindowRow {
    name: string;
    /** The name, with its scope where windows of both scopes have it. */
    title: string;
    scope: 'thread' | 'process';
    iterations: number;
    unfinished: number;
    duration_ns: number;
    allocations: number;
    bytes: number;
    frees: number;
    freed_bytes: number;
    temporary: number;
    peak_bytes: number;
    per_iteration: { allocations: Spread; bytes: Spread; temporary: Spread };
    stacks: number;
    /** When it was at work, between which snapshots. */
    spans: [number, number][];
}

export interface WindowsAnswer {
    windows: WindowRow[];
}

export interface SnapshotEvent {
    id: number;
    time: number;
    kind: SnapshotKind;
    live_bytes: number;
    live_count: number;
    total_bytes: number;
    total_count: number;
    temporary: number;
    overhead: number;
    rss_bytes: number;
    own_bytes: number;
    threads: number;
    snapshots: number;
}

/** Data of the server-sent events, by event name. */
export interface LiveEvents {
    hello: { memhawk: string };
    processes: Record<string, never>;
    snapshot: SnapshotEvent;
    symbols: { id: number; done: number; total: number };
    ended: { id: number; end: string };
    trouble: { id: number; message: string };
}

/** What is summed; see "Selection" in docs/API.md. Left out: the server's default. */
export interface Selection {
    mode?: Mode;
    at?: number | 'end';
    from?: number;
    to?: number;
    window?: string;
    metric?: Metric;
    granularity?: Granularity;
    filter?: string;
}

export interface FlameOptions {
    inverted?: boolean;
    limit?: number;
    focus?: number;
    direction?: 'callers' | 'callees';
}

export interface SeriesOptions {
    metric: Metric;
    by: 'self' | 'total';
    granularity?: Granularity;
    from?: number;
    to?: number;
    points?: number;
    top?: number;
    pin?: number[];
}

export type Moment = number | 'peak' | 'end';

export interface CompareOptions {
    id: number;
    at: Moment;
    id2: number;
    at2: Moment;
    metric: Metric;
    inverted?: boolean;
    limit?: number;
    /** A label of process id2, or of process id. */
    focus?: number;
    focus_before?: number;
    direction?: 'callers' | 'callees';
}

/** An answer of status 400 and up (`code` is the server's), or none at all ("unreachable"). */
export class ApiError extends Error {
    constructor(
        readonly status: number,
        readonly code: string,
        message: string,
    ) {
        super(message);
        this.name = 'ApiError';
    }
}

type Value = string | number | boolean | readonly number[] | null | undefined;

const BASE = '/api/v1/';

function token(): string {
    return new URLSearchParams(location.search).get('token') ?? '';
}

/** The address of a request, token included; undefined, null and empty values are left out. */
export function apiUrl(verb: string, values: object = {}): string {
    const query = new URLSearchParams({ token: token() });
    for (const [key, value] of Object.entries(values) as [string, Value][]) {
        if (value === undefined || value === null || value === '' || value === false) {
            continue;
        }
        query.set(key, value === true ? '1' : Array.isArray(value) ? value.join(',') : `${value}`);
    }
    return `${BASE}${verb}?${query}`;
}

async function failure(response: Response): Promise<ApiError> {
    const body: unknown = await response.json().catch(() => null);
    const error = (body as { error?: { code?: unknown; message?: unknown } } | null)?.error;
    const code = typeof error?.code === 'string' ? error.code : 'internal';
    const message = typeof error?.message === 'string' ? error.message : response.statusText;
    return new ApiError(response.status, code, message || `status ${response.status}`);
}

/** Throws ApiError; an abort by `signal` stays an AbortError (see `isAbort`). */
async function get<T>(verb: string, values: object, signal?: AbortSignal): Promise<T> {
    let response: Response;
    try {
        response = await fetch(apiUrl(verb, values), { signal: signal ?? null });
    } catch (error) {
        if (isAbort(error)) {
            throw error;
        }
        const message = 'The server does not answer. Does memhawk view still run?';
        throw new ApiError(0, 'unreachable', message);
    }
    if (!response.ok) {
        throw await failure(response);
    }
    return (await response.json()) as T;
}

export function isAbort(error: unknown): boolean {
    return error instanceof DOMException && error.name === 'AbortError';
}

export const api = {
    processes: (signal?: AbortSignal) => get<ProcessList>('processes', {}, signal),
    process: (id: number, signal?: AbortSignal) => get<ProcessDetail>('process', { id }, signal),
    timeline: (
        id: number,
        span: { from?: number; to?: number; points?: number } = {},
        signal?: AbortSignal,
    ) => get<Timeline>('timeline', { id, ...span }, signal),
    flame: (id: number, what: Selection & FlameOptions, signal?: AbortSignal) =>
        get<FlameAnswer>('flame', { id, ...what }, signal),
    functions: (id: number, what: Selection & { limit?: number }, signal?: AbortSignal) =>
        get<FunctionsAnswer>('functions', { id, ...what }, signal),
    series: (id: number, what: SeriesOptions, signal?: AbortSignal) =>
        get<SeriesAnswer>('series', { id, ...what }, signal),
    compare: (what: CompareOptions, signal?: AbortSignal) =>
        get<CompareAnswer>('compare', what, signal),
    windows: (id: number, signal?: AbortSignal) => get<WindowsAnswer>('windows', { id }, signal),
};

/** The address of a download; a link with `download` set fetches it. */
export function downloadUrl(id: number, what: Selection, format: string): string {
    return apiUrl('download', { id, ...what, format });
}

/** The address of the event stream, for `new EventSource`. */
export function eventsUrl(): string {
    return apiUrl('events');
}
