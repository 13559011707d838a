// SPDX-License-Identifier: Apache-2.0
//
// What is shown (peak, moment, what came and went, cumulative), how (direction, lines, metric), and
// the graphs of it with the table of functions beside them.

import type { JSX } from 'preact';
import type { Metric } from '../api';
import { SHOWS } from '../panels';
import type { FlamePanelProps, Show } from '../panels';
import { Segments } from './Controls';
import './parts.css';
import './flame.css';
import { metricOfView, metricsOf, SHOW_HINT, SHOW_NAME } from './request';
import { Stacks } from './Stacks';

export function FlamePanel(props: FlamePanelProps): JSX.Element {
    const { view, onView, interval } = props;

    function choose(show: Show): void {
        // A metric that the new show cannot have would be swapped silently: say it in the URL.
        const metric = metricOfView({ ...view, show, metric: liveOr(view.metric, show) });
        onView({ show, metric });
    }

    return (
        <section class="flame-panel" aria-label="Flame graphs">
            <div class="flame-shows">
                <Segments
                    name="What is shown"
                    value={view.show}
                    choices={SHOWS.map((show) => ({
                        value: show, text: SHOW_NAME[show], hint: SHOW_HINT[show],
                    }))}
                    onChoose={choose}
                />
                {interval !== null && view.show !== 'moment' && (
                    <Segments
                        name="Of the interval or the run"
                        value={view.whole ? 'run' : 'interval'}
                        choices={[
                            { value: 'interval', text: 'Chosen interval' },
                            { value: 'run', text: 'Whole run' },
                        ]}
                        onChoose={(value) => onView({ whole: value === 'run' })}
                    />
                )}
                {view.show === 'moment' && props.moment === null && (
                    <span class="soft">
                        The end of the run: click the timeline for another moment
                    </span>
                )}
            </div>
            <Stacks {...props} window={null} metrics={metricsOf(view.show)} />
        </section>
    );
}

/** From a cumulative show back to a live one, the live metric is meant. */
function liveOr(metric: Metric, show: Show): Metric {
    const cumulative = metric.startsWith('total') || metric === 'temporary';
    return cumulative && (show === 'peak' || show === 'moment') ? 'live-bytes' : metric;
}
