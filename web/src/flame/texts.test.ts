// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from 'vitest';
import type { FlameAnswer } from '../api';
import * as format from '../format';
import { DEFAULT_FLAME_VIEW } from '../panels';
import { growthColour, hash, Hues, moduleColour } from './colours';
import { Fitter, forms, shortName, withoutArguments, withoutTemplates } from './names';
import { selectionFor, sidesOf, summaryOf } from './request';
import { placeBox } from './Tooltip';

const plain = (text: string): string => text.replace(/\u202f/g, ' ').replace(/\u2212/g, '-');

describe('numbers', () => {
    test.each([
        [0, '0 B'], [1023, '1023 B'], [1024, '1.0 KiB'], [1536, '1.5 KiB'],
        [1048575, '1.0 MiB'], [12897485, '12.3 MiB'], [-2048, '-2.0 KiB'], [2 ** 40, '1.0 TiB'],
    ])('%d bytes are %s', (value, text) => expect(plain(format.bytes(value))).toBe(text));
    test('counts have separators, exact bytes all digits', () => {
        expect(plain(format.count(1234567))).toBe('1 234 567');
        expect(plain(format.count(-1000))).toBe('-1 000');
        expect(plain(format.exactBytes(1))).toBe('1 byte');
        expect(plain(format.exactBytes(12345))).toBe('12 345 bytes');
    });
    test('shares: small ones do not vanish, of nothing there is none', () => {
        expect(plain(format.share(1, 3))).toBe('33.3 %');
        expect(plain(format.share(1, 100000))).toBe('<0.1 %');
        expect(plain(format.share(-1, 4))).toBe('-25.0 %');
        expect(format.share(1, 0)).toBe('');
    });
});

describe('names', () => {
    test.each([
        ['std::vector<int, std::allocator<int>>::push_back(int)',
            'std::vector<…>::push_back(int)'],
        ['operator<<(std::ostream&, int)', 'operator<<(std::ostream&, int)'],
        ['a::operator->()', 'a::operator->()'],
        ['a<b>::operator<=>(c<d> const&)', 'a<…>::operator<=>(c<…> const&)'],
        ['<alloc::vec::Vec<T> as Drop>::drop', '<alloc::vec::Vec<…> as Drop>::drop'],
        ['odd < name', 'odd < name'],
    ])('%s is %s without templates', (name, bare) => expect(withoutTemplates(name)).toBe(bare));
    test('without arguments', () => {
        expect(withoutArguments('a::b(c) const')).toBe('a::b');
        expect(withoutArguments('(anonymous namespace)::f(int)')).toBe('(anonymous namespace)::f');
        expect(withoutArguments('x::operator()(int)')).toBe('x::operator()(int)');
    });
    test('for lists', () => {
        expect(shortName('(anonymous namespace)::f<int>(char)')).toBe('(anon)::f<…>(char)');
    });
    test('a name of a million characters is cut before it is measured', () => {
        expect(forms(`f<${'x'.repeat(1e6)}>`).every((form) => form.length <= 400)).toBe(true);
    });
    test('what fits is whole, what does not ends in an ellipsis, too little is nothing', () => {
        const fitter = new Fitter((text) => text.length * 10);
        expect(fitter.fit('scan_file', 90)).toBe('scan_file');
        expect(fitter.fit('scan_file', 89)).toBe('scan_fi…');
        expect(fitter.fit('scan_file', 20)).toBe('');
        expect(fitter.fit('v<int>::f(int)', 95)).toBe('v<…>::f');
    });
});

describe('colours', () => {
    test('a module has one colour wherever its folder is', () => {
        expect(moduleColour('/usr/lib/libc.so.6', false)).toBe(moduleColour('libc.so.6', false));
        expect(moduleColour('libc.so.6', true)).not.toBe(moduleColour('libc.so.6', false));
    });
    test('24 modules have 24 hues, and few modules are not beside each other', () => {
        const hues = new Hues();
        const names = Array.from({ length: 999 }, (_, at) => `close${at}.so`);
        const wanting = (slot: number): string[] =>
            names.filter((name) => hash(name) % 24 === slot).slice(0, 2);
        const close = [wanting(0), wanting(1), wanting(2)].flat();
        expect(close.length).toBe(6);
        const first = close.map((name) => hues.of(name));
        first.forEach((slot, at) => first.slice(at + 1).forEach((other) => {
            expect(Math.min((slot - other + 24) % 24, (other - slot + 24) % 24)).toBeGreaterThan(1);
        }));
        const all = Array.from({ length: 18 }, (_, at) => hues.of(`lib${at}.so`));
        expect(new Set([...first, ...all]).size).toBe(24);
        expect(hues.of('lib25.so')).toBe(hash('lib25.so') % 24);
        expect(hues.of(close[0]!)).toBe(first[0]);
    });
    test('growth and shrinking are apart in hue, none is neutral', () => {
        expect(growthColour(0, false)).toBe(growthColour(0.01, false));
        expect(growthColour(1, false)).not.toBe(growthColour(-1, false));
        expect(growthColour(0.3, true)).not.toBe(growthColour(1, true));
    });
});

