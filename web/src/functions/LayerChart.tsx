// SPDX-License-Identifier: Apache-2.0
//
// Chart and table of one answer.

import { useMemo, useRef } from 'preact/hooks';
import type uPlot from 'uplot';
import type { Metric, SeriesAnswer } from '../api';
import { METRIC_NAME, METRIC_UNIT } from '../format';
import { pins, process, span, togglePin } from '../state';
import { Chart } from '../timeline/Chart';
import { listenPointer } from '../timeline/gestures';
import { timelineHost } from '../timeline/host';
import { functionsChart } from './chart';
import type { StackHooks } from './chart';
import { cursorIndex, focused } from './focus';
import { LayerTable } from './LayerTable';
import { colorIndices, CUMULATIVE, layerAt, layersOf, nearest, stacked } from './stack';
import type { Growth, Layer } from './stack';

const HEIGHT = 340;

export interface LayerChartProps {
    answer: SeriesAnswer;
    metric: Metric;
    growth: Growth;
    stale: boolean;
}

export function LayerChart({ answer, metric, growth, stale }: LayerChartProps) {
    const stackedAreas = answer.by === 'self';
    const start = process.value?.start ?? 0;
    const unit = METRIC_UNIT[metric];
    const memory = useRef(new Map<number, number>());
    const layers = useMemo(() => layersOf(answer, metric, growth), [answer, metric, growth]);
    const edges = useMemo(
        () => (stackedAreas ? stacked(layers) : layers.map((layer) => layer.values)),
        [layers, stackedAreas],
    );
    const total = useMemo(() => layersTotal(answer, metric, growth), [answer, metric, growth]);
    const ids = layers.map((layer) => layer.id).filter((id): id is number => id !== null);
    const colors = colorIndices(memory.current, ids);
    const colorOf = (layer: Layer): number | null =>
        layer.id === null ? null : (colors.get(layer.id) ?? 0);
    const data = useMemo(
        () => [answer.time.map((time) => (time - start) / 1e6), ...edges] as uPlot.AlignedData,
        [answer, edges, start],
    );
    const newest = useRef({ layers, edges, colorOf });
    newest.current = { layers, edges, colorOf };

    const layerUnder = (u: uPlot, y: number, i: number): number => {
        const value = u.posToVal(y, 'y');
        const now = newest.current;
        return stackedAreas ? layerAt(now.edges, i, value) : nearest(now.edges, i, value);
    };
    const hooks: StackHooks = {
        look: (i) => {
            const layer = newest.current.layers[i];
            const at = focused.peek();
            return {
                color: layer ? newest.current.colorOf(layer) : null,
                strong: at === i,
                weak: at >= 0 && at !== i,
            };
        },
        cursor: (u) => {
            const i = u.cursor.idx ?? null;
            cursorIndex.value = i;
            focused.value = i === null ? -1 : layerUnder(u, u.cursor.top ?? 0, i);
        },
        draw: () => undefined,
    };
    const onChart = (u: uPlot): void =>
        listenPointer(u, {
            ...timelineHost,
            click: (_time, { x, y }) => {
                const id = newest.current.layers[layerUnder(u, y, u.posToIdx(x))]?.id;
                if (typeof id === 'number') {
                    togglePin(id);
                }
            },
        });

    const last = answer.time.length - 1;
    const at = cursorIndex.value !== null && cursorIndex.value <= last ? cursorIndex.value : last;
    const shown = span.value;
    const from = ((shown?.from ?? answer.time[0] ?? start) - start) / 1e6;
    const to = ((shown?.to ?? answer.time[last] ?? start) - start) / 1e6;
    return (
        <div class={`functions-body${stale ? ' stale' : ''}`} aria-busy={stale}>
            <div class="functions-chart">
                <Chart
                    shape={`${layers.length} ${stackedAreas} ${unit}`}
                    height={HEIGHT}
                    options={(w, h) =>
                        functionsChart(w, h, layers.length, stackedAreas, unit, hooks)
                    }
                    data={data}
                    min={from}
                    max={Math.max(to, from + 1e-5)}
                    overlay={`${focused.value} ${pins.value.join()}`}
                    onChart={onChart}
                    testId="functions-chart"
                    label={`${METRIC_NAME[metric]} by function over time`}
                />
            </div>
            <LayerTable
                answer={answer}
                layers={layers}
                colors={layers.map(colorOf)}
                at={at}
                total={total[at] ?? 0}
                metric={metric}
                rate={growth === 'rate' && CUMULATIVE.has(metric)}
            />
        </div>
    );
}

function layersTotal(answer: SeriesAnswer, metric: Metric, growth: Growth): (number | null)[] {
    const whole: SeriesAnswer = { ...answer, series: [], other: answer.total };
    return layersOf(whole, metric, growth)[0]?.values ?? [];
}
