// SPDX-License-Identifier: Apache-2.0
//
// What there is to say about a node: in the tooltip and, the same, in the strip below the graph.

import type { JSX } from 'preact';
import { METRICS } from '../api';
import type { Metric, Side } from '../api';
import { amount, exact, METRIC_NAME, METRIC_UNIT, share, signed } from '../format';
import { baseName, metricOf, moduleOf, nodeName, valueOf } from './model';
import type { Tree } from './model';

export const SIDE_NAME: Record<Side, string> = {
    value: '',
    added: 'added',
    removed: 'removed',
    before: 'before',
    after: 'after',
};

const KIND_NAME = { total: 'Total', self: 'Self' };

/** Sides that a tree shows, by index. */
export function shownSides(tree: Tree): number[] {
    return tree.side === 'both' ? [0, 1] : [tree.side];
}

/** Module, place and inlining in one line; empty for nodes that are no function. */
export function whereText(tree: Tree, node: number): string {
    const label = tree.label[node]!;
    if (label < 0) {
        return '';
    }
    const { file, line, inlined, known } = tree.answer.labels;
    const parts = [baseName(moduleOf(tree, node))];
    if (file[label]) {
        const at = line[label] ?? 0;
        parts.push(at > 0 ? `${file[label]}:${at}` : file[label]!);
    }
    if (inlined[label]) {
        parts.push('inlined');
    }
    if (known[label] === 0) {
        parts.push('name not known');
    }
    return parts.filter((part) => part !== '').join(' · ');
}

/** One sentence, for the live region. */
export function spoken(tree: Tree, node: number): string {
    const { unit, sides } = tree.answer;
    const values = shownSides(tree).map((side) => {
        const total = valueOf(tree, node, 'total', side);
        const part = share(total, valueOf(tree, 0, 'total', side));
        return `${SIDE_NAME[sides[side]!]} ${amount(total, unit)}, ${part}`.trim();
    });
    return `${nodeName(tree, node)}: ${values.join('; ')}`;
}

function Value({ tree, node, kind, side }: {
    tree: Tree;
    node: number;
    kind: 'total' | 'self';
    side: number;
}): JSX.Element {
    const { unit } = tree.answer;
    const value = valueOf(tree, node, kind, side);
    const parent = tree.parent[node]!;
    const all = valueOf(tree, 0, 'total', side);
    return (
        <>
            <td class="number" data-value={value} title={exact(value, unit)}>
                {amount(value, unit)}
            </td>
            <td class="number soft">{share(value, all)}</td>
            <td class="number soft">
                {kind === 'total' && parent >= 0
                    ? share(value, valueOf(tree, parent, 'total', side))
                    : ''}
            </td>
        </>
    );
}

/** Self and total of the metric asked for, with their shares. */
export function MainValues({ tree, node }: { tree: Tree; node: number }): JSX.Element {
    const { sides, unit } = tree.answer;
    const shown = shownSides(tree);
    const kinds = ['total', 'self'] as const;
    return (
        <table class="facts-main">
            <thead>
                <tr>
                    <th />
                    <th class="number">{METRIC_NAME[tree.answer.metric]}</th>
                    <th class="number">of all</th>
                    <th class="number">of parent</th>
                </tr>
            </thead>
            <tbody>
                {kinds.flatMap((kind) =>
                    shown.map((side) => (
                        <tr key={`${kind}${side}`} data-kind={kind} data-side={sides[side]}>
                            <th>{`${KIND_NAME[kind]} ${SIDE_NAME[sides[side]!]}`}</th>
                            <Value tree={tree} node={node} kind={kind} side={side} />
                        </tr>
                    )),
                )}
                {tree.side === 'both' && <Change tree={tree} node={node} unit={unit} />}
            </tbody>
        </table>
    );
}

function Change({ tree, node, unit }: {
    tree: Tree;
    node: number;
    unit: 'bytes' | 'count';
}): JSX.Element {
    const before = valueOf(tree, node, 'total', 0);
    const change = valueOf(tree, node, 'total', 1) - before;
    const word = change > 0 ? 'grew' : change < 0 ? 'shrank' : '';
    const percent = before > 0 ? share(change, before) : change > 0 ? 'new' : '';
    return (
        <tr data-kind="change">
            <th>Change</th>
            <td class={`number ${word}`} data-value={change} title={exact(change, unit)}>
                {signed(change, unit)}
            </td>
            <td class="number soft" title="of the value before">
                {percent}
            </td>
            <td />
        </tr>
    );
}

function allSides(tree: Tree, node: number, metric: Metric): string {
    const unit = METRIC_UNIT[metric];
    return shownSides(tree)
        .map((side) => amount(metricOf(tree, node, metric, side), unit))
        .join(' → ');
}

/** Totals of all six metrics. */
export function AllMetrics({ tree, node }: { tree: Tree; node: number }): JSX.Element {
    return (
        <dl class={`facts-all${tree.side === 'both' ? ' is-wide' : ''}`}>
            {METRICS.map((metric) => (
                <div key={metric} data-metric={metric}>
                    <dt>{METRIC_NAME[metric]}</dt>
                    <dd
                        title={shownSides(tree)
                            .map((side) =>
                                exact(metricOf(tree, node, metric, side), METRIC_UNIT[metric]),
                            )
                            .join(' → ')}
                        data-value={shownSides(tree)
                            .map((side) => metricOf(tree, node, metric, side))
                            .join(' ')}
                    >
                        {allSides(tree, node, metric)}
                    </dd>
                </div>
            ))}
        </dl>
    );
}
