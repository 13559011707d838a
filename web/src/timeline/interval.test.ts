// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { tick, shortBytes, shortCount } from './axes';
import { moved, ordered, resized, viewAround, zoomed } from './interval';

const RUN = { from: 0, to: 10_000_000 };

describe('intervals', () => {
    it('are ordered, whole and inside of the run', () => {
        expect(ordered(30.4, 10.6, RUN)).toEqual({ from: 11, to: 30 });
        expect(ordered(-5, 99_000_000, RUN)).toEqual(RUN);
    });

    it('move with their length kept, up to the ends', () => {
        const i = { from: 1_000_000, to: 3_000_000 };
        expect(moved(i, 500_000, RUN)).toEqual({ from: 1_500_000, to: 3_500_000 });
        expect(moved(i, -5_000_000, RUN)).toEqual({ from: 0, to: 2_000_000 });
        expect(moved(i, 50_000_000, RUN)).toEqual({ from: 8_000_000, to: 10_000_000 });
        expect(moved(RUN, 1000, RUN)).toEqual(RUN);
    });

    it('are sized at their end', () => {
        const i = { from: 1_000_000, to: 3_000_000 };
        expect(resized(i, 500_000, RUN)).toEqual({ from: 1_000_000, to: 3_500_000 });
        expect(resized(i, -9_000_000, RUN)).toEqual({ from: 1_000_000, to: 1_000_000 });
        expect(resized(i, 99_000_000, RUN)).toEqual({ from: 1_000_000, to: 10_000_000 });
    });
});

describe('zooming', () => {
    it('leaves the time under the pointer where it is', () => {
        const view = zoomed({ from: 2_000_000, to: 6_000_000 }, 3_000_000, 0.5, RUN);
        expect(view).toEqual({ from: 2_500_000, to: 4_500_000 });
    });

    it('out of the run shows all of it', () => {
        expect(zoomed({ from: 0, to: 9_000_000 }, 5_000_000, 2, RUN)).toBe(null);
    });

    it('has an end', () => {
        const view = zoomed({ from: 0, to: 3000 }, 1500, 0.001, RUN);
        expect((view?.to ?? 0) - (view?.from ?? 0)).toBe(2000);
    });

    it('around an interval leaves some room', () => {
        expect(viewAround({ from: 4_000_000, to: 5_000_000 }, RUN)).toEqual({
            from: 3_920_000,
            to: 5_080_000,
        });
        expect(viewAround(RUN, RUN)).toBe(null);
    });
});

describe('ticks of the axes', () => {
    it.each([
        [0, 10, '0 s'],
        [30, 10, '30 s'],
        [0.25, 0.05, '0.25 s'],
        [0.5, 0.5, '0.5 s'],
        [0.012, 0.001, '0.012 s'],
        [0.0012, 0.0001, '1.2 ms'],
        [0.000007, 0.000001, '0.007 ms'],
        [90, 30, '1:30'],
        [120, 60, '2:00'],
        [3723, 1, '1:02:03'],
    ])('%d by %d', (value, step, text) => {
        expect(tick(value, step)).toBe(text);
    });

    it('are short', () => {
        expect([0, 950, 1200, 1_000_000].map(shortCount)).toEqual(['0', '950', '1.2k', '1M']);
        expect(shortBytes(16 * 1024 * 1024)).toBe('16\u202fMiB');
        expect(shortBytes(1.5 * 1024)).toBe('1.5\u202fKiB');
        expect(shortBytes(1.25 * 1024 ** 3)).toBe('1.25\u202fGiB');
        expect(shortBytes(0)).toBe('0\u202fB');
    });
});
