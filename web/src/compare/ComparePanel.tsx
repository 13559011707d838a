// SPDX-License-Identifier: Apache-2.0
//
// Two moments, two processes or two files: one tree whose colour says what grew and what shrank,
// and the stacks that differ.

import type { JSX } from 'preact';
import { useMemo, useRef, useState } from 'preact/hooks';
import { api, METRICS } from '../api';
import type { CompareAnswer, Moment, Process } from '../api';
import { TextField } from '../flame/Controls';
import '../flame/flame.css';
import { FlameGraph } from '../flame/FlameGraph';
import { focusOf, swapKey } from '../flame/keys';
import { GrowthLegend } from '../flame/Legend';
import { makeTree } from '../flame/model';
import '../flame/parts.css';
import { FIRST_LIMIT, moreNodes } from '../flame/request';
import { Sandwich } from '../flame/Sandwich';
import { search } from '../flame/search';
import type { Wanted } from '../flame/search';
import { Empty, Failed, Loading } from '../flame/States';
import { useReturn } from '../flame/useReturn';
import { useSearchKey } from '../flame/useSearchKey';
import { useTheme } from '../flame/useTheme';
import { ViewControls } from '../flame/ViewControls';
import { amount, count, METRIC_NAME, share } from '../format';
import type { ComparePanelProps, CompareView } from '../panels';
import { useQuery } from '../query';
import '../table/table.css';
import { Changes } from './Changes';
import './compare.css';
import { compareSummary, optionsOf } from './options';
import { Picker } from './Picker';

const BOTH_SIDES = () => [{ side: 'after' as const, index: 'both' as const }];

/** Both ends of the chosen interval, or else peak and end. */
function Shortcuts({ props }: { props: ComparePanelProps }): JSX.Element {
    const { interval, view, onView } = props;
    const same: Partial<CompareView> = { id: null, id2: null };
    return (
        <div class="compare-shortcuts">
            {interval && (
                <button
                    type="button"
                    onClick={() => onView({ ...same, at: interval.from, at2: interval.to })}
                >
                    Start and end of the interval
                </button>
            )}
            <button type="button" onClick={() => onView({ ...same, at: 'peak', at2: 'end' })}>
                Peak and end
            </button>
            <button
                type="button"
                onClick={() => onView({
                    id: view.id2, at: view.at2, id2: view.id, at2: view.at,
                    focus: view.focus === null ? null : swapKey(view.focus),
                })}
            >
                Swap
            </button>
        </div>
    );
}

function Pickers({ props, before, after }: {
    props: ComparePanelProps;
    before: Process;
    after: Process;
}): JSX.Element {
    const { processes, process, interval, view, onView } = props;
    const ownInterval = (of: Process) => (of.id === process.id ? interval : null);
    const idOf = (id: number): number | null => (id === process.id ? null : id);
    return (
        <div class="compare-sides">
            <Picker
                name="Before"
                processes={processes}
                process={before}
                at={view.at}
                interval={ownInterval(before)}
                onPick={(id: number, at: Moment) => onView({ id: idOf(id), at })}
            />
            <Picker
                name="After"
                processes={processes}
                process={after}
                at={view.at2}
                interval={ownInterval(after)}
                onPick={(id: number, at2: Moment) => onView({ id2: idOf(id), at2 })}
            />
        </div>
    );
}

function Summary({ answer }: { answer: CompareAnswer }): JSX.Element {
    const { text, note } = compareSummary(answer);
    const totals = answer.totals[answer.metric];
    return (
        <>
            <p class="flame-summary" role="status">
                <strong data-totals={totals.join(' ')}>{text}</strong>
                <span class="soft">{`${METRIC_NAME[answer.metric]} · ${note}`}</span>
            </p>
            {answer.nothing_in_common && (
                <p class="compare-note">
                    The two have no stack in common: they are different programs, or names are
                    missing on one side.
                </p>
            )}
            {answer.ambiguous > 0 && (
                <p class="compare-note">
                    {`${count(answer.ambiguous)} stacks could be paired in more than one way.`}
                </p>
            )}
        </>
    );
}

