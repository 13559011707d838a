// SPDX-License-Identifier: Apache-2.0
//
// The rows of the table of functions: columns by what the answer holds, sorting, filtering. Pure.

import type { FunctionsAnswer, Unit } from '../api';
import { baseName, labelName } from '../flame/model';
import { shortName } from '../flame/names';
import { nameTest } from '../flame/search';

export interface Column {
    key: string;
    title: string;
    hint: string;
    unit: Unit;
    /** One value a row. */
    values: ArrayLike<number>;
    /** What a share bar is of; 0: no bar. */
    whole: number;
    signed: boolean;
    /** Left out where there is little room. */
    minor: boolean;
}

export interface Row {
    index: number;
    /** Label id of the API. */
    id: number;
    name: string;
    module: string;
    /** What stands in the first and the second line of the row. */
    title: string;
    note: string;
    /** Folder and all, "file:line" where known. */
    place: string;
}

export interface Sorting {
    /** A column's key, or "name". */
    key: string;
    down: boolean;
}

export function rowsOf(answer: FunctionsAnswer, withLine: boolean): Row[] {
    const { labels, rows } = answer;
    return rows.label.map((label, index) => {
        const file = labels.file[label];
        const line = labels.line[label] ?? 0;
        const module = labels.module[label] ?? '';
        const lineNote = withLine && file ? ` · ${baseName(file)}:${line}` : '';
        return {
            index,
            id: labels.id[label]!,
            name: labelName(labels, label, withLine),
            module: baseName(module),
            title: shortName(labelName(labels, label)),
            note: baseName(module) + lineNote,
            place: [module, file ? `${file}${line > 0 ? `:${line}` : ''}` : ''].join('\n').trim(),
        };
    });
}

function column(
    key: string, title: string, values: ArrayLike<number>, rest: Partial<Column>,
): Column {
    const usual = { hint: title, unit: 'bytes' as Unit, whole: 0, signed: false, minor: false };
    return { ...usual, ...rest, key, title, values };
}

function oneSided(answer: FunctionsAnswer, unit: Unit, whole: number): Column[] {
    const { rows } = answer;
    const one = { unit, whole };
    const self = rows.self[0] ?? [];
    const total = rows.total[0] ?? [];
    const columns = [
        column('self', 'Self', self, { ...one, hint: 'By the function itself' }),
        column('total', 'Total', total, { ...one, hint: 'By the function and all it calls' }),
    ];
    if (unit === 'bytes') {
        const minor = { unit: 'count', minor: true } as const;
        columns.push(
            column('self_count', 'Self count', rows.self_count[0] ?? [], minor),
            column('total_count', 'Total count', rows.total_count[0] ?? [], minor),
        );
    }
    return columns;
}

function difference(values: number[][]): number[] {
    return (values[0] ?? []).map((added, row) => added - (values[1]?.[row] ?? 0));
}

function twoSided(answer: FunctionsAnswer, unit: Unit): Column[] {
    const { self, total } = answer.rows;
    const net = { unit, signed: true };
    const minor = { unit, minor: true };
    return [
        column('net', 'Total net', difference(total), { ...net, hint: 'Added less removed' }),
        column('added', 'Total added', total[0] ?? [], minor),
        column('removed', 'Total removed', total[1] ?? [], minor),
        column('self_net', 'Self net', difference(self), { ...net, hint: 'Added less removed' }),
        column('self_added', 'Self added', self[0] ?? [], minor),
        column('self_removed', 'Self removed', self[1] ?? [], minor),
    ];
}

/** WHOLE: the total of the graph, for shares. ONE: the first side alone is meant. */
export function columnsOf(
    answer: FunctionsAnswer, unit: Unit, whole: number, one: boolean,
): Column[] {
    return answer.sides.length > 1 && !one
        ? twoSided(answer, unit)
        : oneSided(answer, unit, whole);
}

/** Differences are sorted by their size: what shrank by much stands beside what grew by much. */
export function sortRows(rows: Row[], columns: Column[], sorting: Sorting): Row[] {
    const by = columns.find((one) => one.key === sorting.key);
    const sign = sorting.down ? -1 : 1;
    const size = (column: Column, row: Row): number => {
        const value = column.values[row.index] ?? 0;
        return column.signed ? Math.abs(value) : value;
    };
    const compare = by
        ? (a: Row, b: Row) => sign * (size(by, a) - size(by, b))
        : (a: Row, b: Row) => sign * (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);
    return [...rows].sort((a, b) => compare(a, b) || a.index - b.index);
}

/** Rows whose function or module has the text or matches the /regex/; a string: what is wrong. */
export function filterRows(rows: Row[], text: string): Row[] | string {
    if (text === '') {
        return rows;
    }
    const test = nameTest(text);
    return typeof test === 'string'
        ? test
        : rows.filter((row) => test(row.name) || test(row.module));
}
