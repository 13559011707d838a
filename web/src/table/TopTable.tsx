// SPDX-License-Identifier: Apache-2.0
//
// Functions by what they hold: sortable, filtered by a text, walked by the arrow keys. A chosen row
// is lit up in the graph beside it.

import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { FunctionsAnswer, Unit } from '../api';
import { TextField } from '../flame/Controls';
import { Empty } from '../flame/States';
import { amount, count, exact, share, signed } from '../format';
import { columnsOf, filterRows, rowsOf, sortRows } from './rows';
import type { Column, Row, Sorting } from './rows';

const PAGE = 100;

export interface TopTableProps {
    answer: FunctionsAnswer;
    unit: Unit;
    /** The total that shares are of. */
    whole: number;
    /** Show the first side alone. */
    one: boolean;
    withLines: boolean;
    dim: boolean;
    /** Label id of the chosen row. */
    chosen: number | null;
    onChoose(label: number | null): void;
    onFocus(label: number): void;
}

function Cell({ column, row }: { column: Column; row: Row }): JSX.Element {
    const value = column.values[row.index] ?? 0;
    const part = column.whole > 0 ? Math.min(Math.max(value / column.whole, 0), 1) : 0;
    const word = column.signed && value !== 0 ? (value > 0 ? ' grew' : ' shrank') : '';
    return (
        <td
            class={`number${column.minor ? ' is-minor' : ''}${word}`}
            data-column={column.key}
            data-value={value}
            title={exact(value, column.unit)}
        >
            {column.signed ? signed(value, column.unit) : amount(value, column.unit)}
            {column.whole > 0 && <span class="soft">{share(value, column.whole)}</span>}
            {column.whole > 0 && <i class="share-bar" style={{ width: `${part * 100}%` }} />}
        </td>
    );
}

function Heading({ column, sorting, onSort }: {
    column: { key: string; title: string; hint: string; minor: boolean };
    sorting: Sorting;
    onSort(key: string): void;
}): JSX.Element {
    const active = sorting.key === column.key;
    const order = active ? (sorting.down ? 'descending' : 'ascending') : undefined;
    return (
        <th
            class={`${column.key === 'name' ? '' : 'number'}${column.minor ? ' is-minor' : ''}`}
            aria-sort={order}
        >
            <button type="button" title={column.hint} onClick={() => onSort(column.key)}>
                {column.title}
                <span aria-hidden="true">{active ? (sorting.down ? ' ↓' : ' ↑') : ''}</span>
            </button>
        </th>
    );
}

/** Arrow keys, Home and End move the cursor among the rows. */
function walk(event: KeyboardEvent): void {
    const row = (event.target as HTMLElement).closest('tr');
    const next = {
        ArrowDown: row?.nextElementSibling,
        ArrowUp: row?.previousElementSibling,
        Home: row?.parentElement?.firstElementChild,
        End: row?.parentElement?.lastElementChild,
    }[event.key];
    if (next instanceof HTMLElement) {
        event.preventDefault();
        next.focus();
    }
}

export function TopTable(props: TopTableProps): JSX.Element {
    const { answer, unit, whole, one, withLines, chosen } = props;
    const [wanted, setWanted] = useState<Sorting>({ key: '', down: true });
    const [text, setText] = useState('');
    const [shown, setShown] = useState(PAGE);
    const columns = useMemo(
        () => columnsOf(answer, unit, whole, one), [answer, unit, whole, one],
    );
    const all = useMemo(() => rowsOf(answer, withLines), [answer, withLines]);
    // Columns come and go with what is shown: a sorting by one that is gone is by the default.
    const known = wanted.key === 'name' || columns.some((column) => column.key === wanted.key);
    const byDefault = columns.some((column) => column.key === 'net') ? 'net' : 'total';
    const sorting = known ? wanted : { key: byDefault, down: true };
    const found = useMemo(() => filterRows(all, text), [all, text]);
    const rows = useMemo(
        () => sortRows(typeof found === 'string' ? all : found, columns, sorting),
        [all, found, columns, sorting.key, sorting.down],
    );

    function sort(key: string): void {
        const down = sorting.key === key ? !sorting.down : key !== 'name';
        setWanted({ key, down });
    }
    function onRowKey(event: KeyboardEvent, row: Row): void {
        if (event.key === 'Enter' || event.key === ' ') {
            event.preventDefault();
            props.onChoose(chosen === row.id ? null : row.id);
        }
    }

    const name = { key: 'name', title: 'Function', hint: 'Sort by name', minor: false };
    return (
        <div class={`top-table${props.dim ? ' is-dim' : ''}`} aria-busy={props.dim}>
            <TextField
                name="Find: function, module or /regex/"
                hint="Only rows with this text in their function or module"
                value={text}
                pause={150}
                bad={typeof found === 'string' ? found : null}
                onText={setText}
            />
            <div class="table-scroll">
                <table>
                    <thead>
                        <tr>
                            <Heading column={name} sorting={sorting} onSort={sort} />
                            {columns.map((column) => (
                                <Heading
                                    key={column.key}
                                    column={column}
                                    sorting={sorting}
                                    onSort={sort}
                                />
                            ))}
                        </tr>
                    </thead>
                    <tbody onKeyDown={walk}>
                        {rows.slice(0, shown).map((row, at) => (
                            <tr
                                key={row.id}
                                data-label={row.id}
                                data-name={row.name}
                                tabIndex={row.id === chosen || at === 0 ? 0 : -1}
                                aria-selected={chosen === row.id}
                                onClick={() => props.onChoose(chosen === row.id ? null : row.id)}
                                onKeyDown={(event) => onRowKey(event, row)}
                            >
                                <td class="function" title={`${row.name}\n${row.place}`}>
                                    <span>{row.title}</span>
                                    <span class="soft">{row.note}</span>
                                    {chosen === row.id && (
                                        <button
                                            type="button"
                                            onClick={(event) => {
                                                event.stopPropagation();
                                                props.onFocus(row.id);
                                            }}
                                        >
                                            Callers and callees
                                        </button>
                                    )}
                                </td>
                                {columns.map((column) => (
                                    <Cell key={column.key} column={column} row={row} />
                                ))}
                            </tr>
                        ))}
                    </tbody>
                </table>
                {rows.length === 0 && <Empty>No function matches.</Empty>}
                {rows.length > shown && (
                    <button type="button" class="more" onClick={() => setShown(shown + PAGE * 4)}>
                        {`Show more (${count(rows.length - shown)} left)`}
                    </button>
                )}
                {answer.row_count > all.length && rows.length <= shown && (
                    <p class="soft note">
                        {`The ${count(all.length)} largest of ${count(answer.row_count)}`}
                    </p>
                )}
            </div>
        </div>
    );
}
