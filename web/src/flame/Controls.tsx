// SPDX-License-Identifier: Apache-2.0
//
// The switches above a graph.

import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useInSight } from '../useInSight';

export interface Choice<T extends string> {
    value: T;
    text: string;
    hint?: string;
}

/** One of few, all of them in sight. */
export function Segments<T extends string>({ name, choices, value, onChoose }: {
    name: string;
    choices: readonly Choice<T>[];
    value: T;
    onChoose(value: T): void;
}): JSX.Element {
    function onKeyDown(event: KeyboardEvent): void {
        const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
        if (by === undefined) {
            return;
        }
        event.preventDefault();
        const at = choices.findIndex((choice) => choice.value === value);
        const next = (at + by + choices.length) % choices.length;
        onChoose(choices[next]!.value);
        const group = event.currentTarget as HTMLElement;
        group.querySelectorAll('button')[next]?.focus();
    }
    const box = useRef<HTMLDivElement>(null);
    useInSight(box, '[aria-checked="true"]', value);
    return (
        <div class="segments" role="radiogroup" aria-label={name} ref={box} onKeyDown={onKeyDown}>
            {choices.map((choice) => (
                <button
                    type="button"
                    role="radio"
                    key={choice.value}
                    title={choice.hint}
                    aria-checked={choice.value === value}
                    tabIndex={choice.value === value ? 0 : -1}
                    onClick={() => onChoose(choice.value)}
                >
                    {choice.text}
                </button>
            ))}
        </div>
    );
}

export function Choose<T extends string>({ name, choices, value, onChoose }: {
    name: string;
    choices: readonly Choice<T>[];
    value: T;
    onChoose(value: T): void;
}): JSX.Element {
    return (
        <label class="field">
            <span>{name}</span>
            <select
                value={value}
                onChange={(event) => onChoose(event.currentTarget.value as T)}
            >
                {choices.map((choice) => (
                    <option key={choice.value} value={choice.value}>
                        {choice.text}
                    </option>
                ))}
            </select>
        </label>
    );
}

/**
 * A text that counts after a pause in typing, at Enter, or when it is left; Escape empties it.
 * `pause` null: only at Enter or when left (what asks the server).
 */
export function TextField({ name, hint, value, pause, field, bad, children, onText }: {
    name: string;
    hint: string;
    value: string;
    pause: number | null;
    field?: { current: HTMLInputElement | null };
    /** What is wrong with the text. */
    bad?: string | null;
    children?: ComponentChildren;
    onText(text: string): void;
}): JSX.Element {
    const [text, setText] = useState(value);
    const timer = useRef(0);
    useEffect(() => setText(value), [value]);
    useEffect(() => () => clearTimeout(timer.current), []);

    function say(what: string): void {
        clearTimeout(timer.current);
        if (what !== value) {
            onText(what);
        }
    }
    function onInput(what: string): void {
        setText(what);
        clearTimeout(timer.current);
        if (pause !== null || what === '') {
            timer.current = window.setTimeout(() => say(what), pause ?? 0);
        }
    }
    function onKeyDown(event: KeyboardEvent): void {
        if (event.key === 'Enter') {
            say(text);
        } else if (event.key === 'Escape' && text !== '') {
            setText('');
            say('');
            event.stopPropagation();
        }
    }
    return (
        <label class={`field field-text${bad ? ' is-bad' : ''}`} title={hint}>
            <span class="offscreen">{name}</span>
            <input
                type="search"
                ref={(element) => {
                    if (field) {
                        field.current = element;
                    }
                }}
                value={text}
                placeholder={name}
                spellcheck={false}
                autocomplete="off"
                aria-invalid={bad ? true : undefined}
                onInput={(event) => onInput(event.currentTarget.value)}
                onKeyDown={onKeyDown}
                onBlur={() => say(text)}
            />
            {bad && <span class="field-bad">{bad}</span>}
            {children}
        </label>
    );
}
