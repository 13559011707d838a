// SPDX-License-Identifier: Apache-2.0
//
// What the panel of functions over time shows: metric, self or with callees, functions or lines,
// how many.

import { METRICS } from '../api';
import type { Metric } from '../api';
import { Segments } from '../flame/Controls';
import { METRIC_NAME } from '../format';
import { go, route } from '../state';
import { CUMULATIVE } from './stack';
import type { Growth } from './stack';

const TOPS = [5, 10, 20, 40];

interface ToolbarProps {
    growth: Growth;
    onGrowth(growth: Growth): void;
}

export function FunctionsToolbar({ growth, onGrowth }: ToolbarProps) {
    const r = route.value;
    return (
        <div class="toolbar">
            <label class="field">
                <span>Metric</span>
                <select
                    value={r.metric}
                    data-testid="functions-metric"
                    onChange={(event) => go({ metric: event.currentTarget.value as Metric })}
                >
                    {METRICS.map((metric) => (
                        <option key={metric} value={metric}>
                            {METRIC_NAME[metric]}
                        </option>
                    ))}
                </select>
            </label>
            <span class="plain-box" data-testid="functions-by">
                <Segments
                    name="Attribution"
                    value={r.by}
                    choices={[
                        {
                            value: 'self',
                            text: 'Self',
                            hint: 'Memory that the function itself asked for',
                        },
                        {
                            value: 'total',
                            text: 'With callees',
                            hint: 'Memory asked for below it, too; rows overlap',
                        },
                    ]}
                    onChoose={(by) => go({ by })}
                />
            </span>
            <span class="plain-box" data-testid="functions-granularity">
                <Segments
                    name="Granularity"
                    value={r.granularity}
                    choices={[
                        { value: 'function', text: 'Functions', hint: 'One row a function' },
                        { value: 'line', text: 'Lines', hint: 'One row a source line' },
                    ]}
                    onChoose={(granularity) => go({ granularity })}
                />
            </span>
            {CUMULATIVE.has(r.metric) && (
                <span class="plain-box" data-testid="functions-growth">
                    <Segments
                        name="Growth"
                        value={growth}
                        choices={[
                            { value: 'sum', text: 'Sum', hint: 'Since the start of the interval' },
                            { value: 'rate', text: 'Per second', hint: 'How fast it grew' },
                        ]}
                        onChoose={onGrowth}
                    />
                </span>
            )}
            <label class="field">
                <span>Top</span>
                <select
                    value={r.top}
                    data-testid="functions-top"
                    onChange={(event) => go({ top: Number(event.currentTarget.value) })}
                >
                    {[...new Set([...TOPS, r.top])]
                        .sort((a, b) => a - b)
                        .map((n) => (
                            <option key={n} value={n}>
                                {n}
                            </option>
                        ))}
                </select>
            </label>
        </div>
    );
}
