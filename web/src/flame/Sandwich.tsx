// SPDX-License-Identifier: Apache-2.0
//
// One function in the middle: who calls it grows upwards, what it calls hangs below.

import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { api } from '../api';
import type { FlameAnswer, Selection, Side } from '../api';
import { amount } from '../format';
import { useQuery } from '../query';
import { Segments } from './Controls';
import { FlameGraph } from './FlameGraph';
import { labelName, makeTree } from './model';
import { FIRST_LIMIT, moreNodes, sidesOf } from './request';
import { Empty, Failed, Loading } from './States';

const DIRECTIONS = ['callers', 'callees'] as const;
const TITLE = { callers: 'Callers', callees: 'Callees' };

interface Both {
    callers: FlameAnswer;
    callees: FlameAnswer;
    label: number;
    lines: boolean;
}

/** Name of the focused label, which both answers hold; empty where they do not. */
function nameOf({ callers, callees, label, lines }: Both): string {
    for (const { labels } of [callees, callers]) {
        const at = labels.id.indexOf(label);
        if (at >= 0) {
            return labelName(labels, at, lines);
        }
    }
    return '';
}

export function Sandwich({ id, selection, label, revision, onFocus }: {
    id: number;
    selection: Selection;
    label: number;
    revision: number;
    onFocus(label: number | null): void;
}): JSX.Element {
    const [limit, setLimit] = useState(FIRST_LIMIT);
    const [wantedSide, setSide] = useState<Side>('added');
    const ask = (direction: 'callers' | 'callees', signal: AbortSignal): Promise<FlameAnswer> =>
        api.flame(id, { ...selection, focus: label, direction, limit }, signal);
    const query = useQuery<Both>(
        JSON.stringify([id, selection, label, limit]),
        revision,
        async (signal) => {
            const [callers, callees] = await Promise.all(
                DIRECTIONS.map((direction) => ask(direction, signal)),
            );
            const lines = selection.granularity === 'line';
            return { callers: callers!, callees: callees!, label, lines };
        },
    );
    const more = moreNodes(limit, setLimit);
    const sides = query.data ? sidesOf(query.data.callees) : [];
    const side = sides.find((one) => one.side === wantedSide) ?? sides[0];
    const index = side?.index ?? 0;
    const trees = useMemo(
        () => query.data && {
            callers: makeTree(query.data.callers, index),
            callees: makeTree(query.data.callees, index),
        },
        [query.data, index],
    );

    return (
        <div class="sandwich">
            <div class="sandwich-head">
                <button type="button" onClick={() => onFocus(null)}>
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
                const total = tree.weight[0] ?? 0;
                return (
                    <div key={direction} class="sandwich-half" data-direction={direction}>
                        <h3>
                            {TITLE[direction]}{' '}
                            <span class="soft" data-value={total}>
                                {amount(total, tree.answer.unit)}
                            </span>
                        </h3>
                        {total > 0 ? (
                            <FlameGraph
                                tree={tree}
                                name={TITLE[direction]}
                                bottom={direction === 'callers'}
                                withLines={query.data!.lines}
                                matches={null}
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
        </div>
    );
}
