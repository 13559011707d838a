// SPDX-License-Identifier: Apache-2.0
//
// From the series of functions to what a chart draws. Stacked: cumulative sums from the bottom, so
// that the topmost line is the total. Pure; costs series × points.

import type { Metric, SeriesAnswer } from '../api';
import { rates } from '../timeline/columns';

/** What a chart shows of a cumulative metric. */
export type Growth = 'sum' | 'rate';

export const CUMULATIVE: ReadonlySet<Metric> = new Set(['total-bytes', 'total-count', 'temporary']);

export interface Layer {
    /** Index into the answer's labels; null: all other functions together. */
    label: number | null;
    /** Id of the label; null: other. */
    id: number | null;
    pinned: boolean;
    values: (number | null)[];
}

/**
 * Values as they are shown: of a cumulative metric what was added since the first of the columns,
 * or per second. Both are linear, so that layers still add up to the total.
 */
export function shown(
    times: readonly number[],
    values: readonly number[],
    metric: Metric,
    growth: Growth,
): (number | null)[] {
    if (!CUMULATIVE.has(metric)) {
        return [...values];
    }
    if (growth === 'rate') {
        return rates(times, values);
    }
    const first = values[0] ?? 0;
    return values.map((value) => value - first);
}

/** Pinned ones first (at the bottom of the stack, where their line is level), other last. */
export function layersOf(answer: SeriesAnswer, metric: Metric, growth: Growth): Layer[] {
    const layers: Layer[] = answer.series.map((series) => ({
        label: series.label,
        id: answer.labels.id[series.label] ?? null,
        pinned: series.pinned,
        values: shown(answer.time, series.value, metric, growth),
    }));
    layers.sort((a, b) => Number(b.pinned) - Number(a.pinned));
    if (answer.other) {
        const values = shown(answer.time, answer.other, metric, growth);
        layers.push({ label: null, id: null, pinned: false, values });
    }
    return layers;
}

/** The upper edge of each layer. A column without a value (the first of rates) has none. */
export function stacked(layers: readonly Layer[]): (number | null)[][] {
    const points = layers[0]?.values.length ?? 0;
    const sums = new Array<number>(points).fill(0);
    return layers.map((layer) =>
        layer.values.map((value, i) => {
            if (value === null) {
                return null;
            }
            sums[i] = (sums[i] as number) + value;
            return sums[i] as number;
        }),
    );
}

/** The layer in which VALUE lies at column I; -1: above all of them. */
export function layerAt(
    edges: readonly (readonly (number | null)[])[],
    i: number,
    value: number,
): number {
    return edges.findIndex((edge) => {
        const top = edge[i];
        return typeof top === 'number' && value <= top;
    });
}

/** Of lines that cross: the one nearest to VALUE. */
export function nearest(
    lines: readonly (readonly (number | null)[])[],
    i: number,
    value: number,
): number {
    let best = -1;
    let least = Infinity;
    lines.forEach((line, index) => {
        const distance = Math.abs((line[i] ?? Infinity) - value);
        if (distance < least) {
            least = distance;
            best = index;
        }
    });
    return best;
}

/**
 * Colours that stay with their function while others come and go: a free index for each new id,
 * the lowest that no shown id has. Changes MEMORY.
 */
export function colorIndices(
    memory: Map<number, number>,
    ids: readonly number[],
): Map<number, number> {
    const taken = new Set<number>();
    for (const id of ids) {
        const index = memory.get(id);
        if (index !== undefined) {
            taken.add(index);
        }
    }
    // Of two shown ids with one index (the second was away for a while) the later moves.
    const used = new Set<number>();
    for (const id of ids) {
        let index = memory.get(id);
        if (index === undefined || used.has(index)) {
            index = 0;
            while (taken.has(index) || used.has(index)) {
                index++;
            }
            memory.set(id, index);
        }
        used.add(index);
    }
    return new Map(ids.map((id) => [id, memory.get(id) as number]));
}
