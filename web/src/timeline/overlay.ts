// SPDX-License-Identifier: Apache-2.0
//
// What is drawn over the timeline's curves: the chosen interval (the rest is dimmed), marks with
// their words, the peak, the chosen moment. Canvas only: names are text. Positions are computed at
// each draw from the chart's scale, so zooming needs nothing here.

import type uPlot from 'uplot';
import { bytes } from '../format';
import type { Interval } from '../panels';
import { palette, withAlpha } from '../theme';

export interface OverlayMark {
    time: number;
    text: string;
}

/** A measurement window and when it was at work. */
export interface OverlayWindow {
    title: string;
    spans: [number, number][];
}

export interface OverlayState {
    /** Start of the run: x is seconds since then. */
    start: number;
    /** null: the whole run. */
    chosen: Interval | null;
    moment: number | null;
    marks: OverlayMark[];
    windows: OverlayWindow[];
    peak: { time: number; live_bytes: number } | null;
    /** Highest of the chosen interval. */
    chosenPeak: { time: number; live_bytes: number } | null;
}

export const LABEL_HEIGHT = 16;
const LABEL_WIDTH = 160;
const STUB_HEIGHT = 7;
const LANE_HEIGHT = 18;
const LANES = 5;
/** Marks closer than this on average are dense. */
const DENSE_PX = 14;

class Pen {
    readonly scale: number;
    readonly left: number;
    readonly top: number;
    readonly width: number;
    readonly height: number;
    constructor(
        private readonly u: uPlot,
        private readonly start: number,
    ) {
        this.scale = devicePixelRatio;
        this.left = u.bbox.left;
        this.top = u.bbox.top;
        this.width = u.bbox.width;
        this.height = u.bbox.height;
    }
    x(time: number): number {
        return this.u.valToPos((time - this.start) / 1e6, 'x', true);
    }
    inside(x: number): boolean {
        return x >= this.left - 1 && x <= this.left + this.width + 1;
    }
    clampX(x: number): number {
        return Math.min(Math.max(x, this.left), this.left + this.width);
    }
}

function line(u: uPlot, pen: Pen, x: number, color: string, dash: number[], width = 1): void {
    const c = u.ctx;
    c.strokeStyle = color;
    c.lineWidth = width * pen.scale;
    c.setLineDash(dash.map((d) => d * pen.scale));
    c.beginPath();
    c.moveTo(x, pen.top);
    c.lineTo(x, pen.top + pen.height);
    c.stroke();
    c.setLineDash([]);
}

function drawInterval(u: uPlot, pen: Pen, chosen: Interval, handles: boolean): void {
    const c = u.ctx;
    const p = palette.peek();
    const from = pen.clampX(pen.x(chosen.from));
    const to = pen.clampX(pen.x(chosen.to));
    c.fillStyle = withAlpha(p.panel, 0.66);
    c.fillRect(pen.left, pen.top, from - pen.left, pen.height);
    c.fillRect(to, pen.top, pen.left + pen.width - to, pen.height);
    for (const x of [pen.x(chosen.from), pen.x(chosen.to)]) {
        if (!pen.inside(x)) {
            continue;
        }
        line(u, pen, x, p.accent, [], 1.5);
        if (handles) {
            const width = 5 * pen.scale;
            const height = 22 * pen.scale;
            c.fillStyle = p.accent;
            c.beginPath();
            c.roundRect(
                x - width / 2,
                pen.top + (pen.height - height) / 2,
                width,
                height,
                width / 2,
            );
            c.fill();
        }
    }
}

/** The words of a mark, cut to a width; measured, since a name may be as long as it likes. */
function fitted(c: CanvasRenderingContext2D, text: string, width: number): string {
    const plain = text.replace(/\s+/g, ' ').slice(0, 80);
    if (c.measureText(plain).width <= width) {
        return plain;
    }
    let n = plain.length;
    while (n > 1 && c.measureText(`${plain.slice(0, n)}…`).width > width) {
        n--;
    }
    return `${plain.slice(0, n)}…`;
}

/** A short stroke at the top, where lines would stand so close that they hide the curves. */
function stub(u: uPlot, pen: Pen, x: number, color: string): void {
    const c = u.ctx;
    c.strokeStyle = color;
    c.lineWidth = pen.scale;
    c.beginPath();
    c.moveTo(x, pen.top);
    c.lineTo(x, pen.top + STUB_HEIGHT * pen.scale);
    c.stroke();
}

function drawMarks(u: uPlot, pen: Pen, marks: OverlayMark[]): void {
    const c = u.ctx;
    const p = palette.peek();
    const seen = marks.filter((mark) => pen.inside(pen.x(mark.time)));
    const dense = seen.length * DENSE_PX * pen.scale > pen.width;
    c.font = `${11 * pen.scale}px system-ui, "DejaVu Sans", sans-serif`;
    c.textBaseline = 'middle';
    c.textAlign = 'left';
    let free = pen.left;
    let lastLine = -Infinity;
    for (const mark of seen) {
        const x = pen.x(mark.time);
        if (x - lastLine < pen.scale) {
            continue;
        }
        lastLine = x;
        if (dense) {
            stub(u, pen, x, withAlpha(p.mark, 0.7));
        } else {
            line(u, pen, x, withAlpha(p.mark, 0.5), [2, 3]);
        }
        const room = Math.min(LABEL_WIDTH * pen.scale, pen.left + pen.width - x - 4 * pen.scale);
        if (x < free || room < 24 * pen.scale) {
            continue;
        }
        const text = fitted(c, mark.text, room);
        const y = pen.top - (LABEL_HEIGHT / 2) * pen.scale;
        c.fillStyle = p.soft;
        c.fillText(text, x, y);
        free = x + c.measureText(text).width + 10 * pen.scale;
    }
}

