// SPDX-License-Identifier: Apache-2.0
//
// The tabs, as WAI-ARIA has them: one is in the tab order, arrows move between them. "Windows" is
// there when the program has marked some.

import { useRef } from 'preact/hooks';
import type { View } from '../route';
import { go, route } from '../state';
import { useInSight } from '../useInSight';
import { useMarkedWindows } from '../windows/marked';

const WORDS: [View, string][] = [
    ['flame', 'Flame graph'],
    ['functions', 'By function over time'],
    ['windows', 'Windows'],
    ['compare', 'Compare'],
    ['process', 'Process'],
];

export function Tabs() {
    const windows = useMarkedWindows().length;
    const view = route.value.view;
    const shown = WORDS.filter(([name]) => name !== 'windows' || windows > 0 || view === 'windows');
    const move = (event: KeyboardEvent, i: number): void => {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        const next =
            step === undefined ? undefined : shown[(i + step + shown.length) % shown.length];
        if (next) {
            event.preventDefault();
            go({ view: next[0] });
            document.getElementById(`tab-${next[0]}`)?.focus();
        }
    };
    const box = useRef<HTMLDivElement>(null);
    useInSight(box, '[aria-selected="true"]', `${view} ${windows}`);
    return (
        <div class="tabs" role="tablist" aria-label="Views" ref={box}>
            {shown.map(([name, words], i) => (
                <button
                    key={name}
                    type="button"
                    role="tab"
                    id={`tab-${name}`}
                    aria-selected={name === view}
                    aria-controls={`panel-${name}`}
                    tabIndex={name === view ? 0 : -1}
                    data-testid={`tab-${name}`}
                    onClick={() => go({ view: name })}
                    onKeyDown={(event) => move(event, i)}
                >
                    {words}
                    {name === 'windows' && windows > 0 && <small> {windows}</small>}
                </button>
            ))}
        </div>
    );
}
