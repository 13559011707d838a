// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from 'vitest';
import { LABEL_ROOT } from '../api';
import type { TreeAnswer } from '../api';
import { hit, Renderer, ROW, treeHeight } from './canvas';
import type { Scene } from './canvas';
import { makeTree } from './model';
import { search } from './search';

interface Box {
    x: number;
    y: number;
    width: number;
    colour: string;
}

/** A context that remembers what is filled; letters are 7 pixels wide. */
function fakeContext(): { context: CanvasRenderingContext2D; boxes: Box[]; texts: string[] } {
    const boxes: Box[] = [];
    const texts: string[] = [];
    const nothing = (): void => undefined;
    const context = {
        fillStyle: '', globalAlpha: 1, setTransform: nothing, save: nothing, restore: nothing,
        beginPath: nothing, rect: nothing, clip: nothing, moveTo: nothing, lineTo: nothing,
        stroke: nothing, strokeRect: nothing,
        measureText: (text: string) => ({ width: text.length * 7 }),
        fillText: (text: string) => texts.push(text),
        fillRect(x: number, y: number, width: number) {
            boxes.push({ x, y, width, colour: String(this.fillStyle) });
        },
    };
    return { context: context as unknown as CanvasRenderingContext2D, boxes, texts };
}

/** A root with N equal children, of which each second one is of another function. */
function flat(n: number): TreeAnswer {
    const nodes = Array.from({ length: n + 1 }, (_, at) => at);
    const total = [nodes.map((at) => (at === 0 ? n : 1))];
    return {
        metric: 'live-bytes', unit: 'bytes', sides: ['value'],
        totals: { 'live-bytes': [n] } as TreeAnswer['totals'],
        labels: {
            id: [1, 2], function: ['even', 'odd'], module: ['/a', '/b'], file: [null, null],
            line: [0, 0], inlined: [0, 0], known: [1, 1],
        },
        nodes: {
            label: nodes.map((at) => (at === 0 ? LABEL_ROOT : at % 2)),
            level: nodes.map((at) => (at === 0 ? 0 : 1)), hidden: nodes.map(() => 0), total,
            self: total, metrics: {} as TreeAnswer['nodes']['metrics'],
        },
        node_count: n + 1,
    };
}

function sceneOf(answer: TreeAnswer, change: Partial<Scene> = {}): Scene {
    return {
        tree: makeTree(answer, 0), camera: { x0: 0, x1: 1, scroll: 0 }, width: 1000, height: 300,
        ratio: 1, bottom: false, zoomed: 0, selected: -1, hovered: -1, matches: null,
        withLines: false,
        theme: {
            dark: false, ink: 'ink', faint: 'faint', panel: 'panel', accent: 'accent', font: 'x',
        },
        ...change,
    };
}

function drawn(scene: Scene): { row: Box[]; texts: string[] } {
    const { context, boxes, texts } = fakeContext();
    new Renderer(context).draw(scene);
    return { row: boxes.slice(1).filter((box) => box.y === ROW), texts };
}

describe('drawing', () => {
    test('nodes stand side by side with their names', () => {
        const { row, texts } = drawn(sceneOf(flat(4)));
        expect(row.map((box) => Math.round(box.x))).toEqual([0, 250, 500, 750]);
        expect(texts).toEqual(['all', 'odd', 'even', 'odd', 'even']);
    });
    test('200,000 nodes below a pixel are drawn as slivers, none of the width is lost', () => {
        const { row } = drawn(sceneOf(flat(200000)));
        expect(row.length).toBeLessThanOrEqual(1001);
        const covered = row.reduce((sum, box) => sum + box.width, 0);
        expect(covered).toBeGreaterThan(995);
        expect(covered).toBeLessThan(1010);
    });
    test('zoomed, only what is in view is drawn', () => {
        const camera = { x0: 0.5005, x1: 0.5025, scroll: 0 };
        const { row } = drawn(sceneOf(flat(1000), { camera }));
        expect(row.map((box) => Math.round(box.x))).toEqual([0, 250, 750]);
    });
    test('a camera that makes no sense still ends', () => {
        const answer = flat(1000);
        for (const camera of [{ x0: 0.9, x1: 0.1, scroll: 0 }, { x0: 0.5, x1: 0.5, scroll: 0 }]) {
            expect(drawn(sceneOf(answer, { camera })).row.length).toBeLessThanOrEqual(1000);
        }
    });
    test('a sliver that holds one match is not dimmed', () => {
        const answer = flat(200000);
        answer.nodes.label = answer.nodes.label.map((_, at) => (at === 100001 ? 1 : 0));
        answer.nodes.label[0] = LABEL_ROOT;
        const tree = makeTree(answer, 0);
        const matches = search(tree, { kind: 'text', text: 'odd' });
        if (typeof matches === 'string') {
            throw new Error(matches);
        }
        expect(matches.count).toBe(1);
        const { row } = drawn(sceneOf(answer, { tree, matches }));
        const colours = new Map<string, number>();
        for (const { colour } of row) {
            colours.set(colour, (colours.get(colour) ?? 0) + 1);
        }
        expect([...colours.values()].sort((a, b) => a - b)).toEqual([1, row.length - 1]);
    });
});

describe('the node at a point', () => {
    test('is the one that is drawn there, root above or below, scrolled', () => {
        const scene = sceneOf(flat(4));
        expect(hit(scene, 600, ROW + 3)).toBe(3);
        expect(hit(scene, 600, 3)).toBe(0);
        expect(hit(scene, 600, 5 * ROW)).toBe(-1);
        const below = sceneOf(flat(4), { bottom: true });
        expect(hit(below, 600, 300 - 3)).toBe(0);
        expect(hit(below, 600, 300 - ROW - 3)).toBe(3);
        const scrolled = sceneOf(flat(4), { camera: { x0: 0, x1: 1, scroll: ROW } });
        expect(hit(scrolled, 600, 3)).toBe(3);
        expect(treeHeight(scene.tree)).toBe(2 * ROW);
    });
});
