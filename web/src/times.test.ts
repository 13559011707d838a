// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { clocks, parseTime, rfc3339, seconds, shortSeconds } from './times';

const START = 1795983215795262;

describe('seconds since the start', () => {
    it('are exact to the microsecond and short', () => {
        expect(seconds(START, START)).toBe('0');
        expect(seconds(START + 1, START)).toBe('0.000001');
        expect(seconds(START + 12_345_000, START)).toBe('12.345');
        expect(seconds(START + 100_000_000, START)).toBe('100');
    });

    it('come back from the text that was written', () => {
        for (const us of [0, 1, 999_999, 12_345_678, 86_400_000_000]) {
            expect(parseTime(seconds(START + us, START), START, 'start')).toBe(START + us);
        }
    });

    it('are rounded by the length of what is shown', () => {
        expect(shortSeconds(START + 1_234_567, START, 5e6)).toBe('1.235 s');
        expect(shortSeconds(START + 1_234_567, START, 5e7)).toBe('1.23 s');
        expect(shortSeconds(START + 61_234_567, START, 5e8)).toBe('61.2 s');
        expect(shortSeconds(START + 61_234_567, START, 5e9)).toBe('61 s');
    });
});

describe('a typed time', () => {
    it.each([
        ['2', 2_000_000],
        [' 1.5 s', 1_500_000],
        ['.25', 250_000],
        ['1:30', 90_000_000],
        ['1:02:03.5', 3_723_500_000],
        ['start', 0],
    ])('%s', (text, us) => {
        expect(parseTime(text, START, 'end')).toBe(START + us);
    });

    it('may be the end that the field has', () => {
        expect(parseTime('end', START, 'end')).toBe(null);
        expect(parseTime('Now', START, 'end')).toBe(null);
        expect(parseTime('', START, 'end')).toBe(null);
        expect(parseTime('start', START, 'start')).toBe(null);
    });

    it.each(['x', '1,5', '-1', '1:2:3:4', 'end', '1e3'])('is not %s', (text) => {
        expect(parseTime(text, START, 'start')).toBe(undefined);
    });
});

describe('times for the command', () => {
    // 1795983215 is 2026-11-29 20:13:35 UTC (date -u -d @1795983215).
    it('mean the end of the microsecond', () => {
        expect(rfc3339(START)).toBe('2026-11-29T20:13:35.795262999Z');
        expect(rfc3339(1795983215000007)).toBe('2026-11-29T20:13:35.000007999Z');
    });
});

describe('an interval on the clock', () => {
    const noon = new Date(2026, 0, 31, 12, 0, 0).getTime() * 1000;
    it('has dates only where the days differ', () => {
        expect(clocks(noon, noon + 1.5e6)).toBe('12:00:00.000 – 12:00:01.500');
        expect(clocks(noon, noon + 86400e6)).toBe('2026-01-31 12:00:00 – 2026-02-01 12:00:00');
    });
});
