// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import type { Process } from '../api';
import { badgeOf, commandLine, coverageShares,
    isCut, lossWords } from './facts';
import { quoted, reportCommand, toTheEnd } from './report';
import { ancestorsOf, sparkPoints, treeKey, treeOf, typedRow, unfolded } from './tree';
import type { TreeStep } from './tree';

describe('the report command', () => {
    const T = 1795983215795262;
    const text = '2026-11-29T20:13:35.795262999Z';
    it.each([
        ['peak of the run', { mode: 'peak' }, null, 'memhawk report f.binpb'],
        [
            'peak of an interval',
            { mode: 'peak', from: 1, to: 2 },
            T,
            `memhawk report --at ${text} f.binpb`,
        ],
        ['moment', { mode: 'moment', at: T }, null, `memhawk report --at ${text} f.binpb`],
        ['end', { mode: 'moment', at: 'end' }, null, 'memhawk report --at end f.binpb'],
        ['run', { mode: 'between' }, null, 'memhawk report --from start f.binpb'],
        [
            'interval by lines',
            { mode: 'between', from: T, to: T, metric: 'total-count', granularity: 'line' },
            null,
            `memhawk report --from ${text} --to ${text} --metric total-count --granularity line f.binpb`,
        ],
        [
            'window',
            { mode: 'window', window: 'a b', metric: 'live-bytes', filter: "x'y" },
            null,
            "memhawk report --window 'a b' --metric live-bytes --filter 'x'\\''y' f.binpb",
        ],
    ] as const)('%s', (_name, selection, peak, expected) => {
        expect(reportCommand('f.binpb', selection, peak)).toBe(expected);
    });

    it('says "end" for what reaches the last snapshot', () => {
        expect(toTheEnd({ from: 1, to: 9 }, 9)).toEqual({ from: 1 });
        expect(toTheEnd({ from: 1, to: 8 }, 9)).toEqual({ from: 1, to: 8 });
        expect(toTheEnd({ at: 9 }, 9)).toEqual({ at: 'end' });
        expect(toTheEnd({ at: 8 }, 9)).toEqual({ at: 8 });
        expect(toTheEnd({ at: 'end' }, 9)).toEqual({ at: 'end' });
    });

    it('quotes for the shell', () => {
        expect(['a/b-1.c', '', '$(rm)', '-x y'].map(quoted)).toEqual([
            'a/b-1.c',
            "''",
            "'$(rm)'",
            "'-x y'",
        ]);
    });
});

