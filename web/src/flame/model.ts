// SPDX-License-Identifier: Apache-2.0
//
// The call tree as the renderer wants it: columns in typed arrays, nodes in preorder, and for each
// level the nodes on it from left to right, so that what lies in view is found by binary search.
// Pure: no DOM.
//
// A tree shows one side of an answer, or both sides of a comparison at once. Then a node's own
// width is the larger of before and after, and widths add up to the root: what is gone keeps its
// place.
//
// Cost: layout, search and shares are linear in the nodes; 200,000 take some 20 ms.

import {
    LABEL_CUT, LABEL_ENDED_EARLY, LABEL_LOST, LABEL_OTHER, LABEL_ROOT,
} from '../api';
import { count } from '../format';
import { keyOfLabel } from './keys';
import type { Labels, Metric, TreeAnswer } from '../api';

/** A side by its index, or both sides of a comparison. */
export type ShownSide = number | 'both';

export interface Tree {
    readonly answer: TreeAnswer;
    readonly side: ShownSide;
    readonly count: number;
    /** Node of the answer that a node of this tree is. */
    readonly source: Int32Array;
    /** Index into the answer's labels, or one of the LABEL_ codes. */
    readonly label: Int32Array;
    readonly level: Int32Array;
    readonly parent: Int32Array;
    /** One past the last node of the subtree. */
    readonly end: Int32Array;
    /** Left and right edge; the root is 0 to 1. */
    readonly x0: Float64Array;
    readonly x1: Float64Array;
    /** For each level its nodes, from left to right. */
    readonly levels: readonly Int32Array[];
    /** What a node is as wide as, in the unit of the metric. */
    readonly weight: Float64Array;
}

/** What a node's own stacks and its whole subtree are as wide as. */
function weigh(answer: TreeAnswer, side: ShownSide): Float64Array {
    const { level, total, self } = answer.nodes;
    const n = level.length;
    const weight = new Float64Array(n);
    if (side !== 'both') {
        const values = total[side] ?? [];
        for (let i = 0; i < n; i++) {
            weight[i] = Math.max(values[i] ?? 0, 0);
        }
        return weight;
    }
    const parents = parentsOf(level);
    for (let i = n - 1; i >= 0; i--) {
        weight[i]! += Math.max(self[0]?.[i] ?? 0, self[1]?.[i] ?? 0, 0);
        const parent = parents[i]!;
        if (parent >= 0) {
            weight[parent]! += weight[i]!;
        }
    }
    return weight;
}

/** Parents of nodes in preorder, by their levels; -1: the root. */
export function parentsOf(level: ArrayLike<number>): Int32Array {
    const parent = new Int32Array(level.length);
    const path: number[] = [];
    for (let i = 0; i < level.length; i++) {
        const l = level[i]!;
        parent[i] = l === 0 ? -1 : path[l - 1]!;
        path[l] = i;
    }
    return parent;
}

/**
 * Preorder of the nodes that weigh something, the heaviest child first. The server sorts by both
 * sides together, so each side is sorted anew; "other" comes last among its equals in rank.
 */
function order(answer: TreeAnswer, weight: Float64Array): Int32Array {
    const { level, label } = answer.nodes;
    const n = level.length;
    const parent = parentsOf(level);
    const firstChild = new Int32Array(n).fill(-1);
    const nextSibling = new Int32Array(n).fill(-1);
    for (let i = n - 1; i > 0; i--) {
        if (weight[i]! > 0) {
            const p = parent[i]!;
            nextSibling[i] = firstChild[p]!;
            firstChild[p] = i;
        }
    }
    const rank = (i: number): number => (label[i] === LABEL_OTHER ? -1 : weight[i]!);
    const result = new Int32Array(n);
    const stack = [0];
    const children: number[] = [];
    let count = 0;
    while (stack.length > 0) {
        const node = stack.pop()!;
        result[count++] = node;
        children.length = 0;
        for (let child = firstChild[node]!; child >= 0; child = nextSibling[child]!) {
            children.push(child);
        }
        if (children.length > 1) {
            children.sort((a, b) => rank(b) - rank(a) || a - b);
        }
        for (let i = children.length - 1; i >= 0; i--) {
            stack.push(children[i]!);
        }
    }
    return result.subarray(0, count);
}

