// SPDX-License-Identifier: Apache-2.0
//
// The chart of functions over time as uPlot options: layers with bands between their edges when
// they add up (self), lines when they overlap (with callees).

import type uPlot from 'uplot';
import type { Unit } from '../api';
import { chartOptions, drawTimeLabels, timeAxis, valueAxis } from '../timeline/axes';
import { dark, palette, seriesColor, withAlpha } from '../theme';

export interface LayerLook {
    /** Index of the colour; null: the grey of "other". */
    color: number | null;
    /** The layer, or one like it in the table, is under the pointer. */
    strong: boolean;
    /** Another one is. */
    weak: boolean;
}

export function layerColor(index: number | null): string {
    return index === null ? palette.value.faint : seriesColor(index, dark.value);
}

export interface StackHooks {
    look(layer: number): LayerLook;
    cursor(u: uPlot): void;
    draw(u: uPlot): void;
}

function colorOf(look: LayerLook): string {
    return look.color === null ? palette.peek().faint : seriesColor(look.color, dark.peek());
}

export function functionsChart(
    width: number,
    height: number,
    layers: number,
    stackedAreas: boolean,
    unit: Unit,
    hooks: StackHooks,
): uPlot.Options {
    const fill = (i: number): string => {
        const look = hooks.look(i);
        return withAlpha(colorOf(look), look.strong ? 0.95 : look.weak ? 0.3 : 0.72);
    };
    const line = (i: number): string => {
        const look = hooks.look(i);
        const alpha = look.color === null && stackedAreas ? 0.4 : look.weak ? 0.4 : 1;
        return withAlpha(colorOf(look), alpha);
    };
    return {
        ...chartOptions(width, height),
        axes: [timeAxis(), valueAxis(unit)],
        series: [
            {},
            ...Array.from(
                { length: layers },
                (_, i): uPlot.Series => ({
                    stroke: () => line(i),
                    width: stackedAreas ? 0.75 : 1.75,
                    points: { show: false },
                    ...(stackedAreas ? { fill: () => fill(i) } : {}),
                }),
            ),
        ],
        bands: stackedAreas
            ? Array.from({ length: Math.max(layers - 1, 0) }, (_, i) => ({
                  series: [i + 2, i + 1] as uPlot.Band.Bounds,
              }))
            : [],
        hooks: {
            setCursor: [hooks.cursor],
            drawAxes: [drawTimeLabels],
            draw: [hooks.draw],
        },
    };
}
