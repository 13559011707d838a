// SPDX-License-Identifier: Apache-2.0
//
// Memory by function over time: the largest functions (or lines) of the chosen interval as layers,
// a table beside them, and the callers of the function that was pinned last.

import { useState } from 'preact/hooks';
import { api } from '../api';
import { useQuery } from '../query';
import { interval, pins, process, revision, route } from '../state';
import { Callers } from './Callers';
import { FunctionsToolbar } from './FunctionsToolbar';
import { LayerChart } from './LayerChart';
import type { Growth } from './stack';

const POINTS = 500;

export function FunctionsPanel() {
    const id = process.value?.id ?? null;
    const [growth, setGrowth] = useState<Growth>('sum');
    const { metric, granularity, by, top } = route.value;
    const pin = pins.value;
    const s = interval.value;
    const ask = {
        metric,
        granularity,
        by,
        top,
        points: POINTS,
        ...s,
        ...(pin.length > 0 ? { pin } : {}),
    };
    const key = id === null ? null : JSON.stringify([id, ask]);
    const query = useQuery(key, revision.value, async (signal) => ({
        answer: await api.series(id as number, ask, signal),
        metric,
    }));
    return (
        <div class="functions" data-testid="panel-functions">
            <FunctionsToolbar growth={growth} onGrowth={setGrowth} />
            {query.error && (
                <div class="problem" role="alert" data-testid="functions-error">
                    {query.error.message}
                    <button type="button" onClick={query.retry}>
                        Try again
                    </button>
                </div>
            )}
            {query.data ? (
                <LayerChart {...query.data} growth={growth} stale={query.loading} />
            ) : (
                !query.error && <div class="placeholder tall">Loading …</div>
            )}
            <Callers answer={query.data?.answer ?? null} />
        </div>
    );
}