describe('the tree of processes', () => {
    const p = (id: number, parent_id: number | null): Process => ({ id, parent_id }) as Process;
    const shape = (list: Process[]): string =>
        treeOf(list)
            .map((row) => `${row.depth}:${row.process.id}`)
            .join(' ');
    it('has children below their parents', () => {
        expect(shape([p(1, null), p(2, null), p(3, 1), p(4, 3)])).toBe('0:1 1:3 2:4 0:2');
    });

    it('shows everybody once, whatever the parents are', () => {
        expect(shape([p(1, 99), p(2, 2), p(3, 4), p(4, 3)])).toBe('0:1 0:2 0:3 1:4');
        expect(shape([p(5, 4), p(1, 3), p(2, 1), p(3, 2), p(4, 1)])).toBe('0:1 1:2 2:3 1:4 2:5');
    });

    //  1 ─ 3 ─ 4
    //    ─ 5
    //  2
    const rows = treeOf([p(1, null), p(2, null), p(3, 1), p(4, 3), p(5, 1)]);
    const seen = (...folded: number[]) => unfolded(rows, new Set(folded));

    it('knows siblings, children and ancestors', () => {
        const words = rows.map((r) => `${r.process.id}: ${r.place}/${r.of} ${r.children}`);
        expect(words).toEqual(['1: 1/2 2', '3: 1/2 1', '4: 1/1 0', '5: 2/2 0', '2: 2/2 0']);
        expect(ancestorsOf(rows, 4)).toEqual([3, 1]);
        expect(ancestorsOf(rows, 2)).toEqual([]);
        expect(ancestorsOf(rows, 9)).toEqual([]);
    });

    it('hides what is below a folded row', () => {
        const ids = (...folded: number[]) => seen(...folded).map((r) => r.process.id);
        expect(ids()).toEqual([1, 3, 4, 5, 2]);
        expect(ids(3)).toEqual([1, 3, 5, 2]);
        expect(ids(1)).toEqual([1, 2]);
        expect(ids(2)).toEqual([1, 3, 4, 5, 2]);
    });

    it.each<[id: number, key: string, folded: number[], step: TreeStep | null]>([
        [1, 'ArrowDown', [], { focus: 3 }],
        [1, 'ArrowDown', [1], { focus: 2 }],
        [2, 'ArrowDown', [], null],
        [2, 'ArrowUp', [], { focus: 5 }],
        [1, 'ArrowUp', [], null],
        [4, 'Home', [], { focus: 1 }],
        [4, 'End', [], { focus: 2 }],
        [1, 'ArrowRight', [], { focus: 3 }],
        [1, 'ArrowRight', [1], { unfold: 1 }],
        [4, 'ArrowRight', [], null],
        [4, 'ArrowLeft', [], { focus: 3 }],
        [3, 'ArrowLeft', [], { fold: 3 }],
        [3, 'ArrowLeft', [3], { focus: 1 }],
        [1, 'ArrowLeft', [1], null],
        [2, 'ArrowLeft', [], null],
        [2, 'x', [], null],
        [9, 'Home', [], null],
    ])('%i: %s, folded %j', (id, key, folded, step) => {
        expect(treeKey(seen(...folded), new Set(folded), id, key)).toEqual(step);
    });

    it('finds what is typed', () => {
        const named = ['sh', 'Python', 'sed', 'perl'].map((name, i) =>
            ({ id: i, parent_id: null, name, pid: 70 + i }) as Process);
        const find = (id: number, typed: string) => typedRow(treeOf(named), id, typed);
        expect(find(0, 's')).toBe(2);
        expect(find(2, 's')).toBe(0);
        expect(find(0, 'p')).toBe(1);
        expect(find(1, 'pe')).toBe(3);
        expect(find(1, 'py')).toBe(1);
        expect(find(0, '72')).toBe(2);
        expect(find(0, 'x')).toBeNull();
    });
});

describe('sparklines', () => {
    it('fill their box', () => {
        expect(sparkPoints([0, 5, 10], 100, 20)).toBe('0.0,19.0 50.0,10.0 100.0,1.0');
        expect(sparkPoints([7], 100, 20)).toBe('');
        expect(sparkPoints([0, 0], 10, 20)).toBe('0.0,19.0 10.0,19.0');
    });
});

describe('facts of the header', () => {
    it('tells how a process ended', () => {
        const tone = (state: Process['state'], end: string | null): string =>
            `${badgeOf({ state, end }).tone} ${badgeOf({ state, end }).text}`;
        expect(tone('running', null)).toBe('good running');
        expect(badgeOf({ state: 'running', end: null }, false).text).toBe('was running');
        expect(tone('ended', 'exit status 0')).toBe('plain exit status 0');
        expect(tone('ended', 'exit status 30')).toBe('warn exit status 30');
        expect(tone('ended', 'signal 11')).toBe('warn signal 11');
        expect(tone('gone', null)).toBe('bad killed');
        expect(tone('unknown', null)).toBe('warn state unknown');
    });

    it('splits RSS', () => {
        const c = { time: 0, live_bytes: 40, usable_bytes: 50, own_bytes: 20, rss_bytes: 100 };
        expect(coverageShares(c).map((s) => [s.name, s.bytes])).toEqual([
            ['live', 40],
            ['overhead', 10],
            ['recorder', 20],
            ['other', 30],
        ]);
    });

    it('never fills more than the bar when untouched pages are not resident', () => {
        const c = { time: 0, live_bytes: 90, usable_bytes: 120, own_bytes: 20, rss_bytes: 100 };
        const shares = coverageShares(c);
        const parts = shares.map((s) => s.part);
        expect(parts[0]).toBeCloseTo(0.9, 12);
        expect(parts[1]).toBeCloseTo(0.1, 12);
        expect(parts[2]).toBeCloseTo(0, 12);
        expect(shares[3]?.bytes).toBe(0);
        expect(shares.map((s) => isCut(s, c.rss_bytes))).toEqual([false, true, true, false]);
    });

    it('writes losses and command lines for people', () => {
        expect(lossWords('missed_frees')).toBe('releases not seen');
        expect(lossWords('new_kind_of_loss')).toBe('new kind of loss');
        expect(commandLine(['a', 'b c', ''])).toBe('a "b c" ""');
    });
});