/**
 * One lane a window, at the top of the plot: a bar for each span, over a faint band down to the axis.
 * The name stands below its first bar in sight.
 */
function drawWindows(u: uPlot, pen: Pen, windows: OverlayWindow[]): void {
    const c = u.ctx;
    const p = palette.peek();
    c.font = `${10 * pen.scale}px system-ui, "DejaVu Sans", sans-serif`;
    c.textBaseline = 'middle';
    c.textAlign = 'left';
    laneWindows(windows).forEach((window, lane) => {
        const y = pen.top + (4 + lane * LANE_HEIGHT) * pen.scale;
        let labelX: number | null = null;
        for (const [from, to] of window.spans) {
            const left = pen.clampX(pen.x(from));
            const right = pen.clampX(pen.x(to));
            if (!pen.inside(pen.x(from)) && !pen.inside(pen.x(to)) && right - left < 1) {
                continue;
            }
            const width = Math.max(right - left, pen.scale);
            c.fillStyle = withAlpha(p.mark, 0.07);
            c.fillRect(left, y, width, pen.top + pen.height - y);
            c.fillStyle = withAlpha(p.mark, 0.75);
            c.fillRect(left, y, width, 4 * pen.scale);
            labelX ??= left;
        }
        const room = labelX === null ? 0 : pen.left + pen.width - labelX - 4 * pen.scale;
        if (labelX !== null && room > 24 * pen.scale) {
            const text = fitted(c, window.title, Math.min(room, LABEL_WIDTH * pen.scale));
            c.fillStyle = p.soft;
            c.fillText(text, labelX + 2 * pen.scale, y + 10 * pen.scale);
        }
    });
}

/** The windows that get a lane: the first few in order of their first span. */
export function laneWindows(windows: OverlayWindow[]): OverlayWindow[] {
    const first = (window: OverlayWindow): number => window.spans[0]?.[0] ?? Infinity;
    return windows
        .filter((window) => window.spans.length > 0)
        .sort((a, b) => first(a) - first(b))
        .slice(0, LANES);
}

function drawPeak(
    u: uPlot,
    pen: Pen,
    peak: { time: number; live_bytes: number },
    words: string | null,
): void {
    const c = u.ctx;
    const p = palette.peek();
    const x = pen.x(peak.time);
    const y = u.valToPos(peak.live_bytes, 'y', true);
    if (!pen.inside(x) || y < pen.top - pen.scale) {
        return;
    }
    c.beginPath();
    c.arc(x, y, 3.5 * pen.scale, 0, 2 * Math.PI);
    c.fillStyle = words ? p.live : p.panel;
    c.fill();
    c.lineWidth = 1.5 * pen.scale;
    c.strokeStyle = words ? p.panel : p.live;
    c.stroke();
    if (words === null) {
        return;
    }
    c.font = `600 ${11 * pen.scale}px system-ui, "DejaVu Sans", sans-serif`;
    const right = x + c.measureText(words).width + 12 * pen.scale < pen.left + pen.width;
    c.textAlign = right ? 'left' : 'right';
    c.textBaseline = 'middle';
    const textX = x + (right ? 8 : -8) * pen.scale;
    const textY = Math.max(y - 2 * pen.scale, pen.top + 8 * pen.scale);
    c.lineWidth = 3 * pen.scale;
    c.lineJoin = 'round';
    c.strokeStyle = withAlpha(p.panel, 0.85);
    c.strokeText(words, textX, textY);
    c.fillStyle = p.ink;
    c.fillText(words, textX, textY);
}

/** For the `draw` hook. `main`: the large chart, which has the words, handles and peaks. */
export function drawOverlay(u: uPlot, state: OverlayState, main: boolean): void {
    const pen = new Pen(u, state.start);
    u.ctx.save();
    if (state.chosen) {
        drawInterval(u, pen, state.chosen, main);
    }
    if (main) {
        drawWindows(u, pen, state.windows);
        drawMarks(u, pen, state.marks);
        const { chosenPeak, peak } = state;
        if (chosenPeak && state.chosen && chosenPeak.time !== peak?.time) {
            drawPeak(u, pen, chosenPeak, null);
        }
        if (peak) {
            drawPeak(u, pen, peak, `peak ${bytes(peak.live_bytes)}`);
        }
    }
    if (state.moment !== null) {
        const x = pen.x(state.moment);
        if (pen.inside(x)) {
            line(u, pen, x, palette.peek().accent, [6, 3], 1.5);
        }
    }
    u.ctx.restore();
}
