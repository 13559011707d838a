// SPDX-License-Identifier: Apache-2.0

import type { JSX } from 'preact';
import type { Granularity, Metric } from '../api';
import { METRIC_NAME } from '../format';
import type { FlameView } from '../panels';
import { Choose, Segments } from './Controls';

/** Switches that all graphs of stacks share. */
export function ViewControls({ view, onView, metrics, metric, focused }: {
    /** Without a granularity there is none to choose. */
    view: Pick<FlameView, 'inverted' | 'bottom'> & { granularity?: Granularity };
    onView(change: Partial<FlameView>): void;
    metrics: readonly Metric[];
    metric: Metric;
    /** Callers and callees of one function are shown, both the way they are. */
    focused: boolean;
}): JSX.Element {
    return (
        <>
            {metrics.length > 1 && (
                <Choose
                    name="By"
                    value={metric}
                    choices={metrics.map((value) => ({ value, text: METRIC_NAME[value] }))}
                    onChoose={(value) => onView({ metric: value })}
                />
            )}
            {view.granularity && (
                <Segments<Granularity>
                    name="Granularity"
                    value={view.granularity}
                    choices={[
                        { value: 'function', text: 'Functions' },
                        { value: 'line', text: 'Lines' },
                    ]}
                    onChoose={(granularity) => onView({ granularity })}
                />
            )}
            {!focused && (
                <>
                    <Segments
                        name="Direction"
                        value={view.inverted ? 'callees' : 'callers'}
                        choices={[
                            { value: 'callers', text: 'Callers first', hint: 'main at the root' },
                            {
                                value: 'callees',
                                text: 'Callees first',
                                hint: 'allocating functions at the root',
                            },
                        ]}
                        onChoose={(value) => onView({ inverted: value === 'callees' })}
                    />
                    <Segments
                        name="Where the root is"
                        value={view.bottom ? 'bottom' : 'top'}
                        choices={[
                            { value: 'top', text: '↓', hint: 'Root at the top' },
                            { value: 'bottom', text: '↑', hint: 'Root at the bottom' },
                        ]}
                        onChoose={(value) => onView({ bottom: value === 'bottom' })}
                    />
                </>
            )}
        </>
    );
}
