// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import type { SeriesAnswer } from '../api';
import { colorIndices, layerAt, layersOf, nearest, shown, stacked } from './stack';

const ANSWER: SeriesAnswer = {
    by: 'self',
    time: [0, 1e6, 2e6],
    labels: {
        id: [40, 41, 42],
        function: ['a', 'b', 'c'],
        module: ['', '', ''],
        file: [null, null, null],
        line: [0, 0, 0],
        inlined: [0, 0, 0],
        known: [1, 1, 1],
    },
    series: [
        { label: 2, pinned: false, value: [10, 20, 30] },
        { label: 0, pinned: false, value: [1, 2, 3] },
        { label: 1, pinned: true, value: [5, 5, 5] },
    ],
    other: [4, 3, 2],
    total: [20, 30, 40],
};

describe('layers', () => {
    it('have pinned ones first and other last', () => {
        const layers = layersOf(ANSWER, 'live-bytes', 'sum');
        expect(layers.map((layer) => layer.id)).toEqual([41, 42, 40, null]);
        expect(layers.map((layer) => layer.pinned)).toEqual([true, false, false, false]);
    });

    it('stack up to the total of the server', () => {
        const edges = stacked(layersOf(ANSWER, 'live-bytes', 'sum'));
        expect(edges[0]).toEqual([5, 5, 5]);
        expect(edges.at(-1)).toEqual(ANSWER.total);
    });

    it('of a cumulative metric begin at zero and still add up', () => {
        const edges = stacked(layersOf(ANSWER, 'total-bytes', 'sum'));
        expect(edges.at(-1)).toEqual([0, 10, 20]);
        const perSecond = stacked(layersOf(ANSWER, 'total-bytes', 'rate'));
        expect(perSecond.at(-1)).toEqual([null, 10, 10]);
    });

    it('do not change live values', () => {
        expect(shown([0, 1], [7, 3], 'live-count', 'rate')).toEqual([7, 3]);
    });

    it('are found by a value', () => {
        const edges = stacked(layersOf(ANSWER, 'live-bytes', 'sum'));
        expect([0, 5, 5.1, 25.5, 28.5, 99].map((v) => layerAt(edges, 1, v))).toEqual([
            0, 0, 1, 2, 3, -1,
        ]);
        expect(nearest([[1], [10], [null]], 0, 7)).toBe(1);
        expect(nearest([], 0, 7)).toBe(-1);
    });
});

describe('colours', () => {
    it('stay with their function', () => {
        const memory = new Map<number, number>();
        expect([...colorIndices(memory, [9, 8, 7])]).toEqual([
            [9, 0],
            [8, 1],
            [7, 2],
        ]);
        expect([...colorIndices(memory, [7, 9])]).toEqual([
            [7, 2],
            [9, 0],
        ]);
        expect([...colorIndices(memory, [7, 9, 6])]).toEqual([
            [7, 2],
            [9, 0],
            [6, 1],
        ]);
    });

    it('are never shared by two that are shown', () => {
        const memory = new Map<number, number>();
        colorIndices(memory, [1, 2]);
        colorIndices(memory, [1, 3]); // 3 takes the colour of 2
        const now = colorIndices(memory, [1, 2, 3]);
        expect(new Set(now.values()).size).toBe(3);
        expect(now.get(1)).toBe(0);
    });
});
