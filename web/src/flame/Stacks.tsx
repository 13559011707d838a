// SPDX-License-Identifier: Apache-2.0
//
// The graphs of one selection, one for each side, with search, legend and the table of functions;
// or, while a label is in focus, its callers above its callees.

import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { api } from '../api';
import type { FlameAnswer, FunctionsAnswer, Metric, Selection, Side } from '../api';
import { amount } from '../format';
import type { FlamePanelProps } from '../panels';
import { useQuery } from '../query';
import type { Query } from '../query';
import { TextField } from './Controls';
import { FlameGraph } from './FlameGraph';
import { ModuleLegend } from './Legend';
import { makeTree } from './model';
import type { Tree } from './model';
import { emptyText, FIRST_LIMIT, moreNodes, selectionFor, sidesOf } from './request';
import { FlameSandwich } from './Sandwich';
import { search } from './search';
import type { Matches, Wanted } from './search';
import { Empty, Failed, Loading } from './States';
import { SummaryLine } from './Summary';
import { TableBeside } from './TableBeside';
import { useReturn } from './useReturn';
import { useSearchKey } from './useSearchKey';
import { useTheme } from './useTheme';
import { ViewControls } from './ViewControls';

const TABLE_ROWS = 2000;

export interface StacksProps extends FlamePanelProps {
    /** The measurement window whose stacks are meant; null: snapshots. */
    window: string | null;
    metrics: readonly Metric[];
}

export interface Graph {
    tree: Tree;
    side: Side;
}

/** What was asked, kept with the answer: while the next one loads, both stay together. */
export interface Asked<T> {
    answer: T;
    lines: boolean;
    inverted: boolean;
}

function graphsOf(answer: FlameAnswer | undefined): Graph[] {
    return answer
        ? sidesOf(answer).map(({ index, side }) => ({ tree: makeTree(answer, index), side }))
        : [];
}

function isWholePeak(s: Selection): boolean {
    const whole = s.from === undefined && s.to === undefined;
    return s.mode === 'peak' && s.metric === 'live-bytes' && whole && !s.filter;
}

/** After the next frame; a page that is not in sight draws none. */
function painted(): Promise<void> {
    return new Promise((done) => {
        requestAnimationFrame(() => setTimeout(done));
        setTimeout(done, 200);
    });
}

