// SPDX-License-Identifier: Apache-2.0
//
// The callers of a pinned function, below the chart.

import { useState } from 'preact/hooks';
import type { SeriesAnswer } from '../api';
import { FlamePanel } from '../flame/FlamePanel';
import { flameView } from '../route';
import { go, interval, pins, process, revision, route, togglePin } from '../state';

function nameOf(answer: SeriesAnswer | null, id: number): string {
    const i = answer?.labels.id.indexOf(id) ?? -1;
    return i < 0 ? `function ${id}` : (answer?.labels.function[i] ?? '');
}

export function Callers({ answer }: { answer: SeriesAnswer | null }) {
    const list = pins.value;
    const [wanted, setWanted] = useState<number | null>(null);
    const p = process.value;
    const id = wanted !== null && list.includes(wanted) ? wanted : list.at(-1);
    if (id === undefined || !p) {
        return null;
    }
    return (
        <section class="callers" data-testid="functions-callers" aria-label="Callers">
            <div class="card-head">
                <h3>Callers of</h3>
                <div class="pins">
                    {list.map((pin) => (
                        <span key={pin} class={`chip${pin === id ? ' chosen' : ''}`}>
                            <button
                                type="button"
                                class="fn"
                                aria-pressed={pin === id}
                                onClick={() => setWanted(pin)}
                            >
                                {nameOf(answer, pin)}
                            </button>
                            <button
                                type="button"
                                aria-label="Unpin"
                                data-testid="unpin"
                                onClick={() => togglePin(pin)}
                            >
                                ×
                            </button>
                        </span>
                    ))}
                </div>
            </div>
            <FlamePanel
                process={p}
                interval={interval.value}
                moment={route.value.moment}
                revision={revision.value}
                view={{ ...flameView(route.value), focus: id }}
                onView={({ focus, ...change }) => {
                    if (focus === null) {
                        togglePin(id);
                    } else if (focus !== undefined && !list.includes(focus)) {
                        togglePin(focus);
                        setWanted(focus);
                    }
                    go(change);
                }}
            />
        </section>
    );
}
