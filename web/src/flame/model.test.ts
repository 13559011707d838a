// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from 'vitest';
import { LABEL_OTHER, LABEL_ROOT } from '../api';
import type { Labels, Metric, TreeAnswer } from '../api';
import { focusOf, keyOfLabel, labelWithKey } from './keys';
import {
    childrenOf, findPath, growth, isWithin, makeTree, moduleShares, neighbour, nodeAt, nodeName,
    pathKeys, pathTo,
} from './model';
import { search } from './search';

const METRIC: Metric = 'live-bytes';

function labelsOf(names: string[]): Labels {
    return {
        id: names.map((_, at) => 100 + at),
        function: names,
        module: names.map((name) => (name.startsWith('lib') ? '/usr/lib/lib.so' : '/bin/app')),
        file: names.map(() => null),
        line: names.map(() => 0),
        inlined: names.map(() => 0),
        known: names.map(() => 1),
    };
}

/** Rows of level, name (or a special label), then total and self for each side, in preorder. */
type Line = [level: number, name: string | number, ...values: number[]];

function answerOf(sides: TreeAnswer['sides'], lines: Line[]): TreeAnswer {
    const names = [...new Set(lines.map((l) => l[1]).filter((n) => typeof n === 'string'))];
    const column = (at: number) => lines.map((line) => line[at] as number);
    const total = sides.map((_, side) => column(2 + 2 * side));
    const self = sides.map((_, side) => column(3 + 2 * side));
    return {
        metric: METRIC, unit: 'bytes', sides,
        totals: { [METRIC]: total.map((values) => values[0]!) } as TreeAnswer['totals'],
        labels: labelsOf(names),
        nodes: {
            label: lines.map((l) => (typeof l[1] === 'string' ? names.indexOf(l[1]) : l[1])),
            level: column(0), hidden: lines.map((l) => (l[1] === LABEL_OTHER ? 7 : 0)),
            total, self, metrics: { [METRIC]: total } as TreeAnswer['nodes']['metrics'],
        },
        node_count: lines.length,
    };
}

const ONE = answerOf(['value'], [
    [0, LABEL_ROOT, 100, 0],
    [1, 'main', 90, 10],
    [2, LABEL_OTHER, 45, 45],
    [2, 'parse', 35, 5],
    [3, 'parse', 30, 30],
    [1, 'lib_start', 10, 6],
    [2, 'lib_init', 4, 4],
]);

describe('one side', () => {
    const tree = makeTree(ONE, 0);
    const named = (name: string): number[] =>
        [...tree.label.keys()].filter((node) => nodeName(tree, node) === name);

    test('edges are shares of the root', () => {
        const [main] = named('main');
        expect(tree.x0[main!]).toBe(0);
        expect(tree.x1[main!]).toBeCloseTo(0.9);
        expect(tree.x1[named('lib_start')[0]!]).toBeCloseTo(1);
        expect(tree.x0[named('lib_init')[0]!]).toBeCloseTo(0.9);
        expect(tree.x1[named('lib_init')[0]!]).toBeCloseTo(0.94);
    });
    test('other stands last, though it is larger', () => {
        const [main] = named('main');
        const names = childrenOf(tree, main!).map((node) => nodeName(tree, node));
        expect(names).toEqual(['parse', 'other (7 nodes hidden)']);
        expect(tree.x0[named('parse')[0]!]).toBe(0);
    });
    test('a point finds its node, and nothing where a node has no child', () => {
        expect(nodeName(tree, nodeAt(tree, 2, 0.34))).toBe('parse');
        expect(nodeName(tree, nodeAt(tree, 2, 0.36))).toBe('other (7 nodes hidden)');
        expect(nodeAt(tree, 2, 0.85)).toBe(-1);
        expect(nodeName(tree, nodeAt(tree, 2, 0.93))).toBe('lib_init');
        expect(nodeAt(tree, 9, 0.5)).toBe(-1);
    });
    test('a match below a match is counted once', () => {
        const found = search(tree, { kind: 'text', text: 'PARSE' });
        expect(found).toMatchObject({ count: 2, sums: [35], weight: 35 });
    });
    test('regular expressions, and what is wrong with one', () => {
        expect(search(tree, { kind: 'text', text: '/^lib_/' })).toMatchObject({ sums: [10] });
        expect(search(tree, { kind: 'text', text: '/(/' })).toContain('xpression');
    });
    test('a label and a module', () => {
        expect(search(tree, { kind: 'label', id: 100 })).toMatchObject({ count: 1, sums: [90] });
        const module = '/usr/lib/lib.so';
        expect(search(tree, { kind: 'module', module })).toMatchObject({ sums: [10] });
    });
    test('shares of modules are of their own values; other has none', () => {
        expect(moduleShares(tree, false)).toEqual([
            { module: '/bin/app', self: 45, widest: 90 },
            { module: '/usr/lib/lib.so', self: 10, widest: 10 },
        ]);
    });
    test('of an inverted tree the first level allocates', () => {
        expect(moduleShares(tree, true)).toEqual([
            { module: '/bin/app', self: 90, widest: 90 },
            { module: '/usr/lib/lib.so', self: 10, widest: 10 },
        ]);
    });
    test('the keyboard walks', () => {
        const [outer, inner] = named('parse');
        expect(neighbour(tree, outer!, 'child')).toBe(inner);
        expect(neighbour(tree, inner!, 'child')).toBe(inner);
        expect(neighbour(tree, inner!, 'parent')).toBe(outer);
        expect(nodeName(tree, neighbour(tree, outer!, 'right'))).toBe('other (7 nodes hidden)');
        expect(neighbour(tree, outer!, 'left')).toBe(outer);
    });
    test('a path finds its node in another tree, or how far it goes there', () => {
        const [, inner] = named('parse');
        const path = pathKeys(tree, inner!);
        expect(findPath(tree, path)).toBe(inner);
        const without = makeTree(answerOf(['value'], [
            [0, LABEL_ROOT, 100, 0],
            [1, 'main', 100, 100],
        ]), 0);
        expect(nodeName(without, findPath(without, path))).toBe('main');
        expect(pathTo(tree, inner!).map((node) => tree.level[node])).toEqual([0, 1, 2, 3]);
        expect(isWithin(tree, inner!, named('main')[0]!)).toBe(true);
        expect(isWithin(tree, inner!, named('lib_start')[0]!)).toBe(false);
    });
});

