// SPDX-License-Identifier: Apache-2.0
//
// The timeline's two charts as uPlot options: bytes above (live filled; usable size and RSS as
// lines), blocks or allocation rate below. Both share the cursor by uPlot's sync group.

import uPlot from 'uplot';
import type { Chart } from '../route';
import { palette, withAlpha } from '../theme';
import type { Palette } from '../theme';
import { chartOptions, drawTimeLabels, timeAxis, valueAxis } from './axes';
import { rates } from './columns';
import type { Columns } from './columns';
import { LABEL_HEIGHT } from './overlay';

export const CURVES = ['live', 'usable', 'rss'] as const;
export type Curve = (typeof CURVES)[number];

export const CURVE_NAME: Record<Curve, string> = {
    live: 'Live',
    usable: 'Usable size',
    rss: 'RSS',
};
export const CURVE_HINT: Record<Curve, string> = {
    live: 'Bytes that the program asked for and has not freed',
    usable: 'What the allocator has handed out for them: live and its own overhead',
    rss: 'Resident memory of the whole process, as the kernel counts it',
};

function series(name: keyof Palette, fill: boolean, show = true): uPlot.Series {
    return {
        show,
        stroke: () => palette.peek()[name],
        width: 1.5,
        points: { show: false },
        spanGaps: !fill, // RSS is read at ticks only, not at the peaks between them
        ...(fill ? { fill: () => withAlpha(palette.peek()[name], 0.22) } : {}),
    };
}

const SYNC = 'memhawk-timeline';

export interface CurveHooks {
    draw(u: uPlot): void;
    cursor(index: number | null): void;
}

function withHooks(
    options: Omit<uPlot.Options, 'series'>,
    hooks: CurveHooks,
): Omit<uPlot.Options, 'series'> {
    return {
        ...options,
        cursor: { ...options.cursor, sync: { key: SYNC }, points: { size: 6 } },
        hooks: {
            drawAxes: [drawTimeLabels],
            draw: [hooks.draw],
            setCursor: [(u) => hooks.cursor(u.cursor.idx ?? null)],
        },
    };
}

export function bytesChart(
    width: number,
    height: number,
    hidden: ReadonlySet<Curve>,
    hooks: CurveHooks,
): uPlot.Options {
    return {
        ...withHooks(chartOptions(width, height), hooks),
        padding: [LABEL_HEIGHT + 2, 22, 0, 0],
        axes: [timeAxis(), valueAxis('bytes')],
        series: [
            {},
            series('rss', false, !hidden.has('rss')),
            series('usable', false, !hidden.has('usable')),
            series('live', true, !hidden.has('live')), // last: on top of the others
        ],
    };
}

export function secondChart(width: number, height: number, hooks: CurveHooks): uPlot.Options {
    return {
        ...withHooks(chartOptions(width, height), hooks),
        padding: [4, 22, 4, 0],
        axes: [timeAxis(false), valueAxis('count', 22)],
        series: [{}, series('count', true)],
    };
}

const sinceStart = (columns: Columns, start: number): number[] =>
    columns.time.map((time) => (time - start) / 1e6);

export function bytesData(columns: Columns, start: number): uPlot.AlignedData {
    return [
        sinceStart(columns, start),
        columns.rss_bytes.map((rss) => (rss > 0 ? rss : null)),
        columns.live_bytes.map((live, i) => live + (columns.overhead[i] as number)),
        columns.live_bytes,
    ];
}

export function secondData(columns: Columns, start: number, what: Chart): uPlot.AlignedData {
    const values = what === 'count' ? columns.live_count : rates(columns.time, columns.total_count);
    return [sinceStart(columns, start), values];
}

/**
 * Curves to leave out until the user says otherwise: an RSS many times the heap would press the
 * heap's own curve flat (the coverage bar tells it anyway).
 */
export function hiddenAtFirst(columns: Columns): Curve[] {
    const highest = (values: number[]): number => values.reduce((a, b) => Math.max(a, b), 0);
    const rss = highest(columns.rss_bytes);
    const heap = highest(columns.live_bytes);
    return rss === 0 || rss > 6 * heap ? ['rss'] : [];
}