function subtreeEnds(parent: Int32Array): Int32Array {
    const end = new Int32Array(parent.length);
    for (let i = parent.length - 1; i >= 0; i--) {
        end[i] = Math.max(end[i]!, i + 1);
        const p = parent[i]!;
        if (p >= 0) {
            end[p] = Math.max(end[p]!, end[i]!);
        }
    }
    return end;
}

function byLevel(level: Int32Array): Int32Array[] {
    const sizes: number[] = [];
    for (const l of level) {
        sizes[l] = (sizes[l] ?? 0) + 1;
    }
    const levels = sizes.map((size) => new Int32Array(size));
    const filled = new Int32Array(sizes.length);
    level.forEach((l, node) => {
        levels[l]![filled[l]!++] = node;
    });
    return levels;
}

/** Edges of all nodes: children stand side by side from the parent's left edge. */
function place(weight: Float64Array, parent: Int32Array): Pick<Tree, 'x0' | 'x1'> {
    const n = parent.length;
    const x0 = new Float64Array(n);
    const x1 = new Float64Array(n);
    const next = new Float64Array(n);
    const whole = weight[0] || 1;
    x1[0] = 1;
    for (let i = 1; i < n; i++) {
        const p = parent[i]!;
        const left = next[p]!;
        const right = Math.min(left + weight[i]! / whole, x1[p]!);
        x0[i] = Math.min(left, right);
        x1[i] = right;
        next[p] = right;
        next[i] = x0[i]!;
    }
    return { x0, x1 };
}

/** The tree of one side, or of both sides of a comparison. */
export function makeTree(answer: TreeAnswer, side: ShownSide): Tree {
    const allWeights = weigh(answer, side);
    const source = answer.nodes.level.length > 0 ? order(answer, allWeights) : new Int32Array(0);
    const level = Int32Array.from(source, (node) => answer.nodes.level[node]!);
    const label = Int32Array.from(source, (node) => answer.nodes.label[node]!);
    const weight = Float64Array.from(source, (node) => allWeights[node]!);
    const parent = parentsOf(level);
    return {
        answer, side, count: source.length, source, label, level, parent, weight,
        end: subtreeEnds(parent), levels: byLevel(level), ...place(weight, parent),
    };
}

