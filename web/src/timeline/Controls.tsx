// SPDX-License-Identifier: Apache-2.0
//
// What is above the charts: which curves are shown, the second chart, buttons of the interval.

import type { Chart as ChartName } from '../route';
import { bounds, chooseInterval, go, peak, route, running, span } from '../state';
import * as curves from './curves';
import type { Curve } from './curves';
import { showAll, zoom } from './host';
import { viewAround } from './interval';

export function CurveSwitches({
    hidden,
    onToggle,
}: {
    hidden: ReadonlySet<Curve>;
    onToggle(curve: Curve): void;
}) {
    return (
        <div class="switches" role="group" aria-label="Curves">
            {curves.CURVES.map((curve) => (
                <button
                    key={curve}
                    type="button"
                    class={`switch curve-${curve}`}
                    aria-pressed={!hidden.has(curve)}
                    title={curves.CURVE_HINT[curve]}
                    data-testid={`curve-${curve}`}
                    onClick={() => onToggle(curve)}
                >
                    <i aria-hidden="true" />
                    {curves.CURVE_NAME[curve]}
                </button>
            ))}
        </div>
    );
}

export const CHART_WORDS: Record<ChartName, string> = {
    rate: 'Allocations per second',
    count: 'Live blocks',
    none: 'No second chart',
};

export function SecondChoice() {
    return (
        <label class="field">
            <span>Below</span>
            <select
                value={route.value.chart}
                data-testid="timeline-second"
                onChange={(event) =>
                    go({ chart: event.currentTarget.value as ChartName }, 'replace')
                }
            >
                {(Object.keys(CHART_WORDS) as ChartName[]).map((name) => (
                    <option key={name} value={name}>
                        {CHART_WORDS[name]}
                    </option>
                ))}
            </select>
        </label>
    );
}

function toPeak(): void {
    const top = peak.peek();
    const run = bounds.peek();
    const now = span.peek();
    if (top && run && now) {
        const from = now.from < top.time ? now.from : run.from;
        chooseInterval(from <= run.from ? null : from, top.time);
    }
}

function toggleFollow(): void {
    const now = span.peek();
    const r = route.peek();
    if (!now) {
        return;
    }
    if (now.open) {
        chooseInterval(now.whole ? null : now.from, now.to);
    } else if (r.from === null) {
        showAll();
    } else {
        go({ from: null, to: null, last: now.to - now.from });
    }
}

export function Buttons() {
    const s = span.value;
    const live = running.value;
    return (
        <div class="buttons" role="group" aria-label="Interval">
            <button
                type="button"
                data-testid="whole-run"
                aria-pressed={s?.whole ?? false}
                onClick={showAll}
            >
                Whole run
            </button>
            <button
                type="button"
                data-testid="follow"
                disabled={!live}
                aria-pressed={live && (s?.open ?? false)}
                title={live ? 'Keep the end of the interval at now' : 'The program has ended'}
                onClick={toggleFollow}
            >
                Follow
            </button>
            <button
                type="button"
                data-testid="to-peak"
                title="From the start of the interval (or of the run) to the peak"
                onClick={toPeak}
            >
                To peak
            </button>
            <button
                type="button"
                data-testid="zoom-interval"
                disabled={!s || (s.whole && zoom.value === null)}
                onClick={() => {
                    zoom.value = s && !s.whole && bounds.value ? viewAround(s, bounds.value) : null;
                }}
            >
                {s?.whole && zoom.value ? 'Zoom out' : 'Zoom to it'}
            </button>
        </div>
    );
}
