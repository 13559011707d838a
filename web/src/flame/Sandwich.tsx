// SPDX-License-Identifier: Apache-2.0
//
// One function in the middle: who calls it grows upwards, what it calls hangs below. Of one side of
// an answer, or of both sides of a comparison at once.

import type { ComponentChildren, JSX } from 'preact';
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { api } from '../api';
import type { Selection, Side, TreeAnswer } from '../api';
import { amount, signed } from '../format';
import { useQuery } from '../query';
import { Segments } from './Controls';
import { FlameGraph } from './FlameGraph';
import { labelWithKey } from './keys';
import { labelName, makeTree } from './model';
import type { ShownSide, Tree } from './model';
import { FIRST_LIMIT, moreNodes, sidesOf } from './request';
import { search } from './search';
import type { Matches, Wanted } from './search';
import { Empty, Failed, Loading } from './States';

const DIRECTIONS = ['callers', 'callees'] as const;
const TITLE = { callers: 'Callers', callees: 'Callees' };

export type Direction = (typeof DIRECTIONS)[number];

interface Shown {
    side: Side;
    index: ShownSide;
}

interface Both<T> {
    callers: T;
    callees: T;
    label: number;
    lines: boolean;
}

export interface SandwichProps<T extends TreeAnswer> {
    /** What is asked, but for the label and the limit. */
    question: string;
    /** The function in the middle, as keys.ts has it. */
    label: number;
    lines: boolean;
    revision: number;
    /** What is searched for. */
    wanted: Wanted | null;
    /** True: a button was pressed to come here, and is gone; becomes false. */
    pressed: { current: boolean };
    ask(direction: Direction, limit: number, signal: AbortSignal): Promise<T>;
    /** What of an answer is drawn, one at a time. */
    sidesOf(answer: T): Shown[];
    onFocus(label: number | null): void;
    /** What stands below, with the answer of the callees. */
    below?(answer: T, dim: boolean): ComponentChildren;
}

/** Name of the focused label, which both answers hold; empty where they do not. */
function nameOf<T extends TreeAnswer>({ callers, callees, label, lines }: Both<T>): string {
    for (const { labels } of [callees, callers]) {
        const at = labelWithKey(labels, label);
        if (at >= 0) {
            return labelName(labels, at, lines);
        }
    }
    return '';
}

/** What goes through the function. */
function Sum({ tree }: { tree: Tree }): JSX.Element {
    const { unit, nodes } = tree.answer;
    const values = nodes.total.map((side) => side[0] ?? 0);
    if (tree.side !== 'both') {
        const value = values[tree.side] ?? 0;
        return <span class="soft" data-value={value}>{amount(value, unit)}</span>;
    }
    const [before = 0, after = 0] = values;
    const text = `${amount(before, unit)} → ${amount(after, unit)} = ${signed(after - before, unit)}`;
    return <span class="soft" data-totals={`${before} ${after}`}>{text}</span>;
}

function matchesIn(tree: Tree, wanted: Wanted | null): Matches | null {
    const found = wanted ? search(tree, wanted) : null;
    return typeof found === 'string' ? null : found;
}

export function Sandwich<T extends TreeAnswer>(props: SandwichProps<T>): JSX.Element {
    const { label, lines, wanted, onFocus } = props;
    const [limit, setLimit] = useState(FIRST_LIMIT);
    const [wantedSide, setSide] = useState<Side>('added');
    const back = useRef<HTMLButtonElement>(null);
    const query = useQuery<Both<T>>(
        JSON.stringify([props.question, label, limit]),
        props.revision,
        async (signal) => {
            const [callers, callees] = await Promise.all(
                DIRECTIONS.map((direction) => props.ask(direction, limit, signal)),
            );
            return { callers: callers!, callees: callees!, label, lines };
        },
    );
    // What was pressed is gone: the keyboard goes on at what leads back.
    useLayoutEffect(() => {
        if (props.pressed.current && document.activeElement === document.body) {
            back.current?.focus({ preventScroll: true });
        }
        props.pressed.current = false;
    }, []);
    const more = moreNodes(limit, setLimit);
    const sides = query.data ? props.sidesOf(query.data.callees) : [];
    const side = sides.find((one) => one.side === wantedSide) ?? sides[0];
    const index = side?.index ?? 0;
    const trees = useMemo(
        () => query.data && {
            callers: makeTree(query.data.callers, index),
            callees: makeTree(query.data.callees, index),
        },
        [query.data, index],
    );
    const wantedKey = JSON.stringify(wanted);
    const matches = useMemo(
        () => trees && {
            callers: matchesIn(trees.callers, wanted),
            callees: matchesIn(trees.callees, wanted),
        },
        [trees, wantedKey],
    );

    return (
        <div class="sandwich">
            <div class="sandwich-head">
                <button type="button" ref={back} onClick={() => onFocus(null)}>
                    ← Back to the whole graph
                </button>
                {query.data && <strong class="facts-name">{nameOf(query.data)}</strong>}
                {sides.length > 1 && (
                    <Segments<Side>
                        name="Side"
                        value={wantedSide}
                        choices={[
                            { value: 'added', text: 'Added' },
                            { value: 'removed', text: 'Removed' },
                        ]}
                        onChoose={setSide}
                    />
                )}
            </div>
            {query.error && <Failed error={query.error} retry={query.retry} />}
            {!query.error && !trees && <Loading what="callers and callees" />}
            {!query.error && trees && DIRECTIONS.map((direction) => {
                const tree = trees[direction];
                return (
                    <div key={direction} class="sandwich-half" data-direction={direction}>
                        <h3>
                            {TITLE[direction]} <Sum tree={tree} />
                        </h3>
                        {(tree.weight[0] ?? 0) > 0 ? (
                            <FlameGraph
                                tree={tree}
                                name={TITLE[direction]}
                                bottom={direction === 'callers'}
                                withLines={query.data!.lines}
                                matches={matches?.[direction] ?? null}
                                dim={query.loading}
                                onFocus={onFocus}
                                onMore={more}
                            />
                        ) : (
                            <Empty>Nothing here goes through this function.</Empty>
                        )}
                    </div>
                );
            })}
            {!query.error && query.data && props.below?.(query.data.callees, query.loading)}
        </div>
    );
}

/** Callers and callees of one function in a selection of one process. */
export function FlameSandwich({ id, selection, label, revision, wanted, pressed, onFocus }: {
    id: number;
    selection: Selection;
    label: number;
    revision: number;
    wanted: Wanted | null;
    pressed: { current: boolean };
    onFocus(label: number | null): void;
}): JSX.Element {
    return (
        <Sandwich
            question={JSON.stringify([id, selection])}
            label={label}
            lines={selection.granularity === 'line'}
            revision={revision}
            wanted={wanted}
            pressed={pressed}
            ask={(direction, limit, signal) =>
                api.flame(id, { ...selection, focus: label, direction, limit }, signal)
            }
            sidesOf={sidesOf}
            onFocus={onFocus}
        />
    );
}
