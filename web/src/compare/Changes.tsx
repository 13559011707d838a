// SPDX-License-Identifier: Apache-2.0
//
// The stacks that differ, largest change first. A row opens to its frames, the first one that
// differs marked.

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ChangeKind, CompareAnswer, CompareRow } from '../api';
import { Segments } from '../flame/Controls';
import { keyOfLabel } from '../flame/keys';
import { baseName, labelName } from '../flame/model';
import { shortName } from '../flame/names';
import { Empty } from '../flame/States';
import { amount, count, exact, signed } from '../format';
import { changePercent, headFrame } from './options';

type Kind = ChangeKind | 'all';

const KINDS: readonly Kind[] = ['all', 'new', 'more', 'fewer', 'gone'];
const MATCH_HINT = 'How the stack of before and that of after were paired';

type Focus = (label: number) => void;

function Frames({ answer, row, onFocus }: {
    answer: CompareAnswer;
    row: CompareRow;
    onFocus: Focus;
}): JSX.Element {
    const { labels } = answer;
    return (
        <ol class="compare-frames">
            {row.frames.map((label, at) => {
                const file = labels.file[label];
                const line = labels.line[label] ?? 0;
                return (
                    <li key={at} class={at === row.differs ? 'is-different' : ''}>
                        <button
                            type="button"
                            class="fn"
                            title="Callers and callees"
                            onClick={() => onFocus(keyOfLabel(labels, label))}
                        >
                            {labelName(labels, label)}
                        </button>
                        <span class="soft">
                            {baseName(labels.module[label] ?? '')}
                            {file ? ` · ${baseName(file)}${line > 0 ? `:${line}` : ''}` : ''}
                        </span>
                        {at === row.differs && <b>first frame that differs</b>}
                    </li>
                );
            })}
        </ol>
    );
}

function ChangeRow({ answer, row, onFocus }: {
    answer: CompareAnswer;
    row: CompareRow;
    onFocus: Focus;
}): JSX.Element {
    const [open, setOpen] = useState(false);
    const { unit, labels } = answer;
    const head = headFrame(row);
    const word = row.change > 0 ? 'grew' : 'shrank';
    return (
        <>
            <tr class={open ? 'is-open' : ''} data-kind={row.kind} onClick={() => setOpen(!open)}>
                <td class={word}>{row.kind}</td>
                <td
                    class={`number ${word}`}
                    data-value={row.change}
                    title={exact(row.change, unit)}
                >
                    {signed(row.change, unit)}
                </td>
                <td class="number soft">{changePercent(row)}</td>
                <td class="number is-minor" data-value={row.before} title={exact(row.before, unit)}>
                    {amount(row.before, unit)}
                </td>
                <td class="number is-minor" data-value={row.after} title={exact(row.after, unit)}>
                    {amount(row.after, unit)}
                </td>
                <td class="function">
                    <button
                        type="button"
                        aria-expanded={open}
                        onClick={(event) => {
                            event.stopPropagation();
                            setOpen(!open);
                        }}
                    >
                        {head >= 0 ? shortName(labelName(labels, head)) : 'unknown stack'}
                    </button>
                    <span class="soft">
                        {row.differs === null
                            ? `${row.frames.length} frames`
                            : `differs at frame ${row.differs + 1} of ${row.frames.length}`}
                        {row.match !== 'exact' && <i title={MATCH_HINT}>{` · ${row.match}`}</i>}
                    </span>
                </td>
            </tr>
            {open && (
                <tr class="compare-open">
                    <td colSpan={6}>
                        <Frames answer={answer} row={row} onFocus={onFocus} />
                    </td>
                </tr>
            )}
        </>
    );
}

export function Changes({ answer, dim, onFocus }: {
    answer: CompareAnswer;
    dim: boolean;
    /** Shows callers and callees of a function. */
    onFocus: Focus;
}): JSX.Element {
    const [kind, setKind] = useState<Kind>('all');
    const rows = answer.rows.filter((row) => kind === 'all' || row.kind === kind);
    const number = (which: Kind): number =>
        answer.rows.filter((row) => which === 'all' || row.kind === which).length;
    return (
        <section class={`compare-changes${dim ? ' is-dim' : ''}`} aria-label="Stacks that differ">
            <div class="compare-changes-head">
                <h3>Stacks that differ</h3>
                <Segments<Kind>
                    name="Kind of change"
                    value={kind}
                    choices={KINDS.map((value) => ({ value, text: `${value} ${number(value)}` }))}
                    onChoose={setKind}
                />
                {answer.row_count > answer.rows.length && (
                    <span class="soft">
                        {`the ${count(answer.rows.length)} largest of ${count(answer.row_count)}`}
                    </span>
                )}
            </div>
            {rows.length === 0 ? (
                <Empty>No stack differs.</Empty>
            ) : (
                <div class="table-scroll">
                    <table>
                        <thead>
                            <tr>
                                <th>Kind</th>
                                <th class="number">Change</th>
                                <th class="number">%</th>
                                <th class="number is-minor">Before</th>
                                <th class="number is-minor">After</th>
                                <th>Where it differs</th>
                            </tr>
                        </thead>
                        <tbody>
                            {rows.map((row) => (
                                <ChangeRow
                                    key={`${row.kind} ${row.frames.join(' ')}`}
                                    answer={answer}
                                    row={row}
                                    onFocus={onFocus}
                                />
                            ))}
                        </tbody>
                    </table>
                </div>
            )}
        </section>
    );
}
