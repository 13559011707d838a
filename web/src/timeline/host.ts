// SPDX-License-Identifier: Apache-2.0
//
// What the timeline shows beside the route (its zoom, an interval being dragged), and what its
// gestures do. Charts of the same run share it.

import { signal } from '@preact/signals';
import type { Interval } from '../panels';
import { bounds, chooseInterval, go, process, running, span } from '../state';
import type { GestureHost } from './gestures';

/** What is in view; null: all of the run. */
export const zoom = signal<Interval | null>(null);
export const preview = signal<Interval | null>(null);

const NO_RUN: Interval = { from: 0, to: 1 };

export function visible(): Interval {
    return zoom.value ?? bounds.value ?? NO_RUN;
}

export function showAll(): void {
    zoom.value = null;
    go({ from: null, to: null, last: null, moment: null });
}

export const timelineHost: GestureHost = {
    start: () => process.peek()?.start ?? 0,
    run: () => bounds.peek() ?? NO_RUN,
    view: () => zoom.peek() ?? bounds.peek() ?? NO_RUN,
    chosen: () => {
        const s = span.peek();
        return s === null || s.whole ? null : s;
    },
    preview: (interval) => {
        preview.value = interval;
    },
    choose: ({ from, to }, step) => {
        // An end that is that of a running program stays open: the interval follows it.
        const run = bounds.peek() ?? NO_RUN;
        const open = running.peek() && to >= run.to;
        chooseInterval(from <= run.from ? null : from, open ? null : to, step);
    },
    click: (time) => go({ moment: time, show: 'moment' }),
    zoom: (view) => {
        zoom.value = view;
    },
    reset: showAll,
};
