// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from 'vitest';
import type { FunctionsAnswer } from '../api';
import { columnsOf, filterRows, rowsOf, sortRows } from './rows';

const NAMES = ['main', 'parse<int>', 'alloc'];

function answerOf(sides: FunctionsAnswer['sides']): FunctionsAnswer {
    const values = [[9, 5, 4], [1, 7, 0]].slice(0, sides.length);
    return {
        sides,
        labels: {
            id: [11, 12, 13], function: NAMES, module: ['/bin/app', '/bin/app', '/lib/libc.so.6'],
            file: ['/src/main.c', null, null], line: [3, 0, 0], inlined: [0, 0, 0],
            known: [1, 1, 1],
        },
        rows: {
            label: [0, 1, 2], self: values, total: values, self_count: values,
            total_count: values,
        },
        row_count: 3,
    };
}

const namesOf = (rows: { name: string }[]): string[] => rows.map((row) => row.name);

describe('table of functions', () => {
    const answer = answerOf(['value']);
    const rows = rowsOf(answer, false);
    const columns = columnsOf(answer, 'bytes', 18, false);

    test('sorts by a column both ways, and by name', () => {
        const by = (key: string, down: boolean): string[] =>
            namesOf(sortRows(rows, columns, { key, down }));
        expect(by('total', true)).toEqual(['main', 'parse<int>', 'alloc']);
        expect(by('self', false)).toEqual(['alloc', 'parse<int>', 'main']);
        expect(by('name', false)).toEqual(['alloc', 'main', 'parse<int>']);
    });
    test('finds functions and modules, and tells a wrong expression', () => {
        expect(namesOf(filterRows(rows, 'PARSE') as typeof rows)).toEqual(['parse<int>']);
        expect(namesOf(filterRows(rows, '/^libc/') as typeof rows)).toEqual(['alloc']);
        expect(typeof filterRows(rows, '/[/')).toBe('string');
    });
    test('counts beside bytes only', () => {
        expect(columns.map((one) => one.key)).toEqual([
            'self', 'total', 'self_count', 'total_count',
        ]);
        expect(columnsOf(answer, 'count', 18, false).length).toBe(2);
    });
    test('of two sides the difference is first', () => {
        const two = answerOf(['added', 'removed']);
        const net = columnsOf(two, 'bytes', 0, false)[0]!;
        expect(net.values).toEqual([8, -2, 4]);
        const sorted = sortRows(rowsOf(two, false), [net], { key: 'net', down: true });
        expect(namesOf(sorted)).toEqual(['main', 'alloc', 'parse<int>']);
        const shrank = { ...net, values: [8, -9, 4] };
        const bySize = sortRows(rowsOf(two, false), [shrank], { key: 'net', down: true });
        expect(namesOf(bySize)).toEqual(['parse<int>', 'main', 'alloc']);
        expect(columnsOf(two, 'bytes', 18, true)[0]!.key).toBe('self');
    });
    test('places are said with their line', () => {
        expect(rows[0]!.place).toBe('/bin/app\n/src/main.c:3');
        const [main, parse] = rowsOf(answer, true);
        expect(main).toMatchObject({
            name: 'main main.c:3', title: 'main', note: 'app · main.c:3',
        });
        expect(parse).toMatchObject({ title: 'parse<…>', note: 'app' });
    });
});
