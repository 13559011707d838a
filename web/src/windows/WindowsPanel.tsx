// SPDX-License-Identifier: Apache-2.0
//
// The measurement windows of a run, what they cost per iteration, and the stacks of a chosen one.

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { api } from '../api';
import type { Spread, Unit, WindowRow } from '../api';
import '../flame/flame.css';
import '../flame/parts.css';
import { WINDOW_METRICS } from '../flame/request';
import { Stacks } from '../flame/Stacks';
import { Empty, Failed, Loading } from '../flame/States';
import { amount, count, duration, exact } from '../format';
import type { WindowsPanelProps } from '../panels';
import { useQuery } from '../query';
import '../table/table.css';
import './windows.css';

interface Column {
    key: string;
    title: string;
    hint: string;
    value(row: WindowRow): number | string;
    text(row: WindowRow): string;
    full?(row: WindowRow): string;
    minor?: boolean;
}

function spreadText([min, median, max]: Spread, unit: Unit): string {
    return [min, median, max].map((value) => amount(value, unit)).join(' / ');
}

function spread(
    key: 'allocations' | 'bytes' | 'temporary', title: string, unit: Unit,
): Column {
    return {
        key: `each-${key}`,
        title,
        hint: 'Per iteration: least, median, most; sorted by the median',
        value: (row) => row.per_iteration[key][1],
        text: (row) => spreadText(row.per_iteration[key], unit),
        full: (row) => row.per_iteration[key].map((value) => exact(value, unit)).join(' / '),
    };
}

function sum(
    key: 'iterations' | 'allocations' | 'bytes' | 'frees' | 'freed_bytes' | 'temporary' |
        'peak_bytes' | 'stacks',
    title: string, hint: string, unit: Unit, minor = true,
): Column {
    return {
        key, title, hint, minor,
        value: (row) => row[key],
        text: (row) => amount(row[key], unit),
        full: (row) => exact(row[key], unit),
    };
}

const COLUMNS: Column[] = [
    { key: 'name', title: 'Window', hint: 'Its name', value: (row) => row.title,
        text: (row) => row.title },
    {
        ...sum('iterations', 'Iterations', 'How often it was opened and closed', 'count', false),
        text: (row) => count(row.iterations) +
            (row.unfinished > 0 ? ` (${count(row.unfinished)} unfinished)` : ''),
    },
    spread('allocations', 'Allocations each', 'count'),
    spread('bytes', 'Bytes each', 'bytes'),
    spread('temporary', 'Temporary each', 'count'),
    sum('peak_bytes', 'Highest growth', 'Highest growth of the live bytes in one iteration',
        'bytes', false),
    sum('allocations', 'Allocations', 'Of all iterations', 'count'),
    sum('bytes', 'Bytes', 'Allocated by all iterations', 'bytes'),
    sum('frees', 'Frees', 'Of all iterations', 'count'),
    sum('freed_bytes', 'Freed bytes', 'Of all iterations', 'bytes'),
    { key: 'duration_ns', title: 'Duration', hint: 'Of all iterations', minor: true,
        value: (row) => row.duration_ns, text: (row) => duration(row.duration_ns) },
    { key: 'scope', title: 'Scope', hint: 'One thread, or the whole process', minor: true,
        value: (row) => row.scope, text: (row) => row.scope },
    sum('stacks', 'Stacks', 'Different stacks that allocated in it', 'count'),
];

function compareRows(column: Column, down: boolean): (a: WindowRow, b: WindowRow) => number {
    const sign = down ? -1 : 1;
    return (a, b) => {
        const [x, y] = [column.value(a), column.value(b)];
        return sign * (x < y ? -1 : x > y ? 1 : 0);
    };
}

function Heading({ column, sorting, onSort }: {
    column: Column;
    sorting: { key: string; down: boolean };
    onSort(): void;
}): JSX.Element {
    const active = sorting.key === column.key;
    const words = column.key === 'name' || column.key === 'scope' ? '' : 'number';
    return (
        <th
            class={`${words}${column.minor ? ' is-minor' : ''}`}
            aria-sort={active ? (sorting.down ? 'descending' : 'ascending') : undefined}
        >
            <button type="button" title={column.hint} onClick={onSort}>
                {column.title}
                <span aria-hidden="true">{active ? (sorting.down ? ' ↓' : ' ↑') : ''}</span>
            </button>
        </th>
    );
}

function WindowTable({ rows, chosen, onChoose }: {
    rows: WindowRow[];
    chosen: string | null;
    onChoose(name: string | null): void;
}): JSX.Element {
    const [sorting, setSorting] = useState({ key: 'bytes', down: true });
    const column = COLUMNS.find((one) => one.key === sorting.key)!;
    const sorted = [...rows].sort(compareRows(column, sorting.down));
    const sort = (key: string): void =>
        setSorting({ key, down: sorting.key === key ? !sorting.down : key !== 'name' });
    return (
        <div class="table-scroll windows-table">
            <table>
                <thead>
                    <tr>
                        {COLUMNS.map((one) => (
                            <Heading
                                key={one.key}
                                column={one}
                                sorting={sorting}
                                onSort={() => sort(one.key)}
                            />
                        ))}
                    </tr>
                </thead>
                <tbody>
                    {sorted.map((row) => (
                        <tr
                            key={row.title}
                            data-window={row.title}
                            aria-selected={row.title === chosen}
                            onClick={() => onChoose(row.title === chosen ? null : row.title)}
                        >
                            {COLUMNS.map((one) => (
                                <td
                                    key={one.key}
                                    class={
                                        (typeof one.value(row) === 'number' ? 'number' : '') +
                                        (one.minor ? ' is-minor' : '')
                                    }
                                    data-column={one.key}
                                    data-value={one.value(row)}
                                    title={one.full?.(row)}
                                >
                                    {one.key === 'name' ? (
                                        <button
                                            type="button"
                                            aria-pressed={row.title === chosen}
                                            onClick={(event) => {
                                                event.stopPropagation();
                                                onChoose(row.title === chosen ? null : row.title);
                                            }}
                                        >
                                            {row.title}
                                        </button>
                                    ) : (
                                        one.text(row)
                                    )}
                                </td>
                            ))}
                        </tr>
                    ))}
                </tbody>
            </table>
        </div>
    );
}

export function WindowsPanel(props: WindowsPanelProps): JSX.Element {
    const { process, revision, window, onWindow, view, onView } = props;
    const query = useQuery(`${process.id}`, revision, (signal) => api.windows(process.id, signal));
    const rows = query.data?.windows ?? [];
    const chosen = rows.find((row) => row.title === window)?.title ?? null;
    return (
        <section class="windows-panel" aria-label="Measurement windows">
            {query.error && <Failed error={query.error} retry={query.retry} />}
            {!query.error && !query.data && <Loading what="the windows" />}
            {!query.error && query.data && rows.length === 0 && (
                <Empty>
                    <strong>No measurement windows</strong>
                    <span>
                        A program marks them with memhawk_window_begin() and memhawk_window_end():
                        see docs/WINDOWS.md.
                    </span>
                </Empty>
            )}
            {rows.length > 0 && (
                <WindowTable rows={rows} chosen={chosen} onChoose={onWindow} />
            )}
            {rows.length > 0 && chosen === null && (
                <p class="soft">Choose a window to see where its memory went.</p>
            )}
            {chosen !== null && (
                <Stacks
                    process={process}
                    interval={null}
                    moment={null}
                    revision={revision}
                    view={view}
                    onView={onView}
                    window={chosen}
                    metrics={WINDOW_METRICS}
                />
            )}
        </section>
    );
}
