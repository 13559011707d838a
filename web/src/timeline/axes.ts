// SPDX-License-Identifier: Apache-2.0
//
// Axes and colours that all charts of the page share (uPlot). The x values are seconds since the
// start of the run; ticks are those of a clock (15 s, 5 min), bytes step in powers of two.

import type uPlot from 'uplot';
import { palette } from '../theme';

const MINUTE = 60;
const HOUR = 3600;
export const TIME_STEPS = [
    1e-6,
    2e-6,
    5e-6,
    1e-5,
    2e-5,
    5e-5,
    0.0001,
    0.0002,
    0.0005,
    0.001,
    0.002,
    0.005,
    0.01,
    0.02,
    0.05,
    0.1,
    0.2,
    0.5,
    1,
    2,
    5,
    10,
    15,
    30,
    MINUTE,
    2 * MINUTE,
    5 * MINUTE,
    10 * MINUTE,
    15 * MINUTE,
    30 * MINUTE,
    HOUR,
    2 * HOUR,
    3 * HOUR,
    6 * HOUR,
    12 * HOUR,
    24 * HOUR,
    48 * HOUR,
    120 * HOUR,
    240 * HOUR,
];
export const BYTE_STEPS = Array.from({ length: 60 }, (_, i) => 2 ** i);
export const COUNT_STEPS = Array.from({ length: 16 }, (_, i) => 10 ** i).flatMap((n) => [
    n,
    2 * n,
    5 * n,
]);

/** Seconds since the start on an axis with this step: "0.25 s", "1:30", "2:05:00". */
export function tick(value: number, step: number): string {
    if (step < 1) {
        const milli = step < 0.001;
        const digits = Math.max(Math.ceil(-Math.log10(step) - 1e-9) - (milli ? 3 : 0), 0);
        return milli ? `${(value * 1e3).toFixed(digits)} ms` : `${value.toFixed(digits)} s`;
    }
    if (value < MINUTE && step < MINUTE) {
        return `${Math.round(value)} s`;
    }
    const two = (n: number): string => String(Math.floor(n)).padStart(2, '0');
    const hours = Math.floor(value / HOUR);
    const minutes = Math.floor((value % HOUR) / MINUTE);
    return hours > 0
        ? `${hours}:${two(minutes)}:${two(value % MINUTE)}`
        : `${minutes}:${two(value % MINUTE)}`;
}

/** 12345 as "12.3k", for the narrow axis of counts. */
export function shortCount(value: number): string {
    const units = ['', 'k', 'M', 'G', 'T', 'P'];
    let unit = 0;
    let rest = value;
    while (rest >= 1000 && unit < units.length - 1) {
        rest /= 1000;
        unit++;
    }
    return `${unit === 0 ? Math.round(rest * 100) / 100 : Math.round(rest * 10) / 10}${units[unit]}`;
}

/** Bytes on an axis: as many decimals as the powers of two of its ticks need, two at most. */
export function shortBytes(value: number): string {
    const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
    let unit = 0;
    let rest = value;
    while (rest >= 1024 && unit < units.length - 1) {
        rest /= 1024;
        unit++;
    }
    return `${Math.round(rest * 100) / 100}\u202f${units[unit]}`;
}

const FONT_FACE = 'px system-ui, "DejaVu Sans", sans-serif';
const FONT = `11${FONT_FACE}`;
const AXIS_WIDTH = 62;
const AXIS_HEIGHT = 26;
const AXIS_GAP = 4;
const TICK_SPACE = 72;
/** A little more than a digit of the font is wide. */
const DIGIT = 7.2;

function axis(): uPlot.Axis {
    return {
        stroke: () => palette.peek().faint,
        font: FONT,
        grid: { stroke: () => palette.peek().grid, width: 1 },
        ticks: { show: false },
    };
}

interface Tick {
    value: number;
    text: string;
}

/** What the time axis of a chart says, for drawTimeLabels(). */
const timeTicks = new WeakMap<uPlot, Tick[]>();

/** Room for a label of an axis from MIN to MAX that is WIDTH pixels long. */
export function tickSpace(min: number, max: number, width: number): number {
    const close = Math.max(((max - min) * TICK_SPACE) / Math.max(width, 1), 1e-6);
    const step = TIME_STEPS.find((one) => one >= close) ?? close;
    return Math.max(TICK_SPACE, tick(max, step).length * DIGIT + 10);
}

export function timeAxis(show = true): uPlot.Axis {
    return {
        ...axis(),
        show,
        incrs: TIME_STEPS,
        space: (_u, _axis, min, max, width) => tickSpace(min, max, width),
        size: AXIS_HEIGHT,
        gap: AXIS_GAP,
        // uPlot centres each label on its tick, and cuts the last one at the edge: see below.
        values: (u, splits, _axis, _space, step) => {
            timeTicks.set(u, splits.map((value) => ({ value, text: tick(value, step) })));
            return splits.map(() => null);
        },
    };
}

/** The labels of the time axis, below their ticks as far as the chart's edges allow. */
export function drawTimeLabels(u: uPlot): void {
    if (u.axes[0]?.show === false) {
        return;
    }
    const c = u.ctx;
    const scale = devicePixelRatio;
    c.save();
    c.font = `${11 * scale}${FONT_FACE}`;
    c.fillStyle = palette.peek().faint;
    c.textAlign = 'left';
    c.textBaseline = 'top';
    for (const { value, text } of timeTicks.get(u) ?? []) {
        const width = c.measureText(text).width;
        const left = u.valToPos(value, 'x', true) - width / 2;
        const room = c.canvas.width - width - scale;
        const y = u.bbox.top + u.bbox.height + AXIS_GAP * scale;
        c.fillText(text, Math.max(Math.min(left, room), 0), y);
    }
    c.restore();
}

export function valueAxis(unit: 'bytes' | 'count', space = 34): uPlot.Axis {
    return {
        ...axis(),
        incrs: unit === 'bytes' ? BYTE_STEPS : COUNT_STEPS,
        space,
        size: AXIS_WIDTH,
        gap: 6,
        values: (_u, splits) =>
            splits.map((v) => (unit === 'bytes' ? shortBytes(v) : shortCount(v))),
    };
}

/** From zero to a little above the highest value that is drawn. */
export function fromZero(_u: uPlot, _min: number | null, max: number | null): uPlot.Range.MinMax {
    return [0, max !== null && max > 0 ? max * 1.08 : 1];
}

/** What every chart has: no legend of uPlot's own, no selecting by uPlot, padding, scales. */
export function chartOptions(width: number, height: number): Omit<uPlot.Options, 'series'> {
    return {
        width: Math.max(width, 50),
        height,
        legend: { show: false },
        padding: [10, 22, 0, 0],
        scales: { x: { time: false }, y: { range: fromZero } },
        cursor: { drag: { x: false, y: false, setScale: false }, y: false },
    };
}
