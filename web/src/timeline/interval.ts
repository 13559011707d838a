// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic of intervals on the timeline: moving, sizing, zooming. Pure; all times are whole
// microseconds, and nothing leaves the run.

import type { Interval } from '../panels';

/** A view is never zoomed in further than this, in microseconds. */
export const LEAST_VIEW = 2000;

export function ordered(a: number, b: number, run: Interval): Interval {
    const clamp = (t: number): number => Math.round(Math.min(Math.max(t, run.from), run.to));
    return { from: clamp(Math.min(a, b)), to: clamp(Math.max(a, b)) };
}

/** Moved by `delta`, its length kept: it stops at the ends of the run. */
export function moved(interval: Interval, delta: number, run: Interval): Interval {
    const least = run.from - interval.from;
    const most = run.to - interval.to;
    const step = Math.round(Math.min(Math.max(delta, least), most));
    return { from: interval.from + step, to: interval.to + step };
}

/** With its end moved by `delta`, but not before its start. */
export function resized(interval: Interval, delta: number, run: Interval): Interval {
    const to = Math.min(Math.max(interval.to + delta, interval.from), run.to);
    return { from: interval.from, to: Math.round(to) };
}

/**
 * The view after a zoom that leaves the time under the pointer where it is; factor below 1 zooms
 * in. null: all of the run is in view.
 */
export function zoomed(
    view: Interval,
    pointer: number,
    factor: number,
    run: Interval,
): Interval | null {
    const old = view.to - view.from;
    const size = Math.max(old * factor, LEAST_VIEW);
    if (size >= run.to - run.from) {
        return null;
    }
    const share = old > 0 ? (pointer - view.from) / old : 0.5;
    const from = pointer - share * size;
    return moved({ from: Math.round(from), to: Math.round(from + size) }, 0, run);
}

/** The view that shows an interval with some room at both sides. */
export function viewAround(interval: Interval, run: Interval): Interval | null {
    const room = Math.max((interval.to - interval.from) * 0.08, LEAST_VIEW);
    const view = ordered(interval.from - room, interval.to + room, run);
    return view.to - view.from >= (run.to - run.from) * 0.98 ? null : view;
}