describe('the box beside the pointer', () => {
    const size = { x: 300, y: 200 };
    const room = { x: 1000, y: 700 };
    test.each([
        [{ x: 10, y: 10 }], [{ x: 999, y: 699 }], [{ x: 500, y: 690 }], [{ x: 0, y: 350 }],
    ])('stays in the window at %j', (point) => {
        const { x, y } = placeBox(point, size, room);
        expect(x).toBeGreaterThanOrEqual(0);
        expect(y).toBeGreaterThanOrEqual(0);
        expect(x + size.x).toBeLessThanOrEqual(room.x);
        expect(y + size.y).toBeLessThanOrEqual(room.y);
        const over = point.x > x && point.x < x + size.x && point.y > y && point.y < y + size.y;
        expect(over).toBe(false);
    });
    test('above the pointer where there is room neither beside nor below', () => {
        const { y } = placeBox({ x: 200, y: 650 }, size, { x: 390, y: 700 });
        expect(y + size.y).toBeLessThan(650);
    });
    test('a box larger than the window shows its beginning', () => {
        expect(placeBox({ x: 50, y: 50 }, { x: 500, y: 900 }, { x: 390, y: 700 })).toEqual({
            x: 8, y: 8,
        });
    });
});

describe('selection', () => {
    const view = { ...DEFAULT_FLAME_VIEW };
    const interval = { from: 5, to: 9 };
    const rest = { interval, moment: null, window: null };
    test('peak of the interval, and of the run though one is chosen', () => {
        expect(selectionFor({ view, ...rest })).toMatchObject({ mode: 'peak', from: 5, to: 9 });
        const whole = selectionFor({ view: { ...view, whole: true }, ...rest });
        expect(whole).not.toHaveProperty('from');
    });
    test('cumulative shows are between, of their own metric', () => {
        const chosen = selectionFor({ view: { ...view, show: 'temporary' }, ...rest });
        expect(chosen).toMatchObject({ mode: 'between', metric: 'temporary', from: 5, to: 9 });
    });
    test('a moment has no span; a window neither, nor live values', () => {
        const moment = selectionFor({ view: { ...view, show: 'moment' }, ...rest, moment: 7 });
        expect(moment).toMatchObject({ mode: 'moment', at: 7 });
        expect(moment).not.toHaveProperty('from');
        const window = selectionFor({ view, ...rest, window: 'parse' });
        expect(window).toMatchObject({ mode: 'window', window: 'parse', metric: 'total-bytes' });
    });
});

test('added less removed is the change of what is live, in figures', () => {
    const answer = {
        mode: 'between', metric: 'live-bytes', unit: 'bytes', sides: ['added', 'removed'],
        totals: { 'live-bytes': [12897485, 4299161], 'live-count': [30, 10] },
        state: {
            from: { 'live-bytes': 41943040 }, to: { 'live-bytes': 41943040 + 12897485 - 4299161 },
        },
        at: null, from: 2e6, to: 5e6, stacks: 9,
    } as unknown as FlameAnswer;
    const { text, title, note } = summaryOf(answer, 1e6);
    expect(plain(title)).toBe(
        'added 12 897 485 bytes - removed 4 299 161 bytes = +8 598 324 bytes');
    expect(plain(text)).toBe('added 12.3 MiB - removed 4.1 MiB = +8.2 MiB');
    expect(plain(note)).toContain('live: 40.0 MiB → 48.2 MiB · blocks: 30 - 10 = +20');
    expect(plain(note)).toContain('+1.000 s to +4.000 s');
    expect(sidesOf(answer).length).toBe(2);
    expect(sidesOf({ ...answer, metric: 'total-bytes' }).length).toBe(1);
});

test('the peak says where its composition was kept, when that is lower', () => {
    const answer = {
        mode: 'peak', metric: 'live-bytes', unit: 'bytes', sides: ['value'],
        totals: { 'live-bytes': [98304], 'live-count': [7] },
        at: 3e6, from: null, to: null, stacks: 2,
    } as unknown as FlameAnswer;
    expect(plain(summaryOf(answer, 1e6, 102400).note)).toContain(
        'kept at 96.0 % of the highest, 100.0 KiB');
    expect(summaryOf(answer, 1e6, 98350).note).not.toContain('kept');
    expect(summaryOf(answer, 1e6).note).not.toContain('kept');
});
