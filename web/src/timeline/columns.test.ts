// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import type { SnapshotEvent } from '../api';
import { append, COLUMN_NAMES, join, LIMIT, lowerBound, peakIndex } from './columns';
import { rates, thin } from './columns';
import type { Columns } from './columns';

/** Columns whose other values are the time times ten, so that a mix-up of rows shows. */
function made(times: number[], live: number[]): Columns {
    const columns = Object.fromEntries(
        COLUMN_NAMES.map((name) => [name, times.map((t) => t * 10)]),
    ) as Columns;
    return { ...columns, time: times, live_bytes: live };
}

function event(time: number, live: number): SnapshotEvent {
    const columns = made([time], [live]);
    const values = Object.fromEntries(COLUMN_NAMES.map((name) => [name, columns[name][0]]));
    return { ...values, id: 1, snapshots: 1 } as unknown as SnapshotEvent;
}

describe('appending a snapshot', () => {
    it('makes new columns and leaves the old ones alone', () => {
        const before = made([1, 2], [5, 6]);
        const after = append(before, event(3, 7));
        expect(after).toEqual(made([1, 2, 3], [5, 6, 7]));
        expect(before).toEqual(made([1, 2], [5, 6]));
    });

    it('ignores what is not newer', () => {
        const before = made([1, 2], [5, 6]);
        expect(append(before, event(2, 9))).toBe(before);
        expect(append(before, event(1, 9))).toBe(before);
    });

    it('stays below the limit over a long run and keeps the peak, first and last', () => {
        let columns = made([], []);
        const total = LIMIT * 2 + 7;
        for (let i = 0; i < total; i++) {
            columns = append(columns, event(i, i === 1234 ? 1e9 : i % 100));
        }
        expect(columns.time.length).toBeLessThanOrEqual(LIMIT);
        expect(Math.max(...columns.live_bytes)).toBe(1e9);
        expect(columns.time[columns.live_bytes.indexOf(1e9)]).toBe(1234);
        expect([columns.time[0], columns.time.at(-1)]).toEqual([0, total - 1]);
        expect(columns.rss_bytes).toEqual(columns.time.map((t) => t * 10));
    });
});

describe('thinning', () => {
    it('keeps the higher of two neighbours', () => {
        const c = thin(made([0, 1, 2, 3, 4, 5], [9, 1, 8, 7, 2, 3]));
        expect(c).toEqual(made([0, 2, 3, 5], [9, 8, 7, 3]));
    });

    it.each([0, 1, 2, 3])('of %i columns loses neither end', (n) => {
        const times = Array.from({ length: n }, (_, i) => i);
        const c = thin(made(times, times));
        expect([c.time[0], c.time.at(-1)]).toEqual([times[0], times.at(-1)]);
    });
});

describe('joining a finer part', () => {
    const base = made([0, 10, 20, 30, 40], [1, 2, 3, 4, 5]);
    it('replaces what lies in its span, its ends included', () => {
        const fine = made([10, 12, 14, 30], [2, 7, 8, 4]);
        expect(join(base, fine)).toEqual(made([0, 10, 12, 14, 30, 40], [1, 2, 7, 8, 4, 5]));
    });

    it('keeps the order when it reaches past both ends', () => {
        const fine = made([-5, 50], [0, 9]);
        expect(join(base, fine)).toEqual(fine);
        expect(join(base, made([], []))).toBe(base);
        expect(join(base, made([50, 60], [1, 1])).time).toEqual([0, 10, 20, 30, 40, 50, 60]);
    });
});

describe('looking up', () => {
    const c = made([10, 20, 20, 30], [4, 9, 9, 2]);
    it('finds bounds', () => {
        expect([5, 10, 20, 25, 31].map((t) => lowerBound(c.time, t))).toEqual([0, 0, 1, 3, 4]);
        expect([5, 10, 20, 31].map((t) => lowerBound(c.time, t, true))).toEqual([0, 1, 3, 4]);
    });

    it('finds the peak inside of a span only', () => {
        expect(peakIndex(c, 0, 99)).toBe(1);
        expect(peakIndex(c, 25, 99)).toBe(3);
        expect(peakIndex(c, 21, 29)).toBe(-1);
    });
});

describe('rates', () => {
    it('are growth per second', () => {
        expect(rates([0, 1e6, 3e6], [0, 100, 500])).toEqual([null, 100, 200]);
    });

    it('are not taken over the millisecond between a tick and a peak', () => {
        // The fourth column lies 1 ms after the third; 50 in that ms would be 50,000 per second.
        const r = rates([0, 1e6, 2e6, 2.001e6, 3e6], [0, 100, 200, 250, 300]);
        expect(r[3]).toBeCloseTo(150 / 1.001, 6);
        expect(r[4]).toBeCloseTo(50 / 0.999, 6);
    });

    it('of nothing are nothing', () => {
        expect(rates([], [])).toEqual([]);
        expect(rates([5], [7])).toEqual([null]);
        expect(rates([5, 5], [7, 9])).toEqual([null, null]);
    });
});
