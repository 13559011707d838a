// SPDX-License-Identifier: Apache-2.0
import { expect, test } from 'vitest';
import { ApiError } from './api';
import { Asker } from './query';

interface Call {
    signal: AbortSignal;
    answer(text: string): void;
    fail(error: unknown): void;
}

/** A server whose answers come when the test says so. */
function bench(): { asker: Asker<string>; calls: Call[]; load(s: AbortSignal): Promise<string>;
    settled: string[] } {
    const calls: Call[] = [];
    const settled: string[] = [];
    const asker = new Asker<string>((key, data, error) =>
        settled.push(`${key}: ${error ? `${error.code} ${error.message}` : data}`));
    const load = (signal: AbortSignal): Promise<string> =>
        new Promise((answer, fail) => calls.push({ signal, answer, fail }));
    return { asker, calls, load, settled };
}

const soon = (): Promise<void> => new Promise((done) => setTimeout(done));

test('an answer that comes late does not replace the newer one', async () => {
    const { asker, calls, load, settled } = bench();
    asker.ask('old', load);
    asker.ask('new', load);
    expect(calls[0]!.signal.aborted).toBe(true);
    calls[1]!.answer('second');
    await soon();
    calls[0]!.answer('first');
    await soon();
    expect(settled).toEqual(['new: second']);
});

test('a refresh lets the request under way finish and asks once more, however often it came',
    async () => {
        const { asker, calls, load, settled } = bench();
        for (let i = 0; i < 5; i++) {
            asker.ask('live', load);
        }
        expect(calls.length).toBe(1);
        expect(calls[0]!.signal.aborted).toBe(false);
        calls[0]!.answer('one');
        await soon();
        expect(calls.length).toBe(2);
        calls[1]!.answer('two');
        await soon();
        expect(settled).toEqual(['live: one', 'live: two']);
        expect(calls.length).toBe(2);
    });

test('errors settle, an abort does not; the same question can be asked again', async () => {
    const { asker, calls, load, settled } = bench();
    asker.ask('a', load);
    calls[0]!.fail(new ApiError(404, 'not-found', 'no such process'));
    await soon();
    asker.ask('a', load);
    calls[1]!.fail(new TypeError('odd'));
    await soon();
    asker.ask('a', load);
    asker.stop();
    calls[2]!.fail(new DOMException('', 'AbortError'));
    await soon();
    expect(settled).toEqual(['a: not-found no such process', 'a: internal odd']);
});

test('no question ends the one under way', async () => {
    const { asker, calls, load, settled } = bench();
    asker.ask('a', load);
    asker.ask(null, load);
    expect(calls[0]!.signal.aborted).toBe(true);
    calls[0]!.answer('late');
    await soon();
    expect(settled).toEqual([]);
});