describe('two sides of an interval', () => {
    const answer = answerOf(['added', 'removed'], [
        [0, LABEL_ROOT, 60, 0, 50, 0],
        [1, 'a', 40, 40, 10, 10],
        [1, 'b', 20, 20, 0, 0],
        [1, 'c', 0, 0, 40, 40],
    ]);
    test('each side has its own nodes in its own order', () => {
        const order = (side: number): string[] => {
            const tree = makeTree(answer, side);
            return [...tree.label.keys()].slice(1).map((node) => nodeName(tree, node));
        };
        expect(order(0)).toEqual(['a', 'b']);
        expect(order(1)).toEqual(['c', 'a']);
    });
    test('values are those of the answer, whatever the order', () => {
        const tree = makeTree(answer, 1);
        expect(tree.weight[1]).toBe(40);
        expect(search(tree, { kind: 'text', text: 'a' })).toMatchObject({ sums: [40, 10] });
    });
    test('an empty side has a root of no weight', () => {
        const tree = makeTree(answerOf(['added', 'removed'], [[0, LABEL_ROOT, 5, 5, 0, 0]]), 1);
        expect(tree.count).toBe(1);
        expect(tree.weight[0]).toBe(0);
    });
});

describe('comparison', () => {
    const tree = makeTree(answerOf(['before', 'after'], [
        [0, LABEL_ROOT, 100, 0, 80, 0],
        [1, 'gone', 60, 60, 0, 0],
        [1, 'grown', 40, 40, 60, 60],
        [1, 'new', 0, 0, 20, 20],
    ]), 'both');
    test('what is gone keeps its width: the sum is that of the larger values', () => {
        expect(tree.weight[0]).toBe(60 + 60 + 20);
        const widths = [1, 2, 3].map((node) => tree.x1[node]! - tree.x0[node]!);
        expect(widths[0]).toBeCloseTo(60 / 140);
        expect(widths[2]).toBeCloseTo(20 / 140);
    });
    test('growth from gone to new', () => {
        const by = new Map([1, 2, 3].map((node) => [nodeName(tree, node), growth(tree, node)]));
        expect(by.get('gone')).toBe(-1);
        expect(by.get('new')).toBe(1);
        expect(by.get('grown')).toBeCloseTo(20 / 60);
    });
    test('functions that only the earlier process has are told apart', () => {
        const answer = answerOf(['before', 'after'], [
            [0, LABEL_ROOT, 100, 0, 80, 0],
            [1, 'stays', 30, 30, 80, 80],
            [1, 'gone', 40, 40, 0, 0],
            [1, 'also gone', 30, 30, 0, 0],
        ]);
        Object.assign(answer.labels, { id: [7, -1, -1], id_before: [3, 0, 8] });
        const two = makeTree(answer, 'both');
        const back = [1, 2, 3].map((node) => nodeName(two, findPath(two, pathKeys(two, node))));
        expect(back).toEqual(['stays', 'gone', 'also gone']);
        expect([0, 1, 2].map((at) => labelWithKey(answer.labels, keyOfLabel(answer.labels, at))))
            .toEqual([0, 1, 2]);
        expect(focusOf(keyOfLabel(answer.labels, 0))).toEqual({ focus: 7 });
        expect(focusOf(keyOfLabel(answer.labels, 1))).toEqual({ focus_before: 0 });
        expect(labelWithKey(answer.labels, 3)).toBe(-1);
    });
});

test('a deep tree does not exhaust the stack, and 200,000 nodes are quick', () => {
    const deep: Line[] = Array.from({ length: 20000 }, (_, level) => [
        level, level === 0 ? LABEL_ROOT : 'f', 1, 0,
    ]);
    const tree = makeTree(answerOf(['value'], deep), 0);
    expect(tree.levels.length).toBe(20000);
    expect(tree.x1[19999]).toBe(1);
    const wide: Line[] = Array.from({ length: 200000 }, (_, at) =>
        at === 0 ? [0, LABEL_ROOT, 199999, 0] : [1, 'f', 1, 1]);
    expect(makeTree(answerOf(['value'], wide), 0).levels[1]!.length).toBe(199999);
});