export function Stacks(props: StacksProps): JSX.Element {
    const { process, interval, moment, window, view, revision, metrics } = props;
    const selection = selectionFor({ view, interval, moment, window });
    const [limit, setLimit] = useState(FIRST_LIMIT);
    const lines = view.granularity === 'line';
    const { inverted } = view;
    const question = JSON.stringify([process.id, selection]);
    /* Whoever changes the interval looks at the graph: the table's request and layout come after. */
    const graphFirst = useRef<Promise<void>>(Promise.resolve());
    const flame = useQuery<Asked<FlameAnswer>>(
        JSON.stringify([question, inverted, limit]),
        revision,
        async (signal) => {
            const asked = api.flame(process.id, { ...selection, inverted, limit }, signal);
            graphFirst.current = asked.then(painted, () => undefined);
            return { answer: await asked, lines, inverted };
        },
    );
    const functions = useQuery<Asked<FunctionsAnswer>>(question, revision, async (signal) => {
        await graphFirst.current;
        const answer = await api.functions(
            process.id,
            { ...selection, limit: TABLE_ROWS },
            signal,
        );
        return { answer, lines, inverted };
    });
    const answer = flame.data?.answer;
    const graphs = useMemo(() => graphsOf(answer), [answer]);
    const trees = useMemo(() => graphs.map(({ tree }) => tree), [graphs]);
    const [lit, setLit] = useState<Wanted | null>(null);
    const searchField = useRef<HTMLInputElement>(null);
    useEffect(() => setLit(null), [process.id, view.granularity]);

    const wanted: Wanted | null =
        lit ?? (view.search !== '' ? { kind: 'text', text: view.search } : null);
    const wantedKey = JSON.stringify(wanted);
    const found = useMemo(
        () => graphs.map(({ tree }) => (wanted ? search(tree, wanted) : null)),
        [graphs, wantedKey],
    );
    const bad = found.find((one) => typeof one === 'string');
    const matches = found.map((one) => (typeof one === 'string' ? null : one));
    const more = moreNodes(limit, setLimit);
    const pressed = useRef(false);
    const focus = (label: number | null): void => {
        pressed.current = label !== null;
        setLit(null);
        props.onView({ focus: label });
    };
    const focusSearch = useSearchKey(searchField);
    const root = useRef<HTMLDivElement>(null);
    const theme = useTheme(root);
    useReturn(root, view.focus);

    return (
        <div class="stacks" ref={root}>
            <div class="flame-controls">
                <ViewControls
                    view={view}
                    onView={props.onView}
                    metrics={metrics}
                    metric={selection.metric!}
                    focused={view.focus !== null}
                />
                <TextField
                    name="Search or /regex/"
                    hint="Lights up functions with this text in their name or file:line (key: /)"
                    value={view.search}
                    pause={250}
                    field={searchField}
                    bad={typeof bad === 'string' ? bad : null}
                    onText={(text) => {
                        setLit(null);
                        props.onView({ search: text });
                    }}
                />
                <TextField
                    name="Only stacks with…"
                    hint="Regular expression: only stacks with such a function or module"
                    value={view.filter}
                    pause={null}
                    onText={(filter) => props.onView({ filter })}
                />
            </div>
            {answer && !flame.error && (
                <SummaryLine
                    answer={answer}
                    start={process.start}
                    highest={isWholePeak(selection) ? process.peak_bytes : null}
                    found={matches}
                    wanted={wanted}
                    onClear={() => {
                        setLit(null);
                        props.onView({ search: '' });
                    }}
                />
            )}
            {view.focus !== null ? (
                <FlameSandwich
                    id={process.id}
                    selection={selection}
                    label={view.focus}
                    revision={revision}
                    wanted={wanted}
                    pressed={pressed}
                    onFocus={focus}
                />
            ) : (
                <div class={`stacks-body${graphs.length > 1 ? ' has-two' : ''}`}>
                    <div class="stacks-graphs">
                        <Graphs
                            graphs={graphs}
                            flame={flame}
                            matches={matches}
                            more={more}
                            view={view}
                            onFocus={focus}
                            onSearch={focusSearch}
                        />
                        {theme && graphs.length > 0 && (
                            <ModuleLegend
                                trees={trees}
                                inverted={flame.data?.inverted ?? false}
                                dark={theme.dark}
                                chosen={lit?.kind === 'module' ? lit.module : null}
                                onChoose={(module) =>
                                    setLit(module === null ? null : { kind: 'module', module })
                                }
                            />
                        )}
                    </div>
                    <TableBeside
                        functions={functions}
                        flame={flame.error ? undefined : answer}
                        failed={flame.error !== null}
                        chosen={lit?.kind === 'label' ? lit.id : null}
                        onChoose={(id) => setLit(id === null ? null : { kind: 'label', id })}
                        onFocus={focus}
                    />
                </div>
            )}
        </div>
    );
}

function Graphs({ graphs, flame, matches, more, view, onFocus, onSearch }: {
    graphs: Graph[];
    flame: Query<Asked<FlameAnswer>>;
    matches: (Matches | null)[];
    more: (() => void) | undefined;
    view: StacksProps['view'];
    onFocus(label: number): void;
    onSearch(): void;
}): JSX.Element {
    if (flame.error) {
        return <Failed error={flame.error} retry={flame.retry} />;
    }
    if (!flame.data) {
        return <Loading what="the flame graph" />;
    }
    const { answer, lines } = flame.data;
    return (
        <div class={graphs.length > 1 ? 'flame-pair' : 'flame-single'}>
            {graphs.map(({ tree, side }, at) => (
                <div key={side} class={`flame-side side-${side}`} data-side={side}>
                    {graphs.length > 1 && <SideHeading answer={answer} side={side} at={at} />}
                    {(tree.weight[0] ?? 0) > 0 ? (
                        <FlameGraph
                            tree={tree}
                            name={side === 'value' ? 'Flame graph' : `Flame graph, ${side}`}
                            bottom={view.bottom}
                            withLines={lines}
                            matches={matches[at] ?? null}
                            dim={flame.loading}
                            onMore={more}
                            onFocus={onFocus}
                            onSearch={onSearch}
                        />
                    ) : (
                        <Empty>{emptyText(answer, side, view.filter)}</Empty>
                    )}
                </div>
            ))}
        </div>
    );
}

function SideHeading({ answer, side, at }: {
    answer: FlameAnswer;
    side: Side;
    at: number;
}): JSX.Element {
    const value = answer.totals[answer.metric][at] ?? 0;
    return (
        <h3 class="flame-side-name">
            {side === 'added' ? 'Added ' : 'Removed '}
            <span data-value={value}>{amount(value, answer.unit)}</span>
        </h3>
    );
}
