// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { nameTest } from './search';

describe('an expression over names', () => {
    it.each([
        ['/(a+)+$/'],
        ['/(.*)*(.*)*#$/'],
        ['/((x|y)z)*/'],
        ['/(?:a|.){2,}/'],
        ['/(/'],
        ['/[z-a]/'],
    ])('%s is refused with a reason', (text) => {
        expect(nameTest(text)).toBeTypeOf('string');
    });

    it.each([
        ['/^Py.*Malloc$/', '_PyObject_Malloc', false],
        ['/py.*malloc$/i', '_PyObject_Malloc', true],
        ['/(alloc|free)_(ab)+/', 'my_free_abab', true],
        ['/operator\\(\\)(\\*)?/', 'X::operator()', true],
        ['/[(*+]+x/', 'a(*x', true],
        ['/((a|b)|c+)d/', 'ccd', true],
        ['a.b', 'xA.Bx', true],
        ['a.b', 'axb', false],
    ])('%s on %s', (text, name, hit) => {
        const test = nameTest(text);
        expect(typeof test === 'string' ? test : test(name)).toBe(hit);
    });
});
