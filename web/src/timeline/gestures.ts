// SPDX-License-Identifier: Apache-2.0
//
// Mouse, touch, wheel and keys on the timeline. Dragging chooses an interval, dragging one of its
// edges sizes it, a click chooses a moment, the wheel zooms at the pointer (and moves the view
// with shift or a sideways wheel), a double click shows all again. A click waits for the time of a
// double click, so that the latter does not choose a moment on its way. Charts without a zoom of
// their own listen to the pointer only.

import type uPlot from 'uplot';
import type { Interval } from '../panels';
import { moved, ordered, resized, zoomed } from './interval';

export interface GestureHost {
    /** Where x is zero. */
    start(): number;
    run(): Interval;
    view(): Interval;
    /** null: the whole run. */
    chosen(): Interval | null;
    /** While the pointer is down; null: given up. */
    preview(interval: Interval | null): void;
    choose(interval: Interval, step: 'push' | 'replace'): void;
    /** A click; POINT in pixels of the plot. */
    click(time: number, point: { x: number; y: number }): void;
    /** null: all of it. */
    zoom(view: Interval | null): void;
    reset(): void;
}

const EDGE_PX = 6;
const CLICK_PX = 4;
const DOUBLE_MS = 240;
const WHEEL_STEP = 1.0015;

interface Drag {
    id: number;
    startX: number;
    /** The end that stays where it is. */
    anchor: number;
    moved: boolean;
}

function timeAt(u: uPlot, host: GestureHost, x: number): number {
    return Math.round(host.start() + u.posToVal(x, 'x') * 1e6);
}

/** The end opposite to the edge under the pointer; null: no edge is there. */
function otherEnd(u: uPlot, host: GestureHost, x: number): number | null {
    const chosen = host.chosen();
    if (!chosen) {
        return null;
    }
    const position = (time: number): number => u.valToPos((time - host.start()) / 1e6, 'x');
    if (Math.abs(position(chosen.to) - x) <= EDGE_PX) {
        return chosen.from;
    }
    return Math.abs(position(chosen.from) - x) <= EDGE_PX ? chosen.to : null;
}

export function listenPointer(u: uPlot, host: GestureHost): void {
    const over = u.over;
    let drag: Drag | null = null;
    let click: ReturnType<typeof setTimeout> | null = null;
    const xOf = (event: PointerEvent | MouseEvent): number =>
        event.clientX - over.getBoundingClientRect().left;

    over.addEventListener('pointerdown', (event) => {
        if (event.button !== 0) {
            return;
        }
        const x = xOf(event);
        const anchor = otherEnd(u, host, x) ?? timeAt(u, host, x);
        drag = { id: event.pointerId, startX: x, anchor, moved: false };
        over.setPointerCapture(event.pointerId);
    });
    over.addEventListener('pointermove', (event) => {
        const x = xOf(event);
        if (!drag) {
            over.style.cursor = otherEnd(u, host, x) === null ? '' : 'ew-resize';
            return;
        }
        if (event.pointerId !== drag.id) {
            return;
        }
        drag.moved ||= Math.abs(x - drag.startX) >= CLICK_PX;
        if (drag.moved) {
            host.preview(ordered(drag.anchor, timeAt(u, host, x), host.run()));
        }
    });
    over.addEventListener('pointerup', (event) => {
        const done = drag;
        drag = null;
        if (!done || event.pointerId !== done.id) {
            return;
        }
        const x = xOf(event);
        const y = event.clientY - over.getBoundingClientRect().top;
        const time = timeAt(u, host, x);
        host.preview(null);
        if (done.moved) {
            host.choose(ordered(done.anchor, time, host.run()), 'push');
            return;
        }
        if (click === null) {
            click = setTimeout(() => {
                click = null;
                host.click(ordered(time, time, host.run()).from, { x, y });
            }, DOUBLE_MS);
        }
    });
    over.addEventListener('pointercancel', () => {
        drag = null;
        host.preview(null);
    });
    over.addEventListener('dblclick', () => {
        if (click !== null) {
            clearTimeout(click);
            click = null;
        }
        host.reset();
    });
}

function listenWheel(u: uPlot, host: GestureHost): void {
    u.over.addEventListener(
        'wheel',
        (event) => {
            const run = host.run();
            const view = host.view();
            const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
            const lines = event.deltaMode === 1 ? 16 : 1;
            const delta = (sideways && event.deltaX !== 0 ? event.deltaX : event.deltaY) * lines;
            const all = view.to - view.from >= run.to - run.from;
            if (delta === 0 || (all && (sideways || delta > 0))) {
                return; // nothing to zoom out of: the page scrolls
            }
            event.preventDefault();
            if (sideways) {
                host.zoom(moved(view, (delta / 600) * (view.to - view.from), run));
                return;
            }
            const x = event.clientX - u.over.getBoundingClientRect().left;
            host.zoom(zoomed(view, timeAt(u, host, x), WHEEL_STEP ** delta, run));
        },
        { passive: false },
    );
}

export function listenGestures(u: uPlot, host: GestureHost): void {
    listenPointer(u, host);
    listenWheel(u, host);
}

/** Arrow keys move, with shift they size; plus and minus zoom. True: the key meant something. */
export function pressKey(event: KeyboardEvent, host: GestureHost): boolean {
    if (event.ctrlKey || event.altKey || event.metaKey) {
        return false;
    }
    const run = host.run();
    const view = host.view();
    const chosen = host.chosen() ?? run;
    const step = (view.to - view.from) / (event.key.startsWith('Page') ? 10 : 50);
    const act: Record<string, () => void> = {
        ArrowLeft: () => turn(-step),
        ArrowRight: () => turn(step),
        PageUp: () => turn(-step),
        PageDown: () => turn(step),
        Escape: () => host.reset(),
        '+': () => host.zoom(zoomed(view, (chosen.from + chosen.to) / 2, 0.7, run)),
        '-': () => host.zoom(zoomed(view, (view.from + view.to) / 2, 1 / 0.7, run)),
    };
    const turn = (delta: number): void => {
        const next = event.shiftKey ? resized(chosen, delta, run) : moved(chosen, delta, run);
        if (next.from !== chosen.from || next.to !== chosen.to) {
            host.choose(next, 'replace');
        }
    };
    const action = act[event.key === '=' ? '+' : event.key];
    action?.();
    return action !== undefined;
}
