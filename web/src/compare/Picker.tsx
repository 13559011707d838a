// SPDX-License-Identifier: Apache-2.0
//
// One side of a comparison: a process, and a moment of it.

import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Moment, Process } from '../api';
import { Choose } from '../flame/Controls';
import type { Choice } from '../flame/Controls';
import { since } from '../format';
import type { Interval } from '../panels';
import { parseTime, seconds } from '../times';
import { pickOf, processText } from './options';
import type { Pick } from './options';

/** A time in seconds since the start of the run; what cannot be read is marked, not sent. */
function TimeField({ process, at, onTime }: {
    process: Process;
    at: number;
    onTime(time: number): void;
}): JSX.Element {
    const [text, setText] = useState('');
    const [bad, setBad] = useState(false);
    useEffect(() => {
        setText(seconds(at, process.start));
        setBad(false);
    }, [at, process.start]);

    function take(): void {
        const time = parseTime(text, process.start, 'end');
        setBad(time === undefined);
        if (time !== undefined) {
            onTime(time ?? process.last);
        }
    }
    return (
        <label class={`field compare-time${bad ? ' is-bad' : ''}`}>
            <span class="offscreen">Seconds since the start</span>
            <input
                value={text}
                inputMode="decimal"
                spellcheck={false}
                aria-invalid={bad ? true : undefined}
                onInput={(event) => setText(event.currentTarget.value)}
                onChange={take}
            />
            <span class="soft">s after start</span>
        </label>
    );
}

export function Picker({ name, processes, process, at, interval, onPick }: {
    name: string;
    processes: Process[];
    process: Process;
    at: Moment;
    /** Of this process; null: none is chosen. */
    interval: Interval | null;
    onPick(id: number, at: Moment): void;
}): JSX.Element {
    const [own, setOwn] = useState(false);
    const pick: Pick = own && typeof at === 'number' ? 'time' : pickOf(at, interval);
    const choices: Choice<Pick>[] = [
        { value: 'peak', text: 'at the peak' },
        { value: 'end', text: process.state === 'running' ? 'now' : 'at the end' },
    ];
    if (interval) {
        choices.push(
            {
                value: 'from',
                text: `at the interval's start, ${since(interval.from, process.start)}`,
            },
            { value: 'to', text: `at the interval's end, ${since(interval.to, process.start)}` },
        );
    }
    choices.push({ value: 'time', text: 'at a time…' });

    function choose(value: Pick): void {
        setOwn(value === 'time');
        if (value === 'peak' || value === 'end') {
            onPick(process.id, value);
        } else if (value === 'time') {
            onPick(process.id, typeof at === 'number' ? at : process.last);
        } else if (interval) {
            onPick(process.id, interval[value]);
        }
    }

    return (
        <fieldset class="compare-side">
            <legend>{name}</legend>
            <Choose
                name="Process"
                value={String(process.id)}
                choices={processes.map((one) => ({
                    value: String(one.id), text: processText(one),
                }))}
                // A time of one process means nothing in another.
                onChoose={(id) => onPick(Number(id), typeof at === 'number' ? 'peak' : at)}
            />
            <Choose name="Moment" value={pick} choices={choices} onChoose={choose} />
            {pick === 'time' && typeof at === 'number' && (
                <TimeField process={process} at={at} onTime={(time) => onPick(process.id, time)} />
            )}
            <span class="soft compare-path" title={process.path}>
                {process.path}
            </span>
        </fieldset>
    );
}