export function ComparePanel(props: ComparePanelProps): JSX.Element {
    const { view, process, processes, revision, onView } = props;
    const options = optionsOf(view, process);
    const [limit, setLimit] = useState(FIRST_LIMIT);
    const [text, setText] = useState('');
    const [bottom, setBottom] = useState(false);
    const searchField = useRef<HTMLInputElement>(null);
    const focusSearch = useSearchKey(searchField);
    const root = useRef<HTMLElement>(null);
    const theme = useTheme(root);
    useReturn(root, view.focus);
    const question = JSON.stringify(options);
    const query = useQuery<CompareAnswer>(
        JSON.stringify([question, limit]),
        revision,
        (signal) => api.compare({ ...options, limit }, signal),
    );
    const answer = query.data;
    const tree = useMemo(() => (answer ? makeTree(answer, 'both') : null), [answer]);
    const wanted: Wanted | null = text === '' ? null : { kind: 'text', text };
    const found = useMemo(() => (tree && wanted ? search(tree, wanted) : null), [tree, text]);
    const before = processes.find((one) => one.id === options.id) ?? process;
    const after = processes.find((one) => one.id === options.id2) ?? process;
    const pressed = useRef(false);
    const focus = (label: number | null): void => {
        pressed.current = label !== null;
        onView({ focus: label });
    };
    const changes = (part: CompareAnswer, dim: boolean): JSX.Element => (
        <>
            <GrowthLegend dark={theme?.dark ?? false} />
            <Changes answer={part} dim={dim} onFocus={focus} />
        </>
    );
    const matches = typeof found === 'string' ? null : found;

    return (
        <section class="compare-panel" ref={root} aria-label="Comparison">
            <Pickers props={props} before={before} after={after} />
            <Shortcuts props={props} />
            <div class="flame-controls">
                <ViewControls
                    view={{ inverted: view.inverted, bottom }}
                    metrics={METRICS}
                    metric={view.metric}
                    focused={view.focus !== null}
                    onView={({ bottom: root, metric, inverted }) => {
                        if (root !== undefined) {
                            setBottom(root);
                        }
                        const change = { metric, inverted };
                        const given = Object.entries(change).filter(([, v]) => v !== undefined);
                        if (given.length > 0) {
                            onView(Object.fromEntries(given));
                        }
                    }}
                />
                <TextField
                    name="Search or /regex/"
                    hint="Lights up functions with this text in their name or file:line (key: /)"
                    value={text}
                    pause={200}
                    field={searchField}
                    bad={typeof found === 'string' ? found : null}
                    onText={setText}
                />
                {matches && answer && (
                    <span class="flame-found">
                        {answer.sides.map((side, at) => (
                            <span key={side} data-value={matches.sums[at]}>
                                {`${side} ${amount(matches.sums[at] ?? 0, answer.unit)}, ${share(
                                    matches.sums[at] ?? 0,
                                    answer.totals[answer.metric][at] ?? 0,
                                )}`}
                            </span>
                        ))}
                    </span>
                )}
            </div>
            {query.error ? (
                <Failed error={query.error} retry={query.retry} />
            ) : !tree || !answer ? (
                <Loading what="the comparison" />
            ) : (
                <>
                    <Summary answer={answer} />
                    {view.focus !== null ? (
                        <Sandwich
                            question={question}
                            label={view.focus}
                            lines={false}
                            revision={revision}
                            wanted={wanted}
                            pressed={pressed}
                            ask={(direction, most, signal) => api.compare(
                                { ...options, ...focusOf(view.focus!), direction, limit: most },
                                signal,
                            )}
                            sidesOf={BOTH_SIDES}
                            onFocus={focus}
                            below={changes}
                        />
                    ) : (tree.weight[0] ?? 0) > 0 ? (
                        <FlameGraph
                            tree={tree}
                            name="Flame graph of the comparison"
                            bottom={bottom}
                            withLines={false}
                            matches={matches}
                            dim={query.loading}
                            onFocus={focus}
                            onSearch={focusSearch}
                            onMore={moreNodes(limit, setLimit)}
                        />
                    ) : (
                        <Empty>Both sides are empty.</Empty>
                    )}
                    {view.focus === null && changes(answer, query.loading)}
                </>
            )}
        </section>
    );
}
