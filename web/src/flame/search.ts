// SPDX-License-Identifier: Apache-2.0
//
// Which nodes of a tree are meant: by a text or /regex/ over their names, by one label, or by a
// module. Tested once a label, not once a node. A match below a match is shown as one, but its
// value is in the outer one already: sums take the outermost matches only.

import type { TreeAnswer } from '../api';
import { baseName } from './model';
import type { Tree } from './model';

export type Wanted =
    | { kind: 'text'; text: string }
    | { kind: 'label'; id: number }
    | { kind: 'module'; module: string };

export interface Matches {
    readonly wanted: Wanted;
    /** 1 for each node that matches. */
    readonly node: Uint8Array;
    readonly count: number;
    /** Value of the outermost matches, for each side of the answer. */
    readonly sums: readonly number[];
    /** The same in the width's unit; see Tree. */
    readonly weight: number;
}

/** Names are tested while the page waits. */
const PATIENCE_MS = 1000;
const TOO_SLOW = 'takes too long on these names';

/**
 * A repeated group in which something is repeated or chosen: "(a*)*" and "(a|.)*" try out all ways
 * to cut a name into parts, which takes minutes for one name and cannot be stopped.
 */
function repeatsTwice(pattern: string): boolean {
    const loose: boolean[] = [false];
    const plain = pattern.replace(/\\./g, 'x').replace(/\[[^\]]*\]/g, 'x');
    for (let at = 0; at < plain.length; at++) {
        const next = plain.charAt(at + 1);
        if (plain[at] === '(') {
            loose.push(false);
            at += next === '?' ? 1 : 0; // "(?:", "(?="
        } else if (plain[at] === ')') {
            const inside = loose.length > 1 && loose.pop() === true;
            if (inside && '*+{'.includes(next) && next !== '') {
                return true;
            }
            loose[loose.length - 1] ||= inside;
        } else if ('*+{?|'.includes(plain.charAt(at))) {
            loose[loose.length - 1] = true;
        }
    }
    return false;
}

/** A test of names, or what is wrong with the expression. */
export function nameTest(text: string): ((name: string) => boolean) | string {
    const expression = /^\/(.+)\/(i?)$/.exec(text);
    if (!expression) {
        const wanted = text.toLowerCase();
        return (name) => name.toLowerCase().includes(wanted);
    }
    if (repeatsTwice(expression[1]!)) {
        return 'repeats a group that repeats or chooses, which takes too long';
    }
    try {
        const pattern = new RegExp(expression[1]!, expression[2]);
        return (name) => pattern.test(name);
    } catch (error) {
        return error instanceof Error ? error.message : 'not a regular expression';
    }
}

/** For each label 1 where it is meant; a text finds functions and `file:line`. */
function matchLabels(answer: TreeAnswer, wanted: Wanted): Uint8Array | string {
    const { labels } = answer;
    const found = new Uint8Array(labels.id.length);
    if (wanted.kind === 'label') {
        const at = labels.id.indexOf(wanted.id);
        if (at >= 0) {
            found[at] = 1;
        }
        return found;
    }
    if (wanted.kind === 'module') {
        labels.module.forEach((module, at) => {
            found[at] = module === wanted.module ? 1 : 0;
        });
        return found;
    }
    const test = nameTest(wanted.text);
    if (typeof test === 'string') {
        return test;
    }
    const end = performance.now() + PATIENCE_MS;
    for (let at = 0; at < found.length; at++) {
        if (performance.now() > end) {
            return TOO_SLOW;
        }
        const file = labels.file[at];
        const hit = test(labels.function[at] ?? '') ||
            (file ? test(`${baseName(file)}:${labels.line[at]}`) : false);
        found[at] = hit ? 1 : 0;
    }
    return found;
}

/** A string says what is wrong with a regular expression. */
export function search(tree: Tree, wanted: Wanted): Matches | string {
    const labels = matchLabels(tree.answer, wanted);
    if (typeof labels === 'string') {
        return labels;
    }
    const { total } = tree.answer.nodes;
    const node = new Uint8Array(tree.count);
    const sums = total.map(() => 0);
    let count = 0;
    let weight = 0;
    let outerEnd = 0;
    for (let i = 0; i < tree.count; i++) {
        const label = tree.label[i]!;
        if (label < 0 || labels[label] !== 1) {
            continue;
        }
        node[i] = 1;
        count++;
        if (i >= outerEnd) {
            outerEnd = tree.end[i]!;
            weight += tree.weight[i]!;
            total.forEach((values, side) => {
                sums[side]! += values[tree.source[i]!] ?? 0;
            });
        }
    }
    return { wanted, node, count, sums, weight };
}
