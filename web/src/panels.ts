// SPDX-License-Identifier: Apache-2.0
//
// What the shell hands to the panels and gets back. The shell owns these values (they are in the
// URL); a panel never keeps a copy: it shows what it is given and says what the user wants.

import type { Granularity, Metric, Moment, Process } from './api';

/** Two moments, in microseconds since the epoch. */
export interface Interval {
    from: number;
    to: number;
}

/** What the flame panel shows. `change`: added and removed over the interval. */
export type Show = 'peak' | 'moment' | 'change' | 'total-bytes' | 'total-count' | 'temporary';

export const SHOWS: readonly Show[] = [
    'peak',
    'moment',
    'change',
    'total-bytes',
    'total-count',
    'temporary',
];

export interface FlameView {
    show: Show;
    /** Show it for the whole run although an interval is chosen. */
    whole: boolean;
    /** Of `peak`, `moment` and `change`; the other shows name their metric themselves. */
    metric: Metric;
    granularity: Granularity;
    /** Allocating functions at the root. */
    inverted: boolean;
    /** The root is drawn at the bottom. */
    bottom: boolean;
    search: string;
    /** Only stacks with a matching function or module (the API's `filter`). */
    filter: string;
    /** Label whose callers and callees are shown in place of the tree; null: the tree. */
    focus: number | null;
}

export const DEFAULT_FLAME_VIEW: FlameView = {
    show: 'peak',
    whole: false,
    metric: 'live-bytes',
    granularity: 'function',
    inverted: false,
    bottom: false,
    search: '',
    filter: '',
    focus: null,
};

/** The component is `FlamePanel` of flame/FlamePanel.tsx. */
export interface FlamePanelProps {
    process: Process;
    /** The interval chosen on the timeline; null: the whole run. */
    interval: Interval | null;
    /** The moment chosen on the timeline; null: the end. */
    moment: number | null;
    /** Raised when the data moved on (snapshot, names): the panel asks again, keeping its place. */
    revision: number;
    view: FlameView;
    onView(change: Partial<FlameView>): void;
}

export interface CompareView {
    /** null: the process of the page. */
    id: number | null;
    at: Moment;
    id2: number | null;
    at2: Moment;
    metric: Metric;
    inverted: boolean;
    /** Function whose callers and callees are shown, as flame/keys.ts has it; null: all stacks. */
    focus: number | null;
}

/** The component is `ComparePanel` of compare/ComparePanel.tsx. */
export interface ComparePanelProps {
    /** The process of the page. */
    process: Process;
    processes: Process[];
    interval: Interval | null;
    revision: number;
    view: CompareView;
    onView(change: Partial<CompareView>): void;
}

/** The component is `WindowsPanel` of windows/WindowsPanel.tsx. */
export interface WindowsPanelProps {
    process: Process;
    revision: number;
    /** The name of the window whose stacks are shown; null: none chosen. */
    window: string | null;
    onWindow(name: string | null): void;
    view: FlameView;
    onView(change: Partial<FlameView>): void;
}