/** First of the nodes of a level whose right edge is beyond X; their number when there is none. */
export function firstBeyond(tree: Tree, nodes: Int32Array, x: number): number {
    let low = 0;
    let high = nodes.length;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (tree.x1[nodes[middle]!]! <= x) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/** The node of LEVEL that covers X; -1: none. */
export function nodeAt(tree: Tree, level: number, x: number): number {
    const nodes = tree.levels[level];
    if (!nodes) {
        return -1;
    }
    const node = nodes[firstBeyond(tree, nodes, x)];
    return node !== undefined && tree.x0[node]! <= x ? node : -1;
}

export function childrenOf(tree: Tree, node: number): number[] {
    const children: number[] = [];
    for (let child = node + 1; child < tree.end[node]!; child = tree.end[child]!) {
        children.push(child);
    }
    return children;
}

/** From the root down to NODE, both included. */
export function pathTo(tree: Tree, node: number): number[] {
    const path: number[] = [];
    for (let at = node; at >= 0; at = tree.parent[at]!) {
        path.unshift(at);
    }
    return path;
}

export function isWithin(tree: Tree, node: number, ancestor: number): boolean {
    return node >= ancestor && node < tree.end[ancestor]!;
}

/** What finds the same node in a later answer: keys of labels from below the root down. */
export type Path = readonly number[];

const keyOf = (tree: Tree, node: number): number => {
    const label = tree.label[node]!;
    return label >= 0 ? keyOfLabel(tree.answer.labels, label) : label;
};

export function pathKeys(tree: Tree, node: number): Path {
    return pathTo(tree, node).slice(1).map((at) => keyOf(tree, at));
}

/** The node of that path, or its deepest ancestor that is there. */
export function findPath(tree: Tree, path: Path): number {
    let node = 0;
    for (const key of path) {
        const child = childrenOf(tree, node).find((at) => keyOf(tree, at) === key);
        if (child === undefined) {
            break;
        }
        node = child;
    }
    return node;
}

/** Where the arrow keys lead; NODE itself where there is nothing. */
export function neighbour(
    tree: Tree, node: number, way: 'parent' | 'child' | 'left' | 'right',
): number {
    if (way === 'parent') {
        return Math.max(tree.parent[node]!, 0);
    }
    if (way === 'child') {
        return node + 1 < tree.end[node]! ? node + 1 : node;
    }
    const row = tree.levels[tree.level[node]!]!;
    let at = firstBeyond(tree, row, tree.x0[node]!);
    while (row[at] !== node && at < row.length) {
        at++;
    }
    return row[at + (way === 'left' ? -1 : 1)] ?? node;
}

const SPECIAL: Record<number, string> = {
    [LABEL_CUT]: 'stack cut at the depth limit',
    [LABEL_ENDED_EARLY]: 'unwinding ended early',
    [LABEL_LOST]: 'stack lost',
};

export function baseName(path: string): string {
    return path.slice(path.lastIndexOf('/') + 1);
}

/** Name of a label, with its place where labels are lines. */
export function labelName(labels: Labels, label: number, withLine = false): string {
    const known = labels.function[label] ?? '';
    const unknown = known === '' || known === '?';
    const name = unknown ? `? (in ${baseName(labels.module[label] ?? '')})` : known;
    const file = labels.file[label];
    const line = labels.line[label] ?? 0;
    return withLine && file ? `${name} ${baseName(file)}:${line}` : name;
}

/** How many nodes an "other" stands for. */
export function hiddenBy(tree: Tree, node: number): number {
    return tree.answer.nodes.hidden[tree.source[node]!] ?? 0;
}

export function nodeName(tree: Tree, node: number, withLine = false): string {
    const label = tree.label[node]!;
    if (label >= 0) {
        return labelName(tree.answer.labels, label, withLine);
    }
    if (label === LABEL_ROOT) {
        return 'all';
    }
    if (label === LABEL_OTHER) {
        const hidden = hiddenBy(tree, node);
        return `other (${count(hidden)} ${hidden === 1 ? 'node' : 'nodes'} hidden)`;
    }
    return SPECIAL[label] ?? 'unknown';
}

/** Path of the module of a node; empty where it has none. */
export function moduleOf(tree: Tree, node: number): string {
    const label = tree.label[node]!;
    return label >= 0 ? (tree.answer.labels.module[label] ?? '') : '';
}

/** Value of a node: its subtree's, or its own alone. */
export function valueOf(tree: Tree, node: number, kind: 'total' | 'self', side: number): number {
    return tree.answer.nodes[kind][side]?.[tree.source[node]!] ?? 0;
}

export function metricOf(tree: Tree, node: number, metric: Metric, side: number): number {
    return tree.answer.nodes.metrics[metric]?.[side]?.[tree.source[node]!] ?? 0;
}

/** What a node of a comparison grew by, from -1 (all of it is gone) over 0 to 1 (all is new). */
export function growth(tree: Tree, node: number): number {
    const before = valueOf(tree, node, 'total', 0);
    const after = valueOf(tree, node, 'total', 1);
    const larger = Math.max(before, after);
    return larger > 0 ? (after - before) / larger : 0;
}

export interface ModuleShare {
    module: string;
    /** Sum of what its functions hold themselves, in the width's unit. */
    self: number;
    /** The widest of its nodes. */
    widest: number;
}

/**
 * All modules of a tree, those whose own functions are widest first. INVERTED: the functions that
 * allocate are at the root.
 */
export function moduleShares(tree: Tree, inverted: boolean): ModuleShare[] {
    const shares = new Map<string, ModuleShare>();
    for (let node = 0; node < tree.count; node++) {
        if (tree.label[node]! < 0) {
            continue;
        }
        const module = moduleOf(tree, node);
        let entry = shares.get(module);
        if (!entry) {
            entry = { module, self: 0, widest: 0 };
            shares.set(module, entry);
        }
        entry.widest = Math.max(entry.widest, tree.weight[node]!);
        if (!inverted) {
            entry.self += ownWeight(tree, node);
        } else if (tree.level[node] === 1) {
            entry.self += tree.weight[node]!;
        }
    }
    return [...shares.values()].sort((a, b) => b.self - a.self || b.widest - a.widest);
}

function ownWeight(tree: Tree, node: number): number {
    let own = tree.weight[node]!;
    for (let child = node + 1; child < tree.end[node]!; child = tree.end[child]!) {
        own -= tree.weight[child]!;
    }
    return Math.max(own, 0);
}
